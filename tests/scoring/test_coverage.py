"""Tests of interval coverage with few rounds. `benchmarks/coverage.py` runs thousands of rounds."""

import pytest

from benchmarks.coverage import TRIALS, coverage

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", ["accuracy", "p_c", "paired_gap"])
def test_interval_coverage_is_95_percent(name):
    trial, truth = TRIALS[name]
    # With 100 rounds, the standard error is .022; the tolerance is three standard errors.
    assert coverage(trial, truth, 100) == pytest.approx(0.95, abs=0.066)
