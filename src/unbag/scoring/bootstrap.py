"""Bootstrap intervals of shares, means and ratios, by resampling examples."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DEFAULT_RESAMPLES = 1000
_BLOCK_CELLS = 4_000_000  # resampling weights held at a time: 16 MB


class Estimate(NamedTuple):
    """A number, its 95 % interval, and how many examples it rests on. None where there is no example."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def ratio_estimates(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Estimate sum(numerator) / sum(denominator) over examples, for several quantities at once.

    The percentile bootstrap (Efron & Tibshirani 1993, section 13.3): examples are drawn with replacement, all
    quantities from the same draws, so that what belongs to one example (its permutations) stays together.

    Args:
        numerators: one row an example, one column a quantity, shape (n, k).
        denominators: likewise; 1 for a mean over all examples, 0 where an example does not belong to a subset.
        resamples: how many draws; 0 for no intervals.
        seed: decides the draws.

    Returns:
        k estimates. `n` counts the examples with a positive denominator. A resample in which a subset is empty does not
        count for that subset.

    >>> [estimate] = ratio_estimates(np.ones((4, 1)), np.ones((4, 1)))
    >>> estimate
    Estimate(value=1.0, low=1.0, high=1.0, n=4)
    """
    total = denominators.sum(axis=0)
    counts = (denominators > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = numerators.sum(axis=0) / total
    if resamples and len(numerators):
        ratios = _resampled(numerators, denominators, resamples, np.random.default_rng(seed))
        bounds = [np.nanpercentile(r, [2.5, 97.5]) if t > 0 else None for r, t in zip(ratios.T, total, strict=True)]
    else:
        bounds = [None] * len(values)
    return [
        Estimate(
            value=float(value) if n else None,
            low=None if bound is None else float(bound[0]),
            high=None if bound is None else float(bound[1]),
            n=int(n),
        )
        for value, bound, n in zip(values, bounds, counts, strict=True)
    ]


def _resampled(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the ratios in each resample, shape (resamples, k)."""
    n, k = numerators.shape
    both = np.concatenate([numerators, denominators], axis=1)
    sums = np.empty((resamples, 2 * k))
    block = max(1, _BLOCK_CELLS // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n, size=(rows, n), dtype=np.int64)
        drawn += np.arange(rows)[:, None] * n
        weights = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)  # how often each example was drawn
        sums[start : start + rows] = weights.astype(np.float64) @ both
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: NDArray[np.float64] = sums[:, :k] / sums[:, k:]
    return ratios
