"""Empty caches and files of pairs for the tests of the sets."""

import json

import pytest


@pytest.fixture(autouse=True)
def _empty_caches(empty_caches):
    """Use empty caches in all tests of the sets."""


@pytest.fixture
def write_pairs(tmp_path):
    """Return a function that writes (premise, hypothesis, label) to a file, and returns its path."""

    def write(pairs, name="pairs.jsonl"):
        rows = [dict(zip(("premise", "hypothesis", "label"), pair, strict=True)) for pair in pairs]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(tmp_path / name)

    return write
