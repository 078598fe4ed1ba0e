"""Tests of significance tests and their correction for multiple comparisons."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DIFFERENCE, MEAN, RATIO, Estimate, Sample, estimate_difference, estimate_ratio
from unbag.scoring.category_accuracy import category_accuracy
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
)


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
