"""The command in this process: whatever is not success or one clear line with exit code 1 or 2 fails the test."""

import os
import random
import re
from pathlib import Path

from unbag.cli import app
from unbag.cli.app import run

SEED = os.environ.get("UNBAG_ATTACK", "")
"""Decides what is drawn where the whole attack is run."""
ALL = bool(SEED)
"""Whether the whole attack is run (`make attack`); otherwise of each kind of input what fits into seconds."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def some(inputs, n):
    """Return all inputs in the whole attack, else n of them, the same each time."""
    inputs = list(inputs)
    return inputs if ALL or len(inputs) <= n else random.Random(len(inputs)).sample(inputs, n)


def ask(capsys, *arguments):
    """Run the command, and return its exit code with what it printed and what it said beside."""
    capsys.readouterr()
    code = run(app, list(map(str, arguments)))  # what it does not catch, the test does not
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), (code, err)
    assert "Traceback" not in err
    return code, out, err


def refused(capsys, *arguments, **environment):
    """Run a command that must be refused, and return the one line that says why, free of control characters."""
    code, _, err = ask(capsys, *arguments)
    assert code in (1, 2), f"{arguments} passed: {err}"
    assert not _CONTROL.search(re.sub(r"\x1b\[[\d;]*m", "", err)), repr(err)
    if code == 1:
        said = [line for line in err.splitlines() if line.startswith("unbag: ") or "unbag: " in line]
        assert len(said) == 1, err
    return err


def files_below(folder: Path):
    """Return what is in a folder, to be compared with what is there later."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
