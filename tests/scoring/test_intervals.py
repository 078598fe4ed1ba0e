"""Tests of intervals, resampling and seeds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.coverage import TRIALS
from benchmarks.coverage import coverage as simulate_coverage
from benchmarks.interval_coverage import EQUALS, OPPOSITES, PROPORTION, coverage
from unbag.scoring.bootstrap import Estimate, estimate_difference, estimate_ratio
from unbag.scoring.intervals import compute_contrast_limits, compute_effective_sizes, compute_proportion_limits
from unbag.scoring.significance import run_seed_test


@pytest.mark.parametrize("n", [1, 2, 5, 12, 50, 400, 20_000, 3.7])
def test_proportion_limits_equal_clopper_pearson_of_scipy(n):
    successes = np.unique(np.clip(np.r_[0, 0.4, 1, np.round(np.linspace(0, n, 9)), n - 1, n], 0, n))
    low, high = compute_proportion_limits(successes / n, np.full(len(successes), float(n)))
    k = successes.clip(1e-9, n - 1e-9)
    assert low == pytest.approx(np.where(successes > 0, stats.beta.ppf(0.025, k, n - k + 1), 0), abs=1e-8)
    assert high == pytest.approx(np.where(successes < n, stats.beta.ppf(0.975, k + 1, n - k), 1), abs=1e-8)


def test_identical_rows_of_source_count_as_one():
    right = np.array([1.0, 1.0, 1.0, 0.0])[:, None]
    assert compute_effective_sizes(5 * right, np.full((4, 1), 5.0)).tolist() == [4]
    # For sources of unequal sizes that are all right, Kish's effective size: 7² / (1 + 2 * 4 + 4 * 1).
    sizes = np.array([1.0, 2, 2, 2])[:, None]
    assert compute_effective_sizes(sizes, sizes) == pytest.approx(49 / 13)


def test_independent_rows_of_sources_count_fully():
    counts = np.random.default_rng(0).binomial(20, 0.7, 300).astype(float)[:, None]
    [size] = compute_effective_sizes(counts, np.full((300, 1), 20.0))
    assert 5_000 < size <= 6_000
    # The effective size is at most the number of rows, even if sources differ less than by chance.
    assert compute_effective_sizes(np.array([[10.0], [10.0], [11.0]]), np.full((3, 1), 20.0)).max() <= 60


def test_fractional_values_use_their_variance():
    shares = np.random.default_rng(1).beta(9, 1, 400)
    estimate = estimate_ratio(shares)
    error = stats.sem(shares) * stats.t.ppf(0.975, 399)
    assert estimate.low == pytest.approx(shares.mean() - error, abs=0.002)
    assert estimate.high == pytest.approx(shares.mean() + error, abs=0.002)


def test_paired_difference_equals_bonett_price():
    only_first, only_second, n = 3, 8, 40  # counts of discordant pairs; all others agree
    first = np.r_[np.ones(only_first), np.zeros(only_second), np.ones(n - only_first - only_second)]
    second = np.r_[np.zeros(only_first), np.ones(only_second), np.ones(n - only_first - only_second)]
    one, two = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    error = ((one + two - (two - one) ** 2) / (n + 2)) ** 0.5
    found = compute_contrast_limits(np.stack([first, second], axis=1), np.ones((n, 2)), np.array([-1.0, 1.0]))
    assert found == pytest.approx((two - one - 1.959964 * error, two - one + 1.959964 * error))


# With 300 simulations and a true coverage of .95, the result is below these limits once in a thousand times.
@pytest.mark.parametrize(("n", "share"), [(5, 0.0), (5, 0.5), (50, 0.01)])
@pytest.mark.parametrize("quantity", [PROPORTION, EQUALS, OPPOSITES])
@pytest.mark.parametrize("rows", [1, 10])
def test_interval_coverage_at_and_between_extremes(quantity, share, n, rows):
    assert coverage(quantity, share, n, rows, 300)["coverage"] >= 0.91


def test_interval_equals_scipy():
    values = np.random.default_rng(1).exponential(size=300)
    ours = estimate_ratio(values, is_mean=True, resamples=5000)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=5000, method="percentile", rng=2).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_ratio_uses_weights_of_subset():
    estimate = estimate_ratio([2.0, 4 / 3, 5.0], [1.0, 3.0, 0.0], is_mean=True)
    assert (estimate.value, estimate.n) == (1.5, 2)
    assert estimate_ratio(np.full(3, 1 + 1e-15))[0] == 1.0, "a share above one by rounding"
    empty = estimate_ratio(np.zeros(3), np.zeros(3))
    assert empty == estimate_difference(estimate_ratio(np.ones(3)), empty) == Estimate(None, None, None, 0)


def test_difference_uses_same_resamples_for_both_ends():
    right = np.random.default_rng(0).random(400) < 0.6
    subset = np.arange(400) >= 1  # all but one, so both ends vary together
    everything, most = estimate_ratio(right), estimate_ratio(right, subset)
    drop = estimate_difference(everything, most)
    assert drop.value == everything.value - most.value
    assert drop.low <= drop.value <= drop.high
    assert drop.high - drop.low < (everything.high - everything.low) / 5
    assert drop.n == 399


def test_metric_undefined_in_all_resamples_has_no_interval():
    # With this seed, the only resample does not contain the example of the subset.
    subset = np.arange(100) == 0
    assert estimate_ratio(subset, subset, is_mean=True, resamples=1, seed=1) == Estimate(1.0, None, None, 1)
    proportion = estimate_ratio(subset, subset, resamples=1, seed=1)  # needs no resamples
    assert proportion[1:] == pytest.approx((0.025, 1.0, 1))


@pytest.mark.parametrize("value", [2.0, -0.5, float("nan")])
def test_value_that_is_no_share_raises(value):
    with pytest.raises(ValueError, match=rf"values: expected values from 0 to 1, got {value:g} with weight 1 in row 1"):
        estimate_ratio([0.5, value])
    assert estimate_ratio([0.5, 2.0], is_mean=True, resamples=0).value == 1.25


SCORES = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), min_size=2, max_size=8)


@settings(max_examples=50)
@given(SCORES, SCORES)
def test_welch_test_equals_scipy(first, second):
    if len(set(first)) == 1 and len(set(second)) == 1:
        return
    ours = run_seed_test(first, second)
    theirs = stats.ttest_ind(second, first, equal_var=False)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-8)
    interval = theirs.confidence_interval(0.95)
    assert (ours.difference.low, ours.difference.high) == pytest.approx(tuple(interval), abs=1e-6)


def test_single_seed_uses_variance_of_other_system():
    values = [0.80, 0.82, 0.79, 0.81]
    found = run_seed_test([0.75], values)
    t = (np.mean(values) - 0.75) / (np.std(values, ddof=1) * (1 + 1 / 4) ** 0.5)
    assert found.p == pytest.approx(2 * stats.t.sf(t, 3))
    assert found.p == pytest.approx(run_seed_test(values, [0.75]).p)


@pytest.mark.parametrize("t", [1e-6, 1, 40, 1000, -1000, 1e12])
def test_seed_test_of_extreme_difference_has_closed_form(t):
    """With one and two degrees of freedom, the t distribution has a closed form."""
    error = 3**0.5  # the variance 2 of -1 and 1, times 1 + 1/2
    assert run_seed_test([-1, 1], [t * error]).p == pytest.approx(2 * math.atan2(1, abs(t)) / math.pi, rel=1e-9)
    error = (4 / 3) ** 0.5  # the variance 1 of -1, 0 and 1, times 1 + 1/3
    root = math.sqrt(2 + t * t)
    assert run_seed_test([-1, 0, 1], [t * error]).p == pytest.approx(2 / (root * (root + abs(t))), rel=1e-9)


def test_zero_variance_gives_no_test():
    assert run_seed_test([0.5], [0.7]).p is None
    alike = run_seed_test([0.5, 0.5], [0.7, 0.7])
    assert (alike.p, alike.difference.low, alike.difference.high) == (None, None, None)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["accuracy", "p_c", "paired_gap"])
def test_interval_coverage_is_95_percent(name):
    trial, truth = TRIALS[name]
    # With 100 rounds, the standard error is .022; the tolerance is three standard errors.
    assert simulate_coverage(trial, truth, 100) == pytest.approx(0.95, abs=0.066)
