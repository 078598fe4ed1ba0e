"""Significance tests between systems and between seeds, and a correction for multiple tests."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring import ranking, skill, verification
from unbag.scoring.bootstrap import DIFFERENCE, MEAN, RATIO, Estimate, Sample, compute_bootstrap_p_value, resample_sums
from unbag.scoring.intervals import LEVEL, compute_contrast_limits
from unbag.scoring.natural_logic import MACROS, compute_macro_average

DEFAULT_RESAMPLES: Final = 10_000
"""Number of resamples for a test. A test needs more than an interval, because the smallest p value is
2 / (resamples + 1), and a correction for multiple testing multiplies p values."""

Floats = NDArray[np.float64]


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = sums[:, 0] / sums[:, 1]
    return ratios


STATISTICS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    RATIO: _ratio,
    MEAN: _ratio,
    DIFFERENCE: lambda sums: _ratio(sums[:, :2]) - _ratio(sums[:, 2:]),
    skill.STATISTIC: skill.compute_skill_from_sums,
    verification.BALANCED: verification.compute_balanced_accuracy,
    ranking.AUROC: ranking.compute_auroc_from_sums,
    **{f"macro_{name}": partial(compute_macro_average, measure=name) for name in MACROS},
}
"""Functions that compute a statistic, shape (r,), from sums over examples, shape (r, m), by `Sample.statistic`."""


_SIGNS: Final[Mapping[str, tuple[float, ...]]] = {RATIO: (1.0,), DIFFERENCE: (1.0, -1.0)}
"""Signs of the proportions in a statistic, in column order."""


def compute_sample_value(sample: Sample) -> float:
    """Compute a statistic on the original examples (without resampling). Return NaN if the statistic is undefined."""
    return float(STATISTICS[sample.statistic](sample.columns.sum(axis=0, keepdims=True))[0])


class PairedDifference(NamedTuple):
    """Difference between two systems (second minus first) with its interval, and the two-sided p value."""

    difference: Estimate
    p: float | None


def resample_statistics(
    samples: Sequence[Sample], *, resamples: int = DEFAULT_RESAMPLES, seed: int = 0
) -> list[Floats]:
    """Compute several statistics on the same bootstrap resamples (paired bootstrap).

    All samples have the same n examples in the same order. The result has one array of shape (resamples,) per sample,
    with NaN if a resample contains no example of a subset.
    """
    sums = resample_sums(np.concatenate([sample.columns for sample in samples], axis=1), resamples, seed)
    parts = np.split(sums, np.cumsum([sample.columns.shape[1] for sample in samples])[:-1], axis=1)
    return [STATISTICS[sample.statistic](part) for sample, part in zip(samples, parts, strict=True)]


def compute_paired_difference(
    first: Sample, second: Sample, *, resamples: int = DEFAULT_RESAMPLES, seed: int = 0
) -> PairedDifference:
    """Compute the difference of a statistic between two systems with the paired bootstrap.

    `compute_difference_from_draws` describes interval and p value.

    >>> right = Sample(RATIO, np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> difference, p = compute_paired_difference(right, right)
    >>> [round(number, 4) for number in difference], p  # 1.96 √2 / 5: wide, from three examples
    ([0.0, -0.5544, 0.5544, 3], 1.0)
    """
    drawn = resample_statistics([first, second], resamples=resamples, seed=seed)
    return compute_difference_from_draws(first, second, *drawn)


def compute_difference_from_draws(
    first: Sample, second: Sample, first_draws: Floats, second_draws: Floats
) -> PairedDifference:
    """Compute the difference of a statistic between two systems from the bootstrap values of `resample_statistics`.

    For proportions and differences of proportions, the limits are those of `intervals.compute_contrast_limits`. For all
    other statistics, they are those of the paired percentile bootstrap over source examples (Efron & Tibshirani 1993,
    section 13.3; Koehn 2004, https://aclanthology.org/W04-3250), for the skill score with the pseudo-rows of
    `skill.compute_skill_difference_limits`. If all draws are equal, there are no limits. With fewer than about thirty
    examples (such as the seeds of SICCK), the p value (`bootstrap.compute_bootstrap_p_value`) is too small.
    """
    gaps = second_draws - first_draws
    gaps = gaps[~np.isnan(gaps)]
    gap = compute_sample_value(second) - compute_sample_value(first)
    n = len(first.columns)
    if np.isnan(gap) or not len(gaps):
        return PairedDifference(Estimate(None, None, None, n), None)
    low, high = _limits(first, second, gaps)
    return PairedDifference(Estimate(gap, low, high, n), compute_bootstrap_p_value(gaps))


def _limits(first: Sample, second: Sample, gaps: Floats) -> tuple[float | None, float | None]:
    """Compute the limits of a difference: closed-form for proportions, otherwise from the draws."""
    if first.statistic in _SIGNS and second.statistic in _SIGNS:
        # The columns of these statistics alternate between numerators and denominators.
        numerators, denominators = (np.hstack([s.columns[:, k::2] for s in (first, second)]) for k in (0, 1))
        signs = np.concatenate([-np.array(_SIGNS[first.statistic]), _SIGNS[second.statistic]])
        return compute_contrast_limits(numerators, denominators, signs)
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(gaps, [tail, 100 - tail]).tolist()
    if first.statistic == second.statistic == skill.STATISTIC:
        return skill.compute_skill_difference_limits(first.columns, second.columns, (low, high))
    # Equal draws contain no information about the variance.
    return (None, None) if low == high else (low, high)


def compute_unpaired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Compute the difference of two independent estimates (second minus first) with its confidence interval.

    The interval combines the intervals of the two estimates (Newcombe 1998; Zou & Donner 2008, "Construction of
    confidence limits about effect measures", https://doi.org/10.1002/sim.3095). For estimates on the same examples, it
    is too wide.

    >>> gap = compute_unpaired_difference(Estimate(0.5, 0.47, 0.53, 100), Estimate(0.7, 0.66, 0.74, 80))
    >>> [round(bound, 12) for bound in gap[:3]], gap.n
    ([0.2, 0.15, 0.25], 80)
    """
    n = min(first.n, second.n)
    if first.value is None or second.value is None:
        return Estimate(None, None, None, n)
    gap = second.value - first.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Estimate(gap, None, None, n)
    below = np.hypot(second.value - second.low, first.high - first.value)
    above = np.hypot(second.high - second.value, first.value - first.low)
    return Estimate(gap, gap - float(below), gap + float(above), n)


def extract_binary_outcomes(first: Sample, second: Sample) -> tuple[Floats, Floats] | None:
    """Extract the 0/1 outcomes of two systems for McNemar's test. Return None if the test does not apply.

    The test applies to proportions over the same subset for both systems, if each example counts fully or not at all.
    The two arrays of zeros and ones have shape (k,) each, for the k examples of the subset.
    """
    if first.statistic != RATIO or second.statistic != RATIO:
        return None
    (one, below), (two, same) = first.columns.T, second.columns.T
    if not (np.array_equal(below, same) and all(np.isin(part, (0.0, 1.0)).all() for part in (one, two, below))):
        return None
    return one[below == 1], two[below == 1]


def mcnemar_test(first: ArrayLike, second: ArrayLike) -> float:
    """Compute the mid-p value of McNemar's test, which tests whether two systems have the same accuracy.

    McNemar (1947), https://doi.org/10.1007/BF02295996. Under the null hypothesis, the count of examples that only one
    system predicts correctly is binomial(d, 1/2) for d discordant examples. The two-sided mid-p value is twice the sum
    of the probability of a count below the smaller one, and half the probability of the smaller one itself, at most 1.
    The mid-p test has about the nominal size, while the exact test is conservative: Fagerland, Lydersen & Laake (2013),
    https://doi.org/10.1186/1471-2288-13-91.

    The values say whether each system is correct on each example, shape (n,). Examples must be independent: one per
    source, without permutations.

    >>> round(mcnemar_test([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1]), 12)  # 2 (1 + 6 / 2) / 64
    0.125
    """
    from scipy.special import bdtr  # slow to import

    one, two = (np.asarray(values) for values in (first, second))
    only_one = [int(((one == right) & (two != right)).sum()) for right in (0, 1)]
    k, d = min(only_one), sum(only_one)
    # Twice the chance of fewer than k, plus the chance of k. SciPy has no value for k - 1 = -1.
    return min(1.0, float(bdtr(k, d, 0.5) + (bdtr(k - 1, d, 0.5) if k else 0.0)))


def compare_binary_outcomes(first: Sample, second: Sample) -> PairedDifference | None:
    """Compare two proportions over the same examples by McNemar's test; None if the test does not apply.

    >>> first = Sample(RATIO, np.array([[1.0, 1], [1, 1], [1, 1], [0, 1]]))
    >>> second = Sample(RATIO, np.array([[0.0, 1], [0, 1], [1, 1], [0, 1]]))
    >>> compared = compare_binary_outcomes(first, second)
    >>> compared.difference.value, compared.p  # 2 (1/4) / 2
    (-0.5, 0.25)
    """
    outcomes = extract_binary_outcomes(first, second)
    if outcomes is None or not len(outcomes[0]):
        return None
    low, high = _limits(first, second, np.empty(0))
    gap = compute_sample_value(second) - compute_sample_value(first)
    return PairedDifference(Estimate(gap, low, high, len(first.columns)), mcnemar_test(*outcomes))


def correct_p_values(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p values for multiple testing by Holm's method.

    Holm (1979), "A simple sequentially rejective multiple test procedure" (https://www.jstor.org/stable/4615733). The
    smallest p value is multiplied by the number of tests m, the next one by m - 1, and so on. The probability of any
    false positive is then at most the significance level, for any dependence between the tests.

    >>> correct_p_values([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():  # negated, because comparisons with NaN are false
        raise ValueError(f"p_values: expected one value from 0 to 1 per test, got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


def compute_seed_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Compute the mean and the sample standard deviation of a score over seeds. The latter is None for a single seed.

    >>> compute_seed_spread([0.5, 0.75, 1.0])
    (0.75, 0.25)
    """
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def run_seed_test(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Test whether two systems differ by more than the variation between their seeds.

    This is Welch's t test (1947, https://doi.org/10.1093/biomet/34.1-2.28) on the scores by seed. If a system has a
    single seed, the variance of the other system is used for both (Student's t test; Crawford & Howell 1998). The
    examples are treated as fixed: the result generalizes to other seeds on this test set, not to other test sets.

    Returns the difference of the means, second minus first, and its two-sided p value. `n` counts the seeds of both
    systems. Interval and p value are None if there are too few seeds, or if the seeds of each system have equal scores.

    >>> run_seed_test([0.70, 0.72, 0.74], [0.80, 0.82, 0.84]).p < 0.01
    True
    """
    k, m = len(first), len(second)
    gap = float(np.mean(second)) - float(np.mean(first))
    variances = [float(np.var(values, ddof=1)) for values in (first, second) if len(values) > 1]
    if len(variances) == 2:
        parts = variances[0] / k, variances[1] / m
        square = sum(parts)
        weights = parts[0] ** 2 / (k - 1) + parts[1] ** 2 / (m - 1)
        degrees_of_freedom = square**2 / weights if weights else 1.0
    else:
        square, degrees_of_freedom = sum(variances) * (1 / k + 1 / m), float(k + m - 2)
    if square == 0:  # a single seed each, or equal scores of the seeds of each system
        return PairedDifference(Estimate(gap, None, None, k + m), None)
    from scipy.special import stdtr, stdtrit  # slow to import

    error = math.sqrt(square)
    reach = error * float(stdtrit(degrees_of_freedom, 1 - (1 - LEVEL) / 2))
    # The lower tail, because 1 minus the upper part has no digits left for a large t.
    p = float(2 * stdtr(degrees_of_freedom, -abs(gap / error)))
    return PairedDifference(Estimate(gap, gap - reach, gap + reach, k + m), p)
