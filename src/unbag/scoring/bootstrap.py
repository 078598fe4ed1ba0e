"""Estimates with 95 % intervals: closed-form for proportions and their differences, bootstrap for other means."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.intervals import compute_contrast_limits, compute_effective_sizes, compute_proportion_limits

DEFAULT_RESAMPLES = 1000
_BLOCK_CELLS = 4_000_000  # resampling weights in memory at a time: 32 MB of int64

RATIO: Final = "ratio"
"""Name of the statistic of a proportion: a ratio of sums, with each numerator between 0 and its denominator."""
MEAN: Final = "mean"
"""Name of the statistic of a ratio of sums that is not a proportion."""
DIFFERENCE: Final = "difference"
"""Name of the statistic of a difference between two proportions."""

_ROUNDING: Final = 1e-9  # tolerance: a sum of fractions may exceed its limits by rounding


class Sample(NamedTuple):
    """Per-example values, from which a statistic can be recomputed on bootstrap resamples."""

    # Name of the function that computes the statistic from sums over examples, a key of
    # `scoring.significance.STATISTICS`.
    statistic: str
    columns: NDArray[np.float64]  # values to sum, one row per example, shape (n, m)


class _Interval(NamedTuple):
    value: float | None
    low: float | None
    high: float | None
    n: int


class Estimate(_Interval):
    """A value, its 95 % confidence interval and its number of examples. Value and limits are None if n is 0."""

    sample: Sample | None = None  # per-example values, in memory only: not part of the stored results

    def copy_with_sample(self, sample: Sample | None, n: int | None = None) -> "Estimate":
        """Copy the estimate with a new `sample` and, optionally, a new `n`."""
        estimate = Estimate(self.value, self.low, self.high, self.n if n is None else n)
        estimate.sample = sample
        return estimate


def estimate_ratio(
    values: ArrayLike,
    weights: ArrayLike = 1.0,
    source: NDArray[np.int64] | None = None,
    *,
    is_mean: bool = False,
    is_count_of_rows: bool = False,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Estimate the weighted mean of values, with a confidence interval.

    Values from 0 to 1 have closed-form limits that remain valid at 0 and 1 (`scoring.intervals`). Any other mean has
    limits from the percentile bootstrap over sources (Efron & Tibshirani 1993, section 13.3). Two means over the same
    number of sources share their resamples.

    Args:
        values: Values of the rows, e.g. whether each prediction is correct, shape (n,).
        weights: Weights of the rows, e.g. whether each row is in a subset, shape (n,) or a scalar.
        source: Source index of each row, shape (n,) (default: one source per row).
        is_mean: Whether values may be below 0 or above 1.
        is_count_of_rows: Whether `n` counts the rows in the subset and not their sources.
        resamples: Number of resamples of a mean; 0 disables all intervals.

    >>> right, inside = np.array([True, False, True, True]), np.array([True, True, False, True])
    >>> estimate_ratio(right, inside, np.array([0, 0, 1, 1])).value
    0.6666666666666666
    """
    above = np.asarray(values, dtype=np.float64)
    below = np.broadcast_to(np.asarray(weights, dtype=np.float64), above.shape)
    above, n_rows = above * below, int(below.sum())
    if source is not None:
        above, below = (sum_by_source(each, source) for each in (above, below))
    if not is_mean:
        clipped = np.clip(above, 0.0, below)
        if not np.allclose(clipped, above, rtol=0.0, atol=_ROUNDING):
            row = int(np.abs(clipped - above).argmax())
            raise ValueError(
                f"values: expected values from 0 to 1, got {above[row]:g} with weight {below[row]:g} in row {row}; "
                "pass is_mean=True for the mean of other values"
            )
        above = clipped
    columns = np.stack([above, below], axis=1)
    n = int((below > 0).sum())
    value = low = high = None
    if n:
        value = float(above.sum() / below.sum())
    if n and resamples and is_mean:
        drawn, sizes = resample_sums(columns, resamples, seed).T
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = drawn / sizes  # NaN: the resample has no example of this subset
        if not np.isnan(draws).all():
            low, high = np.nanpercentile(draws, [2.5, 97.5]).tolist()
    elif n and resamples:
        sizes = compute_effective_sizes(columns[:, :1], columns[:, 1:])
        low, high = (float(end[0]) for end in compute_proportion_limits(np.array([value]), sizes))
    estimate = Estimate(value, low, high, n_rows if is_count_of_rows else n)
    return estimate.copy_with_sample(Sample(MEAN if is_mean else RATIO, columns))


def estimate_difference(first: Estimate, second: Estimate) -> Estimate:
    """Estimate the difference of two proportions over the same examples (first minus second), with its interval.

    `n` is the smaller number of examples. There is no interval if the proportions have none.

    >>> right = np.array([True, False, True, True])
    >>> estimate_difference(estimate_ratio(right), estimate_ratio(right, [1, 1, 0, 0])).value
    0.25
    """
    assert first.sample is not None
    assert second.sample is not None
    columns = np.hstack([first.sample.columns, second.sample.columns])
    value = low = high = None
    if first.value is not None and second.value is not None:
        value = first.value - second.value
        if first is second and first.low is not None:
            low = high = 0.0  # the pseudo-examples of the limits would give even this difference an interval
        elif first.low is not None:
            low, high = compute_contrast_limits(columns[:, ::2], columns[:, 1::2], np.array([1.0, -1.0]))
    return Estimate(value, low, high, min(first.n, second.n)).copy_with_sample(Sample(DIFFERENCE, columns))


def sum_by_source(values: ArrayLike, source: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum the values of all rows with the same source index, shape (sources,).

    >>> sum_by_source([True, True, False], np.array([0, 1, 1]))
    array([1., 1.])
    """
    sums = np.bincount(source, weights=np.asarray(values, dtype=np.float64))
    return sums.astype(np.float64)  # bincount returns integers if there are no rows


def estimate_proportion(hits: ArrayLike, rows: NDArray[np.bool_], source: NDArray[np.int64]) -> Estimate:
    """Estimate the fraction of the selected rows for which `hits` is True, without a sample for paired tests.

    All arrays have shape (n,). The interval treats the rows of each source as a cluster. `n` counts rows.
    """
    return estimate_ratio(hits, rows, source, is_count_of_rows=True).copy_with_sample(None)


def compute_bootstrap_p_value(draws: NDArray[np.float64]) -> float:
    """Compute the two-sided p value of the null hypothesis that a statistic is 0, from its value in each resample.

    The p value inverts the percentile interval. It is twice the smaller of two shares, the draws at or below 0 and the
    draws at or above 0, with 1 added to both counts (Davison & Hinkley 1997, section 4.2.3).

    >>> compute_bootstrap_p_value(np.array([0.1, 0.2, 0.3]))
    0.5
    """
    side = min((draws <= 0).sum(), (draws >= 0).sum())
    return min(1.0, 2 * (int(side) + 1) / (len(draws) + 1))


def to_json(value: Any) -> Any:
    """Convert scores to JSON values. Each `Estimate` in nested dicts, lists and tuples becomes a dict.

    >>> to_json({"accuracy": Estimate(0.5, 0.4, 0.6, 100), "curve": [(0.0, 1.0)]})
    {'accuracy': {'value': 0.5, 'low': 0.4, 'high': 0.6, 'n': 100}, 'curve': [(0.0, 1.0)]}
    """
    if isinstance(value, Estimate):
        return value._asdict()
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        items = map(to_json, value)
        return list(items) if isinstance(value, list) else tuple(items)
    return value


def resample_sums(columns: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Compute the column sums of each bootstrap resample (examples drawn with replacement), shape (resamples, m).

    The columns have one row per example, shape (n, m). The draws depend only on n and the seed. Two calls with the same
    n and seed use the same draws.
    """
    n, m = columns.shape
    rng = np.random.default_rng(seed)
    sums = np.empty((resamples, m))
    block = max(1, _BLOCK_CELLS // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n, size=(rows, n), dtype=np.int64)
        # The offsets allow a single bincount for all resamples of the block.
        drawn += np.arange(rows)[:, None] * n
        # Counting how often each example is drawn turns the resample into one matrix product.
        weights = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        sums[start : start + rows] = weights.astype(np.float64) @ columns
    return sums
