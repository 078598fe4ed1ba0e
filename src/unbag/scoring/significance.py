"""Significance tests of two systems and of several seeds, corrected for the number of tests."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring import skill, verification
from unbag.scoring.bootstrap import DIFFERENCE, MEAN, RATIO, Estimate, Sample, resampled_sums, two_sided_p
from unbag.scoring.intervals import contrast_limits
from unbag.scoring.natural_logic import macro

DEFAULT_RESAMPLES: Final = 10_000
"""More than an interval needs: the smallest p value is 2 / (resamples + 1), and a correction multiplies it."""

Floats = NDArray[np.float64]


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = sums[:, 0] / sums[:, 1]
    return ratios


STATISTICS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    RATIO: _ratio,
    MEAN: _ratio,
    DIFFERENCE: lambda sums: _ratio(sums[:, :2]) - _ratio(sums[:, 2:]),
    skill.STATISTIC: skill.statistic,
    verification.BALANCED: verification.balanced,
    verification.AUROC: verification.auroc_of,
    **{f"macro_{name}": partial(macro, measure=name) for name in ("f1", "precision", "recall")},
}
"""How sums over examples, shape (r, m), become quantities, shape (r,), by the name in `Sample.statistic`."""


_SIGNS: Final[Mapping[str, tuple[float, ...]]] = {RATIO: (1.0,), DIFFERENCE: (1.0, -1.0)}
"""What is made of proportions alone: the sign of each, in the order of the columns."""


def value(sample: Sample) -> float:
    """Return a quantity on the examples as they are; NaN where there is none."""
    return float(STATISTICS[sample.statistic](sample.columns.sum(axis=0, keepdims=True))[0])


class Paired(NamedTuple):
    """A difference, second less first, with its interval; and the two-sided p value of there being none."""

    difference: Estimate
    p: float | None


def draws(samples: Sequence[Sample], *, resamples: int = DEFAULT_RESAMPLES, seed: int = 0) -> list[Floats]:
    """Return quantities in the same resamples of the same examples.

    Args:
        samples: of any number of quantities and systems, on the same n examples in the same order.
        resamples: how many times n examples are drawn with replacement.
        seed: decides the draws.

    Returns:
        An array of shape (resamples,) for each sample; NaN where a resample has none of a subset.

    Raises:
        ValueError: if the numbers of examples differ.
    """
    if len(lengths := {len(sample.columns) for sample in samples}) > 1:
        raise ValueError(f"expected the same examples for all, found {sorted(lengths)} of them")
    sums = resampled_sums(np.concatenate([sample.columns for sample in samples], axis=1), resamples, seed)
    parts = np.split(sums, np.cumsum([sample.columns.shape[1] for sample in samples])[:-1], axis=1)
    return [STATISTICS[sample.statistic](part) for sample, part in zip(samples, parts, strict=True)]


def paired_difference(
    first: Sample, second: Sample, *, resamples: int = DEFAULT_RESAMPLES, seed: int = 0, level: float = 0.95
) -> Paired:
    """Return the difference of a quantity between two systems, from the same resamples of the same examples.

    See `difference_of_draws`.

    >>> right = Sample(RATIO, np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> difference, p = paired_difference(right, right)
    >>> [round(number, 4) for number in difference], p  # 1.96 √2 / 5: three examples that agree show little
    ([0.0, -0.5544, 0.5544, 3], 1.0)
    """
    drawn = draws([first, second], resamples=resamples, seed=seed)
    return difference_of_draws(first, second, *drawn, level=level)


def difference_of_draws(first: Sample, second: Sample, of_first: Floats, of_second: Floats, *, level: float) -> Paired:
    """Return the difference of a quantity between two systems from what `draws` gave of both.

    Proportions, and differences of them, have the limits of `intervals.contrast_limits`. All else has those of the
    paired percentile bootstrap over source examples (Efron & Tibshirani 1993, section 13.3; Koehn 2004, "Statistical
    Significance Tests for Machine Translation Evaluation", https://aclanthology.org/W04-3250), the skill score
    with what `skill.interval` adds; where no draw differs from another these tell nothing, and there are no
    limits. The p value inverts the percentile interval (`bootstrap.two_sided_p`). With fewer than some thirty examples
    (the seeds of SICCK) it is too small.
    """
    gaps = of_second - of_first
    gaps = gaps[~np.isnan(gaps)]
    gap = value(second) - value(first)
    n = len(first.columns)
    if np.isnan(gap) or not len(gaps):
        return Paired(Estimate(None, None, None, n), None)
    low, high = _limits(first, second, gaps, level)
    return Paired(Estimate(gap, low, high, n), two_sided_p(gaps))


def _limits(first: Sample, second: Sample, gaps: Floats, level: float) -> tuple[float | None, float | None]:
    """Return the limits of a difference from the examples or, of what is made of more than proportions, the draws."""
    if first.statistic in _SIGNS and second.statistic in _SIGNS:
        numerators, denominators = (np.hstack([s.columns[:, k::2] for s in (first, second)]) for k in (0, 1))
        signs = np.concatenate([-np.array(_SIGNS[first.statistic]), _SIGNS[second.statistic]])
        return contrast_limits(numerators, denominators, signs, level=level)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(gaps, [tail, 100 - tail]).tolist()
    if first.statistic == second.statistic == skill.STATISTIC:
        return skill.difference_limits(first.columns, second.columns, (low, high), level=level)
    return (None, None) if low == high else (low, high)


def unpaired_difference(first: Estimate, second: Estimate) -> Estimate:
    """Return second less first with the interval of two independent estimates.

    From their own intervals (Newcombe 1998; Zou & Donner 2008, "Construction of confidence limits about effect
    measures", https://doi.org/10.1002/sim.3095): each limit is as far from the difference as the root of the summed
    squares of how far the two limits that make it are from their values. On the same examples it is too wide.

    >>> gap = unpaired_difference(Estimate(0.5, 0.47, 0.53, 100), Estimate(0.7, 0.66, 0.74, 80))
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


def outcomes(first: Sample, second: Sample) -> tuple[Floats, Floats] | None:
    """Return whether each example counts for either system, where it can only count whole or not at all; else None.

    That is what McNemar's test takes: of a share of examples, the same for both systems, of which each has no parts.

    Returns:
        Two arrays of zeros and ones, shape (k,), k being how many examples belong to the subset.
    """
    if first.statistic != RATIO or second.statistic != RATIO:
        return None
    (one, below), (two, same) = first.columns.T, second.columns.T
    if not (np.array_equal(below, same) and all(np.isin(part, (0.0, 1.0)).all() for part in (one, two, below))):
        return None
    return one[below == 1], two[below == 1]


class McNemar(NamedTuple):
    """How many examples only one of two systems gets right, and the p value of the two being equally good."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Test whether two systems are right equally often, by the examples on which they differ.

    McNemar (1947), https://doi.org/10.1007/BF02295996. Where only one of the two is right, which one is a fair coin if
    they are equally good: the smaller count is binomial(d, 1/2) of the d discordant examples. The two-sided mid-p value
    is twice the probability of fewer, and that of as many counted half; at most 1.

    The binomial distribution itself, however many examples: no chi-squared approximation that fails where d is small.
    Mid-p and not the full tail, since the latter is needlessly conservative (its true size is often below half the
    nominal one) while mid-p keeps the nominal size in practice: Fagerland, Lydersen & Laake (2013), "The McNemar test
    for binary matched-pairs data: mid-p and asymptotic are better than exact conditional",
    https://doi.org/10.1186/1471-2288-13-91.

    Args:
        first: whether the one is right, shape (n,). The examples must be independent: one a source, no permutations.
        second: whether the other is, on the same examples.

    Raises:
        ValueError: if the lengths differ, or a value is neither 0 nor 1.

    >>> only_first, only_second, p = mcnemar([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1])
    >>> only_first, only_second, round(p, 12)  # 2 (1 + 6 / 2) / 64
    (5, 1, 0.125)
    """
    one, two = (np.asarray(values) for values in (first, second))
    if one.shape != two.shape or one.ndim != 1:
        raise ValueError(
            f"expected one value an example of either system, found the shapes {one.shape} and {two.shape}"
        )
    if not (np.isin(one, (0, 1)).all() and np.isin(two, (0, 1)).all()):
        raise ValueError("expected right (1) or wrong (0) for every example, found other values")
    only_first, only_second = int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum())
    return McNemar(only_first, only_second, _mid_p(min(only_first, only_second), only_first + only_second))


def _mid_p(fewer: int, d: int) -> float:
    """Return twice P(X < fewer) + P(X = fewer) / 2 of X from binomial(d, 1/2), at most 1."""
    k = np.arange(fewer + 1)
    # By logarithms: the coefficients of some thousand discordant examples are beyond a float.
    logs = np.array([math.lgamma(d + 1) - math.lgamma(i + 1) - math.lgamma(d - i + 1) for i in k]) - d * math.log(2)
    chances = np.exp(logs)
    return float(min(1.0, 2 * (chances[:-1].sum() + chances[-1] / 2)))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p values corrected for all tests made together.

    Holm (1979), "A simple sequentially rejective multiple test procedure": the smallest p value is multiplied by the
    number of tests m, the next by m - 1, …; none is less than one before it, or more than 1. Whatever the tests have to
    do with each other, the chance of any false alarm is then at most the level. Never less powerful than Bonferroni's.

    Args:
        p_values: of the m tests, shape (m,).

    Returns:
        The corrected p values in the same order, shape (m,).

    Raises:
        ValueError: if a p value is not from 0 to 1.

    >>> holm([0.01, 0.04, 0.03, 0.005]).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():  # NaN is neither
        raise ValueError(f"expected p values from 0 to 1, one a test, found {p.tolist()}")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


class Spread(NamedTuple):
    """Mean and sample standard deviation over seeds (None of one), and how many seeds."""

    mean: float
    standard_deviation: float | None
    seeds: int


def spread(values: Sequence[float]) -> Spread:
    """Summarise one number of a system over its seeds.

    >>> spread([0.5, 0.75, 1.0])
    Spread(mean=0.75, standard_deviation=0.25, seeds=3)
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Spread(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return Spread(mean, math.sqrt(variance), len(values))


class SeedTest(NamedTuple):
    """A difference of means, second less first, with its 95 % interval (n: seeds in all), and its p value."""

    difference: Estimate
    p: float | None


def seed_test(first: Sequence[float], second: Sequence[float], *, level: float = 0.95) -> SeedTest:
    """Test whether two systems differ by more than their seeds do.

    Welch's t test (1947, https://doi.org/10.1093/biomet/34.1-2.28) of the scores by seed, which grants each system a
    variance of its own. Of a system with one seed nothing is known of its variance: then the other's is taken for both
    (Student's t test; Crawford & Howell 1998), and with one seed each there is no test. The examples are taken as
    given: it speaks of other seeds on this test set, not of other test sets.

    Args:
        first: the score of each of the one's seeds.
        second: that of each of the other's.
        level: of the interval.

    Returns:
        The difference and its two-sided p value; neither interval nor p where the seeds are too few or do not vary.

    >>> seed_test([0.70, 0.72, 0.74], [0.80, 0.82, 0.84]).p < 0.01
    True
    """
    (one, var_one, k), (two, var_two, m) = (
        (float(np.mean(values)), float(np.var(values, ddof=1)) if len(values) > 1 else None, len(values))
        for values in (first, second)
    )
    gap, n = two - one, k + m
    if var_one is None and var_two is None:
        return SeedTest(Estimate(gap, None, None, n), None)
    if var_one is None or var_two is None:
        shared = var_one if var_two is None else var_two
        assert shared is not None
        square, freedom = shared * (1 / k + 1 / m), float(k + m - 2)
    else:
        parts = var_one / k, var_two / m
        square = sum(parts)
        weights = parts[0] ** 2 / (k - 1) + parts[1] ** 2 / (m - 1)
        freedom = square**2 / weights if weights else 1.0
    if square == 0:  # the same number by every seed
        return SeedTest(Estimate(gap, None, None, n), None)
    error = math.sqrt(square)
    reach = error * t_quantile(1 - (1 - level) / 2, freedom)
    return SeedTest(Estimate(gap, gap - reach, gap + reach, n), t_two_sided(gap / error, freedom))


def t_two_sided(t: float, freedom: float) -> float:
    """Return the chance that Student's t is as far from 0, at some degrees of freedom (1 or more).

    With t = √ν tan θ its density is a power of the cosine, cos θ to the ν - 1, which Gauss and Legendre integrate.

    >>> round(t_two_sided(12.706204736, 1), 9)
    0.05
    """
    end = math.atan(abs(t) / math.sqrt(freedom))
    nodes, weights = _nodes()
    inside = end / 2 * float(weights @ np.cos(end / 2 * (nodes + 1)) ** (freedom - 1))
    half = math.sqrt(math.pi) / 2 * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    return min(1.0, max(0.0, 1 - inside / half))


@cache
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(100)
    return nodes, weights


def t_quantile(share: float, freedom: float) -> float:
    """Return what Student's t stays below with a probability above one half, to 1e-10 of its value."""
    low, high = 0.0, 1.0
    while t_two_sided(high, freedom) > 2 * (1 - share):
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_two_sided(middle, freedom) > 2 * (1 - share) else (low, middle)
    return high
