"""What became of an input: success, a refusal in one clear line, or what must not be."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Literal, get_args

from tests.robustness.malformed_inputs.inputs import Input

Verdict = Literal["success", "refused", "traceback", "hang", "silent", "partial", "unclear"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FAILURES = VERDICTS[2:]

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
# The bare text of an exception that nobody has put into words: KeyError's, TypeError's, a C++ library's.
_NO_WORDS = re.compile(r"unbag: ('[^']*'|\S{0,12}|'?\w+'? object .*)")
_LONGEST = 10_000  # some names that are given are long, and stand in the line


def judged(given: Input, code: int | None, err: str, before: dict[str, str], after: dict[str, str]) -> Verdict:
    """Return what became of an input.

    Args:
        given: the input.
        code: its exit code; None if it had to be killed.
        err: what it said on standard error.
        before: what was in its folder (`seen`).
        after: what is there now.
    """
    if code is None:
        return "hang"
    if code < 0 or "Traceback (most recent call last)" in err or code not in (0, 1, 2):
        return "traceback"
    if code == 0:
        return "silent" if given.must == "refuse" else "success"
    if given.must == "succeed" or not is_clear(code, err):
        return "unclear"
    return "refused" if after == before else "partial"


def is_clear(code: int, err: str) -> bool:
    """Check whether a refusal says why in one line that a terminal may show."""
    said = [line for line in err.splitlines() if line.startswith("unbag: ")]
    # Of several sets, each that failed is a line.
    said = said or [line for line in err.splitlines() if re.match(r"\w+: failed: \S", line)][:1]
    if _CONTROL.search(_COLOUR.sub("", err).replace("\r", "")) or len(err) > 10 * _LONGEST:
        return False
    if code == 2:  # how typer says that a command is used wrongly
        return "Error" in err
    return len(said) == 1 and not _NO_WORDS.fullmatch(said[0]) and len(said[0]) <= _LONGEST


def seen(folder: Path) -> dict[str, str]:
    """Return what is in a folder: of each path, what it is and what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        kind = path.lstat().st_mode
        if stat.S_ISREG(kind):
            held = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            held = os.readlink(path) if stat.S_ISLNK(kind) else str(stat.S_IFMT(kind))
        found[str(path.relative_to(folder))] = held
    return found


def last_line(err: str) -> str:
    """Return the line that tells most of what was said."""
    lines = [line for line in err.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def symptom(verdict: Verdict, given: Input, err: str) -> str:
    """Return what two failures have in common if they have one cause: where the traceback ends, or the command."""
    frames = re.findall(r'File "[^"]*?([^/"]+/[^/"]+)", line (\d+), in (\S+)', err)
    if verdict == "traceback" and frames:
        ours = [frame for frame in frames if "unbag/" in frame[0] or "/cli/" in frame[0]] or frames
        return f"{'/'.join(ours[-1])}: {re.sub(r'0x[0-9a-f]+|[0-9]+', 'N', last_line(err))[:80]}"
    what = given.about if verdict in ("silent", "hang") else last_line(err)[:60]
    return f"{given.kind} {' '.join(given.told[:2]) if given.door == 'command' else ''}: {what}"
