"""Tests of the types of scores, and of results of older versions."""

from typing import is_typeddict

import pytest

from tests.factories import build_result, write_run
from unbag import challenge_sets
from unbag.challenge_sets import results


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_every_set_declares_type_of_scores(name):
    assert is_typeddict(challenge_sets.get_challenge_set(name).scores_type)


def test_read_result_without_version_of_unbag_is_unknown(tmp_path):
    result = build_result()
    del result.environment["unbag"]
    folder = write_run(tmp_path / "run", result)
    assert results.read_results(folder / results.FILE)[0].unbag_version == "unknown"
