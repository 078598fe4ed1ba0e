"""Shared fixtures and helpers: a file of pairs, commands run in this process, and damaged files."""

import os
import random
import re

import pytest

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.cli import app
from unbag.cli.app import run
from unbag.data.labels import LABELS

ALL = bool(os.environ.get("UNBAG_ATTACK"))
"""Whether all inputs are tested (`make attack`); otherwise a sample that takes seconds."""


def write_pairs(path, numbers, *, does="runs"):
    """Write three labelled pairs per number as CSV, and return the path."""
    rows = [
        f"The {who} number {n} {does}.,A {who} is {n} or so.,{LABELS[n % 3]}" for n in range(numbers) for who in "abc"
    ]
    path.write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")
    return path


@pytest.fixture
def empty_working_dir(empty_caches, tmp_path, monkeypatch):
    """Change to an empty folder, with empty caches."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def sixty_pairs(empty_caches, tmp_path):
    """Return a file of sixty pairs, with empty caches."""
    return write_pairs(tmp_path / "pairs.csv", 20)


def fit_model(pairs):
    """Fit a lexical model to a file of pairs. Return its folder."""
    return fit_or_load_lexical_model(LexicalTrainingOptions((str(pairs),), pipeline="all", l2=1.0))


def sample_inputs(inputs, n):
    """Return a fixed sample of n inputs, or all inputs if the environment requests the whole attack."""
    inputs = list(inputs)
    return inputs if ALL or len(inputs) <= n else random.Random(len(inputs)).sample(inputs, n)


def run_command(capsys, *arguments):
    """Run a command in this process. Return the exit code, the output and the error output.

    Any result except success or a one-line error with exit code 1 or 2 fails the test.
    """
    capsys.readouterr()
    code = run(app, list(map(str, arguments)))  # exceptions that the command does not catch fail the test
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), (code, err)
    assert "Traceback" not in err, err
    return code, out, err


def run_rejected(capsys, *arguments):
    """Run a command that must be rejected. Return the error line, which must contain no control characters."""
    code, _, err = run_command(capsys, *arguments)
    assert code in (1, 2), f"{arguments} passed: {err}"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", re.sub(r"\x1b\[[\d;]*m", "", err)), repr(err)
    if code == 1:
        assert sum("unbag: " in line for line in err.splitlines()) == 1, err
    return err


def read_files_below(folder):
    """Return the files in a folder, for comparison with a later state."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _flip_bits(content, rng, n):
    flipped = bytearray(content)
    for _ in range(n):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


DAMAGES = {
    "flipped bit": lambda content, rng: _flip_bits(content, rng, 1),
    "flipped bits": lambda content, rng: _flip_bits(content, rng, 100),
    "truncated": lambda content, rng: content[: rng.randrange(len(content))],
    "zeros after lost write": lambda content, rng: content[: len(content) // 2].ljust(len(content), b"\0"),
    "Git LFS pointer": lambda content, rng: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n",
    "empty": lambda content, rng: b"",
}
"""Kinds of file corruption that every cache is tested with."""
SEEDS = range(3 if ALL else 1)


def apply_damage(damage, path, seed=0):
    """Damage a file. Return whether its content changed."""
    before = path.read_bytes()
    after = DAMAGES[damage](before, random.Random(seed)) if before else b"?"
    path.write_bytes(after)
    return after != before
