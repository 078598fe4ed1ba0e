import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.scoring.significance import compute_seed_spread, compute_t_p_value, compute_t_quantile, run_seed_test

SCORES = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=2, max_size=8)


def test_spread_is_mean_and_sample_standard_deviation():
    found = compute_seed_spread([0.81, 0.79, 0.84])
    assert found.mean == pytest.approx(statistics.fmean([0.81, 0.79, 0.84]))
    assert found.standard_deviation == pytest.approx(statistics.stdev([0.81, 0.79, 0.84]))
    assert compute_seed_spread([0.5]) == (0.5, None, 1)


def test_welch_test_equals_hand_computed_value():
    # Means 2 and 5, variances 1 and 4, n = 3: t = 3 / sqrt(5 / 3), ν = (5/3)² / ((1/3)² / 2 + (4/3)² / 2) = 50 / 17.
    found = run_seed_test([1, 2, 3], [3, 5, 7])
    assert found.difference.value == 3
    assert found.difference.n == 6
    assert found.p == pytest.approx(compute_t_p_value(3 / (5 / 3) ** 0.5, 50 / 17))


@settings(max_examples=50)
@given(SCORES, SCORES)
def test_welch_test_equals_scipy(first, second):
    stats = pytest.importorskip("scipy.stats")
    if len(set(first)) == 1 and len(set(second)) == 1:
        return
    ours = run_seed_test(first, second)
    theirs = stats.ttest_ind(second, first, equal_var=False)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-8)
    interval = theirs.confidence_interval(0.95)
    assert (ours.difference.low, ours.difference.high) == pytest.approx(tuple(interval), abs=1e-6)


def test_single_seed_uses_variance_of_other_system():
    stats = pytest.importorskip("scipy.stats")
    values = [0.80, 0.82, 0.79, 0.81]
    found = run_seed_test([0.75], values)
    t = (np.mean(values) - 0.75) / (np.std(values, ddof=1) * (1 + 1 / 4) ** 0.5)
    assert found.p == pytest.approx(2 * stats.t.sf(t, 3))
    assert found.p == pytest.approx(run_seed_test(values, [0.75]).p)


def test_zero_variance_gives_no_test():
    assert run_seed_test([0.5], [0.7]).p is None
    alike = run_seed_test([0.5, 0.5], [0.7, 0.7])
    assert (alike.p, alike.difference.low, alike.difference.high) == (None, None, None)


@pytest.mark.parametrize("t", [1e-6, 1, 40, 1000, -1000, 1e12])
def test_t_p_value_of_extreme_statistic_has_closed_form(t):
    """With one and two degrees of freedom, the distribution has a closed form."""
    assert compute_t_p_value(t, 1) == pytest.approx(2 * math.atan2(1, abs(t)) / math.pi, rel=1e-9)
    root = math.sqrt(2 + t * t)
    assert compute_t_p_value(t, 2) == pytest.approx(2 / (root * (root + abs(t))), rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 2.5, 4, 30, 1000])
@pytest.mark.parametrize("probability", [0.6, 0.975, 1 - 1e-12])
def test_t_quantile_is_inverse_of_p_value(freedom, probability):
    quantile = compute_t_quantile(probability, freedom)
    assert compute_t_p_value(quantile, freedom) == pytest.approx(2 * (1 - probability), rel=1e-6)
