"""Tests of the failures that fuzzing found in the parsers of external files, and a few new inputs; see `make fuzz`."""

import random

import pytest

from tests.robustness.fuzz.parsers import CORPUS, PARSERS, parse
from tests.robustness.malformed_inputs.inputs import damage

FOUND = sorted(path for name in PARSERS for path in (CORPUS / name).iterdir())
N = 40


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_earlier_failure_is_read_or_rejected(path):
    read = parse(path.parent.name, path.read_bytes())
    assert not isinstance(read, Exception) or path.name != "sound"


@pytest.mark.parametrize("name", PARSERS)
def test_damaged_file_is_read_or_rejected(name):
    rng, content = random.Random(name), (CORPUS / name / "sound").read_bytes()
    for _ in range(N):
        parse(name, damage(content, rng)[0])
