"""Systems that were trained several times, with other seeds: their mean, their spread, and a test of two."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.bootstrap import Estimate


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
