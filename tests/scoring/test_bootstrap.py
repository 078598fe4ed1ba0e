import numpy as np
import pytest

from unbag.scoring.bootstrap import Estimate, ratio_estimates


def test_a_mean_and_its_interval_match_the_normal_approximation():
    values = np.random.default_rng(0).random(2000) < 0.3
    [estimate] = ratio_estimates(values[:, None].astype(float), np.ones((2000, 1)), resamples=4000)
    error = np.sqrt(estimate.value * (1 - estimate.value) / 2000)
    assert estimate.value == values.mean()
    assert estimate.low == pytest.approx(estimate.value - 1.96 * error, abs=0.003)
    assert estimate.high == pytest.approx(estimate.value + 1.96 * error, abs=0.003)
    assert estimate.n == 2000


def test_against_scipy():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).exponential(size=300)
    [ours] = ratio_estimates(values[:, None], np.ones((300, 1)), resamples=5000)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=5000, method="percentile", rng=2).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_ratio_rests_on_the_examples_of_its_subset():
    numerators = np.array([[2.0], [4.0], [0.0]])
    denominators = np.array([[1.0], [3.0], [0.0]])
    [estimate] = ratio_estimates(numerators, denominators)
    assert estimate.value == 1.5
    assert estimate.n == 2


def test_an_empty_subset_is_none():
    assert ratio_estimates(np.zeros((3, 1)), np.zeros((3, 1))) == [Estimate(None, None, None, 0)]


def test_blocks_of_draws_do_not_change_the_quantities_drawn_together():
    values = np.random.default_rng(0).random((500, 1))
    twice = np.concatenate([values, values], axis=1)
    first, second = ratio_estimates(twice, np.ones((500, 2)))
    assert first == second
