"""Run commands in this process. Any result except success or a one-line error with exit code 1 or 2 fails the test."""

import os
import random
import re
from pathlib import Path

from unbag.cli import app
from unbag.cli.app import run

ALL = bool(os.environ.get("UNBAG_ATTACK"))
"""Whether all inputs are tested (`make attack`); otherwise a sample that takes seconds."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def sample_inputs(inputs, n):
    """Return a fixed sample of n inputs, or all inputs if the environment requests the whole attack."""
    inputs = list(inputs)
    return inputs if ALL or len(inputs) <= n else random.Random(len(inputs)).sample(inputs, n)


def run_command(capsys, *arguments):
    """Run the command. Return the exit code, the output and the error output."""
    capsys.readouterr()
    code = run(app, list(map(str, arguments)))  # exceptions that the command does not catch fail the test
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), (code, err)
    assert "Traceback" not in err, err
    return code, out, err


def run_rejected(capsys, *arguments, **environment):
    """Run a command that must be rejected. Return the error line, which must contain no control characters."""
    code, _, err = run_command(capsys, *arguments)
    assert code in (1, 2), f"{arguments} passed: {err}"
    assert not _CONTROL.search(re.sub(r"\x1b\[[\d;]*m", "", err)), repr(err)
    if code == 1:
        said = [line for line in err.splitlines() if line.startswith("unbag: ") or "unbag: " in line]
        assert len(said) == 1, err
    return err


def read_files_below(folder: Path):
    """Return the files in a folder, for comparison with a later state."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
