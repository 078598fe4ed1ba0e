"""Tests of intervals, resampling, significance tests and corrections."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.coverage import TRIALS
from benchmarks.coverage import coverage as simulate_coverage
from benchmarks.interval_coverage import EQUALS, OPPOSITES, PROPORTION, coverage
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DIFFERENCE, MEAN, RATIO, Estimate, Sample, estimate_difference, estimate_ratio
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.intervals import compute_contrast_limits, compute_effective_sizes, compute_proportion_limits
from unbag.scoring.natural_logic import MEASURES, natural_logic
from unbag.scoring.significance import (
    STATISTICS,
    compute_paired_difference,
    compute_sample_value,
    compute_unpaired_difference,
    correct_p_values,
    extract_binary_outcomes,
    mcnemar_test,
    resample_statistics,
    run_seed_test,
)


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


def _build_ratio_sample(values):
    return Sample(RATIO, np.stack([np.asarray(values, dtype=float), np.ones(len(values))], axis=1))


def test_estimate_stores_its_sample():
    rng = np.random.default_rng(0)
    gold, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    scores = accuracy(predicted, gold)
    for estimate in (scores["accuracy"], *scores["by_label"]):
        assert compute_sample_value(estimate.sample) == estimate.value
        right, n = estimate.sample.columns.sum(axis=0)
        exact = stats.binomtest(int(right), int(n)).proportion_ci(method="exact")
        assert (estimate.low, estimate.high) == pytest.approx((exact.low, exact.high))
    gap = estimate_difference(estimate_ratio(predicted == gold), estimate_ratio(gold == 0))
    assert gap.sample.statistic == DIFFERENCE
    assert compute_sample_value(gap.sample) == pytest.approx(gap.value)
    grouped = category_accuracy(predicted, gold, ["x"] * 60, premise=[i // 3 for i in range(60)])["accuracy"]
    assert grouped.n == 60
    assert grouped.sample.columns.shape == (20, 2)


def test_macro_average_stores_confusion_per_source():
    rng = np.random.default_rng(0)
    gold, predicted = rng.choice(["e", "n", "c"], 90), rng.choice(["e", "n"], 90)
    scores = natural_logic(predicted, gold, source_id=[f"s{i // 6}" for i in range(90)])
    for name in MEASURES:
        assert compute_sample_value(scores[name].sample) == pytest.approx(scores[name].value)
        assert len(scores[name].sample.columns) == 15
    macros = {"macro_f1", "macro_precision", "macro_recall"}
    assert set(STATISTICS) == {RATIO, MEAN, DIFFERENCE, "skill", "auroc", "balanced_accuracy"} | macros


def test_p_value_equals_enumerated_resamples():
    # The two systems differ on one of two examples: the differences are 0, 1/2 (twice) and 1, so a quarter is not above
    # 0.
    found = compute_paired_difference(_build_ratio_sample([0, 0]), _build_ratio_sample([1, 0]), resamples=20_000)
    assert found.difference.value == 0.5
    # Bonett & Price with counts of 2 and 1 in 4: a gap of 1/4 with the error √((3/4 - 1/16) / 4).
    assert found.difference.low == pytest.approx(0.25 - 1.959964 * (0.6875 / 4) ** 0.5)
    assert found.difference.high == 1
    assert found.p == pytest.approx(0.5, abs=0.02)


def test_interval_matches_paired_normal_approximation():
    rng = np.random.default_rng(1)
    first = rng.random(2000)
    second = first + rng.normal(0.003, 0.1, 2000)
    error = (second - first).std() / np.sqrt(2000)
    systems = [_build_ratio_sample(values) for values in (first, second)]
    found = compute_paired_difference(*systems)
    gap = (second - first).mean()
    assert found.difference.low == pytest.approx(gap - 1.96 * error, abs=0.0004)
    assert found.difference.high == pytest.approx(gap + 1.96 * error, abs=0.0004)
    assert found.p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)
    # Without the pairing, the interval is wider.
    unpaired = compute_unpaired_difference(
        *(
            Estimate(
                compute_sample_value(system),
                *np.percentile(resample_statistics([system], seed=seed), [2.5, 97.5]),
                2000,
            )
            for seed, system in enumerate(systems)
        )
    )
    assert unpaired.high - unpaired.low > 2 * (found.difference.high - found.difference.low)


def test_bootstrap_agrees_with_mcnemar():
    rng = np.random.default_rng(2)
    first = rng.random(800) < 0.8
    second = np.where(rng.random(800) < 0.1, rng.random(800) < 0.95, first)
    found = compute_paired_difference(_build_ratio_sample(first), _build_ratio_sample(second))
    assert found.p == pytest.approx(mcnemar_test(first, second), abs=0.02)


def test_binary_outcomes_require_whole_examples():
    inside = np.array([1.0, 1.0, 0.0, 1.0])
    one, two = (Sample(RATIO, np.stack([right * inside, inside], axis=1)) for right in ([1, 0, 1, 1], [1, 1, 0, 0]))
    first, second = extract_binary_outcomes(one, two)
    assert first.tolist() == [1, 0, 1]
    assert second.tolist() == [1, 1, 0]
    assert extract_binary_outcomes(one, _build_ratio_sample([1, 1, 0, 0])) is None, "another subset"
    parts = _build_ratio_sample([0.5, 1])
    assert extract_binary_outcomes(parts, _build_ratio_sample([1, 1])) is None, "parts of an example"


def test_metric_of_only_one_system_has_no_difference():
    none, other = Sample(RATIO, np.zeros((4, 2))), _build_ratio_sample([1, 0, 1, 1])
    assert compute_paired_difference(other, none).difference == Estimate(None, None, None, 4)
    assert compute_unpaired_difference(Estimate(None, None, None, 0), Estimate(0.5, 0.4, 0.6, 2)).value is None


def test_resamples_do_not_depend_on_other_samples():
    rng = np.random.default_rng(3)
    first, second, third = (_build_ratio_sample(rng.random(50)) for _ in range(3))
    assert resample_statistics([first, second])[1].tolist() == resample_statistics([third, first, second])[2].tolist()


def _build_outcomes(only_first, only_second):
    agree = [1, 1, 1, 0, 0]
    return [1] * only_first + [0] * only_second + agree, [0] * only_first + [1] * only_second + agree


@given(st.integers(0, 300), st.integers(0, 300))
def test_p_value_equals_scipy(one, two):
    d, fewer = one + two, min(one, two)
    mid = 2 * (stats.binom.cdf(fewer, d, 0.5) - stats.binom.pmf(fewer, d, 0.5) / 2)
    assert mcnemar_test(*_build_outcomes(one, two)) == pytest.approx(min(1, mid), rel=1e-9, abs=1e-300)


def test_many_discordant_examples_do_not_overflow():
    p = 8.9e-5  # z = 400 / 10400 ** 0.5 = 3.92
    assert mcnemar_test(*_build_outcomes(5000, 5400)) == pytest.approx(p, rel=0.02)


def test_corrected_p_values_equal_hand_computed_values():
    # 4 × .01; 3 × .02 = .06; 2 × .03 = .06; 1 × .04, raised to the value before it.
    assert correct_p_values([0.02, 0.01, 0.04, 0.03]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert correct_p_values([0.6, 0.7]).tolist() == [1, 1]
    assert correct_p_values([0.2]).tolist() == [0.2]
    with pytest.raises(ValueError, match="from 0 to 1"):
        correct_p_values([0.5, float("nan")])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 0.2))
def test_correction_rejects_like_stepwise_holm(p, level):
    """The original procedure of Holm: from the smallest p-value on, until one is above level / (tests left)."""
    rejected = set()
    for left, place in zip(range(len(p), 0, -1), np.argsort(p, kind="stable"), strict=True):
        if p[place] * left > level:
            break
        rejected.add(int(place))
    assert {int(i) for i in np.flatnonzero(correct_p_values(p) <= level)} == rejected
