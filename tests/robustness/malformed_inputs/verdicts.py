"""Verdicts on inputs: success, a rejection in one clear line, or a failure."""

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
# The raw text of an exception without a message for users, such as a KeyError, a TypeError or a C++ exception.
_NO_WORDS = re.compile(r"unbag: ('[^']*'|\S{0,12}|'?\w+'? object .*)")
_BORDER = "╭╮╰╯─│ "  # of the boxes in which typer prints wrong usage
_LONGEST = 10_000  # some of the given names are long and appear in the line


def judge(sample: Input, code: int | None, err: str, before: dict[str, str], after: dict[str, str]) -> Verdict:
    """Return the verdict on an input.

    Args:
        given: the input.
        code: the exit code, or None if the process was killed.
        err: the standard error output.
        before: the content of the folder before (see `read_folder`).
        after: the content of the folder afterwards.
    """
    if code is None:
        return "hang"
    if code < 0 or "Traceback (most recent call last)" in err or code not in (0, 1, 2):
        return "traceback"
    if code == 0:
        return "silent" if sample.expected == "refuse" else "success"
    if sample.expected == "succeed" or not is_clear(code, err):
        return "unclear"
    return "refused" if after == before else "partial"


def is_clear(code: int, err: str) -> bool:
    """Check whether a rejection is explained in one printable line."""
    said = [line for line in err.splitlines() if line.startswith("unbag: ")]
    # With several sets, each failed set has a line.
    said = said or [line for line in err.splitlines() if re.match(r"\w+: failed: \S", line)][:1]
    if _CONTROL.search(_COLOUR.sub("", err).replace("\r", "")) or len(err) > 10 * _LONGEST:
        return False
    if code == 2:  # the format of typer for wrong usage
        return "Error" in err
    return len(said) == 1 and not _NO_WORDS.fullmatch(said[0]) and len(said[0]) <= _LONGEST


def read_folder(folder: Path) -> dict[str, str]:
    """Return the content of a folder: for each path, its type and content."""
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
    """Return the most informative line of the error output: the last one that is not the border of a box."""
    lines = [line for text in _COLOUR.sub("", err).splitlines() if (line := text.strip(_BORDER))]
    return lines[-1] if lines else ""


def symptom(verdict: Verdict, sample: Input, err: str) -> str:
    """Return a key that is equal for failures with the same cause: the end of the traceback, or the command."""
    frames = re.findall(r'File "[^"]*?([^/"]+/[^/"]+)", line (\d+), in (\S+)', err)
    if verdict == "traceback" and frames:
        ours = [frame for frame in frames if "unbag/" in frame[0] or "/cli/" in frame[0]] or frames
        return f"{'/'.join(ours[-1])}: {re.sub(r'0x[0-9a-f]+|[0-9]+', 'N', last_line(err))[:80]}"
    what = sample.about if verdict in ("silent", "hang") else last_line(err)[:60]
    return f"{sample.kind} {' '.join(sample.arguments[:2]) if sample.door == 'command' else ''}: {what}"
