import numpy as np
import pytest

from unbag.scoring.bootstrap import Estimate, estimate_named_ratios, estimate_ratios, to_json


def test_mean_interval_matches_normal_approximation():
    values = np.random.default_rng(0).random(2000) < 0.3
    [estimate] = estimate_ratios(values[:, None].astype(float), np.ones((2000, 1)), resamples=4000)
    error = np.sqrt(estimate.value * (1 - estimate.value) / 2000)
    assert estimate.value == values.mean()
    assert estimate.low == pytest.approx(estimate.value - 1.96 * error, abs=0.003)
    assert estimate.high == pytest.approx(estimate.value + 1.96 * error, abs=0.003)
    assert estimate.n == 2000


def test_interval_equals_scipy():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).exponential(size=300)
    [ours] = estimate_ratios(values[:, None], np.ones((300, 1)), means=[0], resamples=5000)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=5000, method="percentile", rng=2).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_ratio_n_counts_examples_of_subset():
    numerators = np.array([[2.0], [4.0], [0.0]])
    denominators = np.array([[1.0], [3.0], [0.0]])
    [estimate] = estimate_ratios(numerators, denominators, means=[0])
    assert estimate.value == 1.5
    assert estimate.n == 2


def test_empty_subset_has_no_value():
    assert estimate_ratios(np.zeros((3, 1)), np.zeros((3, 1))) == [Estimate(None, None, None, 0)]


def test_metrics_resampled_in_blocks_share_resamples():
    values = np.random.default_rng(0).random((500, 1))
    twice = np.concatenate([values, values], axis=1)
    first, second = estimate_ratios(twice, np.ones((500, 2)))
    assert first == second


def test_difference_uses_same_resamples_for_both_ends():
    right = np.random.default_rng(0).random(400) < 0.6
    subset = np.arange(400) >= 1  # all but one, so both ends vary together
    ratios = {"all": (right, 1.0), "most": (right & subset, subset)}
    estimates = estimate_named_ratios(ratios, {"drop": ("all", "most")})
    drop = estimates["drop"]
    assert drop.value == estimates["all"].value - estimates["most"].value
    assert drop.low <= drop.value <= drop.high
    assert drop.high - drop.low < (estimates["all"].high - estimates["all"].low) / 5
    assert drop.n == 399


def test_difference_interval_matches_normal_approximation():
    rng = np.random.default_rng(0)
    first, second = rng.random(3000) < 0.7, rng.random(3000) < 0.4
    estimates = estimate_named_ratios(
        {"first": (first, 1.0), "second": (second, 1.0)}, {"gap": ("first", "second")}, resamples=4000
    )
    gaps = first.astype(float) - second
    error = gaps.std() / np.sqrt(3000)
    assert estimates["gap"].value == pytest.approx(gaps.mean())
    assert estimates["gap"].low == pytest.approx(gaps.mean() - 1.96 * error, abs=0.003)
    assert estimates["gap"].high == pytest.approx(gaps.mean() + 1.96 * error, abs=0.003)


def test_difference_does_not_change_ratios():
    values = np.random.default_rng(0).random((50, 2))
    alone = estimate_ratios(values, np.ones((50, 2)))
    assert estimate_ratios(values, np.ones((50, 2)), differences=[(1, 0)])[:2] == alone


def test_difference_from_empty_subset_has_no_value():
    estimates = estimate_named_ratios(
        {"all": (np.ones(3), 1.0), "none": (np.zeros(3), np.zeros(3))}, {"drop": ("all", "none")}
    )
    assert estimates["drop"] == Estimate(None, None, None, 0)


def test_metric_undefined_in_all_resamples_has_no_interval():
    # With this seed, the only resample does not contain the example of the subset.
    subset = np.arange(100) == 0
    columns = subset[:, None].astype(float)
    assert estimate_ratios(columns, columns, means=[0], resamples=1, seed=1) == [Estimate(1.0, None, None, 1)]
    [proportion] = estimate_ratios(columns, columns, resamples=1, seed=1)  # needs no resamples
    assert proportion[1:] == pytest.approx((0.025, 1.0, 1))


def test_numerator_outside_denominator_raises():
    with pytest.raises(ValueError, match=r"numerators: expected .*, got 2 with denominator 1; list the column"):
        estimate_ratios(np.array([[1.0], [2.0]]), np.ones((2, 1)))
    [rounded] = estimate_ratios(np.full((3, 1), 1 + 1e-15), np.ones((3, 1)))
    assert rounded.value == 1.0


def test_to_json_converts_nested_estimates():
    estimate = Estimate(0.5, 0.4, 0.6, 10)
    scores = {"a": estimate, "rows": [{"b": estimate, "c": 1}], "curve": [(0.0, 1.0)], "none": None}
    assert to_json(scores) == {
        "a": estimate._asdict(),
        "rows": [{"b": estimate._asdict(), "c": 1}],
        "curve": [(0.0, 1.0)],
        "none": None,
    }
    assert type(to_json(scores)["rows"][0]["b"]) is dict
