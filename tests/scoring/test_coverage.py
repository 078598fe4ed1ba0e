"""Whether intervals hold the truth, in few rounds; `benchmarks/coverage.py` makes thousands."""

import pytest

from benchmarks.coverage import TRIALS, coverage

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", ["accuracy", "p_c", "paired_gap"])
def test_intervals_hold_the_true_value(name):
    trial, truth = TRIALS[name]
    # 100 rounds have a standard error of .022: three of them.
    assert coverage(trial, truth, 100) == pytest.approx(0.95, abs=0.066)


def test_permutations_taken_for_examples_would_not():
    trial, truth = TRIALS["p_c_by_permutation"]
    assert coverage(trial, truth, 6) < 0.8
