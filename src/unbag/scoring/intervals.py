"""Confidence limits of proportions and their differences that remain valid at 0 and 1.

A bootstrap cannot draw outcomes that the sample does not contain. If all of twelve predictions are correct, every
resample has accuracy 1 and the interval is [1, 1]. Yet a model with an accuracy of 75 % predicts twelve of twelve
examples correctly with probability 3 %. Proportions therefore have closed-form limits:

- For independent rows, the exact limits of Clopper & Pearson (1934), https://doi.org/10.2307/2331986.
- For rows that share sources and for fractional examples, the same limits at the effective sample size, which follows
  from the design effect of the sources (Korn & Graubard 1998, "Confidence intervals for proportions with small expected
  number of positive counts estimated from survey data", Survey Methodology 24, 193-201).
- For differences, Wald limits with two pseudo-examples, one for each side (Bonett & Price 2012, "Adjusted Wald
  confidence interval for a difference of binomial proportions based on paired data",
  https://doi.org/10.3102/1076998611411915). Each pseudo-example has the weight of an effective example.

`benchmarks/interval_coverage.py` simulates the coverage of each interval.
"""

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

_NORMAL: Final = 1.959963984540054  # 97.5 % quantile of the normal distribution


def compute_widening_factor(n: int) -> float:
    """Compute the factor by which a 95 % bootstrap interval over n examples is too narrow.

    The factor approaches 1 as n grows. The bootstrap variance lacks the factor n / (n - 1). In addition, the bootstrap
    treats this variance as exact; Student's t treats it as estimated with n - 1 degrees of freedom (Efron & Tibshirani
    1993, sections 5.3 and 12.2; Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 5.3). The t
    quantile is Hill's expansion (Abramowitz & Stegun 1964, 26.7.5), accurate to 0.01 from five examples.

    >>> [round(compute_widening_factor(n), 3) for n in (5, 15, 1000)]
    [1.583, 1.133, 1.002]
    """
    if n < 2:
        raise ValueError(f"widening: expected n of at least 2, got {n}")
    z, v = _NORMAL, n - 1
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    t: float = z + sum(term / v**power for power, term in enumerate(terms, start=1))
    return float(math.sqrt(n / (n - 1)) * t / z)


LEVEL: Final = 0.95
"""Confidence level of all intervals."""

_SMALLEST: Final = 1e-9  # standard deviations of shares below this value are rounding errors
_LARGE: Final = 1e5  # above this size, Wilson limits with a continuity correction of half an example are exact to 2e-5

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def compute_effective_sizes(numerators: Floats, denominators: Floats) -> Floats:
    """Compute the effective sample size (number of independent rows) of proportions sum(numerator) / sum(denominator).

    There are three cases:

    - All examples have the same weight, and each counts fully or not at all: the number of examples.
    - Otherwise: p (1 - p), divided by the variance of p between examples (ratio linearization: Cochran 1977, "Sampling
      Techniques", section 6.3) and by the squared `compute_widening_factor`. If numerators count rows, the result is at
      most the number of rows.
    - No variance between examples, for example if all are correct: one row per example, because the data cannot show
      whether rows from one source are correlated. With unequal weights this is Kish's (sum D)² / sum D².

    Numerators, from 0 to their denominators, and denominators have shape (n, k): one row per example. The result has
    shape (k,), with 0 for a proportion without examples.

    >>> one_row_each = np.array([[1.0], [0.0], [1.0]])
    >>> compute_effective_sizes(one_row_each, np.ones((3, 1))).tolist()
    [3.0]
    >>> compute_effective_sizes(10 * np.ones((3, 1)), 10 * np.ones((3, 1))).tolist()  # three sources, all rows correct
    [3.0]
    """
    total = denominators.sum(axis=0)
    examples = (denominators > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = numerators.sum(axis=0) / total
        variances = ((numerators - shares * denominators) ** 2).sum(axis=0) / total**2
        kish = total**2 / (denominators**2).sum(axis=0)
        student = np.array([compute_widening_factor(n) if n > 1 else 1.0 for n in examples.tolist()])
        by_variance = shares * (1 - shares) / variances / student**2
    # Integer numerators count rows, and independent rows cannot outnumber the rows.
    counts_rows = np.isclose(numerators, np.round(numerators), rtol=0, atol=_SMALLEST).all(axis=0)
    by_variance = np.where(counts_rows, np.minimum(by_variance, total), by_variance)
    alike = np.sqrt(variances * examples) < _SMALLEST
    binary = _are_binary(numerators, denominators)
    sizes: Floats = np.where(binary, examples, np.where(alike, kish, by_variance))
    return np.where(total > 0, sizes, 0.0)


def compute_proportion_limits(
    proportions: Floats, sample_sizes: Floats, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Compute Clopper-Pearson confidence limits of proportions. Sample sizes may be fractional.

    `level` is the minimum coverage of the interval for independent rows. All arrays have shape (k,).

    >>> low, high = compute_proportion_limits(np.array([1.0, 0.5]), np.array([12.0, 12.0]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.7354, 0.2109], [1.0, 0.7891])
    """
    tail = (1 - level) / 2
    return _lower_limits(proportions, sample_sizes, tail), 1 - _lower_limits(1 - proportions, sample_sizes, tail)


def compute_contrast_limits(numerators: Floats, denominators: Floats, signs: Floats) -> tuple[float, float]:
    """Compute confidence limits of a sum or difference of proportions over the same examples.

    As in Bonett & Price (2012), two pseudo-examples are added. The first one supports the difference as strongly as
    possible: proportions with sign + are 1, and those with sign - are 0. The second one is the opposite. In each
    proportion, a pseudo-example has the weight of one effective row. For two systems whose examples count fully or not
    at all, the result is the interval of Bonett & Price.

    Args:
        numerators: One row per example, one column per proportion, shape (n, k).
        denominators: Same shape (n, k); each column has a sum above 0.
        signs: 1 or -1 for each proportion, shape (k,).

    >>> agree = np.array([[1.0, 1.0]] * 9 + [[0.0, 0.0]] * 3)  # two systems, correct on the same nine of twelve
    >>> low, high = compute_contrast_limits(agree, np.ones((12, 2)), np.array([-1.0, 1.0]))
    >>> round(low, 4), round(high, 4)  # 1.96 √2 / 14
    (-0.198, 0.198)
    """
    total = denominators.sum(axis=0)
    weights = total / compute_effective_sizes(numerators, denominators)
    total = total + 2 * weights
    shares = (numerators.sum(axis=0) + weights) / total
    example_terms = ((numerators - shares * denominators) / total * signs).sum(axis=1)
    pseudo_terms = [float(((side - shares) * weights / total * signs).sum()) for side in (signs > 0, signs < 0)]
    # fsum is exact, so that the limits do not depend on the order of the examples.
    variance = math.fsum([*(example_terms**2).tolist(), *(term**2 for term in pseudo_terms)])
    reach = math.sqrt(variance) * NormalDist().inv_cdf((1 + LEVEL) / 2)
    if not _are_binary(numerators, denominators).all():
        reach *= compute_widening_factor(max(2, int((denominators > 0).sum(axis=0).min())))
    centre = float(shares @ signs)
    return max(centre - reach, -float((signs < 0).sum())), min(centre + reach, float((signs > 0).sum()))


def _are_binary(numerators: Floats, denominators: Floats) -> NDArray[np.bool_]:
    """Check for each proportion whether all examples count fully or not at all, with equal weights, shape (k,)."""
    weight = denominators.max(axis=0, initial=0.0)
    either = ((numerators == 0) | (numerators == weight)) & ((denominators == 0) | (denominators == weight))
    binary: NDArray[np.bool_] = either.all(axis=0)
    return binary


def _lower_limits(shares: Floats, sizes: Floats, tail: float) -> Floats:
    """Compute the share at which an outcome at least as high as observed has probability `tail`, shape (k,)."""
    successes = shares * sizes
    failures = sizes - successes
    limits = np.maximum(_wilson(shares - 1 / (2 * sizes), sizes, tail), 0.0)
    exact = (sizes < _LARGE) & (successes > 0)
    if exact.any():
        from scipy.special import betaincinv  # harnesses compute no intervals and need only numpy

        limits[exact] = betaincinv(successes[exact], failures[exact] + 1, tail)
    return np.where(successes > 0, limits, 0.0)


def _wilson(shares: Floats, sizes: Floats, tail: float) -> Floats:
    """Compute the lower limits of Wilson's score interval."""
    z = NormalDist().inv_cdf(1 - tail)
    shares = np.maximum(shares, 0.0)
    reach = z * np.sqrt(shares * (1 - shares) / sizes + z**2 / (4 * sizes**2))
    limits: Floats = (shares + z**2 / (2 * sizes) - reach) / (1 + z**2 / sizes)
    return limits
