import numpy as np
import pytest
from scipy import stats

from benchmarks.interval_coverage import EQUALS, OPPOSITES, PROPORTION, coverage
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import estimate_named_ratios
from unbag.scoring.intervals import compute_contrast_limits, compute_effective_sizes, compute_proportion_limits


@pytest.mark.parametrize("n", [1, 2, 5, 12, 50, 400, 20_000, 3.7])
def test_proportion_limits_equal_clopper_pearson_of_scipy(n):
    successes = np.unique(np.clip(np.r_[0, 0.4, 1, np.round(np.linspace(0, n, 9)), n - 1, n], 0, n))
    low, high = compute_proportion_limits(successes / n, np.full(len(successes), float(n)))
    k = successes.clip(1e-9, n - 1e-9)
    assert low == pytest.approx(np.where(successes > 0, stats.beta.ppf(0.025, k, n - k + 1), 0), abs=1e-8)
    assert high == pytest.approx(np.where(successes < n, stats.beta.ppf(0.975, k + 1, n - k), 1), abs=1e-8)


def test_limits_of_million_rows_are_accurate():
    [low], [high] = compute_proportion_limits(np.array([0.3]), np.array([1e6]))
    exact = stats.binomtest(300_000, 1_000_000).proportion_ci(method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-5)


@pytest.mark.parametrize(("share", "n"), [(0.0, 12), (1.0, 12), (0.0, 400), (1.0, 1)])
def test_limit_at_extremes_has_closed_form(share, n):
    estimate = estimate_named_ratios({"share": (np.full(n, share), 1.0)})["share"]
    limit = 0.025 ** (1 / n)
    assert (estimate.low, estimate.high) == pytest.approx((limit, 1.0) if share else (0.0, 1 - limit))


def test_interval_of_complement_is_mirrored():
    right = np.random.default_rng(0).random(37) < 0.8
    of_right, of_wrong = (accuracy(each.astype(int), np.ones(37, dtype=int))["accuracy"] for each in (right, ~right))
    assert (of_right.low, of_right.high) == pytest.approx((1 - of_wrong.high, 1 - of_wrong.low))


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
    estimate = estimate_named_ratios({"share": (shares, 1.0)})["share"]
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


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_difference_of_equal_systems_has_nonzero_width(share):
    right = np.arange(12) < 12 * share
    gap = estimate_named_ratios({"a": (right, 1.0), "b": (right.copy(), 1.0)}, {"gap": ("a", "b")})["gap"]
    assert gap.value == 0
    assert (gap.low, gap.high) == pytest.approx((-1.959964 * 2**0.5 / 14, 1.959964 * 2**0.5 / 14))


def test_reversed_difference_is_mirrored():
    rng = np.random.default_rng(2)
    sources = rng.binomial(9, rng.beta(4, 2, (40, 2))).astype(float)
    there, back = (
        compute_contrast_limits(sources, np.full((40, 2), 9.0), np.array([1.0, -1.0]) * side) for side in (1, -1)
    )
    assert there == pytest.approx((-back[1], -back[0]))


# With 300 simulations and a true coverage of .95, the result is below these limits once in a thousand times.
@pytest.mark.parametrize("n", [5, 12, 50])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("quantity", [PROPORTION, EQUALS, OPPOSITES])
@pytest.mark.parametrize("rows", [1, 10])
def test_interval_coverage_at_and_between_extremes(quantity, share, n, rows):
    assert coverage(quantity, share, n, rows, 300)["coverage"] >= 0.91


def test_bootstrap_interval_undercovers_at_extremes():
    assert coverage(PROPORTION, 0.99, 12, 1, 300)["bootstrap"] < 0.3
