"""What fuzzing has found in the parsers of outside files, and a little more of it; `make fuzz` does it for minutes."""

import random

import pytest

from tests.robustness.fuzz.parsers import CORPUS, PARSERS, parse
from tests.robustness.malformed_inputs.inputs import damaged

FOUND = sorted(path for name in PARSERS for path in (CORPUS / name).iterdir())
N = 40


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_found_is_read_or_refused(path):
    read = parse(path.parent.name, path.read_bytes())
    assert not isinstance(read, Exception) or path.name != "sound"


@pytest.mark.parametrize("name", PARSERS)
def test_what_disks_and_networks_do_to_a_file_is_read_or_refused(name):
    rng, content = random.Random(name), (CORPUS / name / "sound").read_bytes()
    for _ in range(N):
        parse(name, damaged(content, rng)[0])
