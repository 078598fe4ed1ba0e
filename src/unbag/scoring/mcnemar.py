"""McNemar's test: whether two systems are right equally often on the same examples."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


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
