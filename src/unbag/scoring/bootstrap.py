"""Estimates with 95 % intervals: closed-form for proportions and their differences, bootstrap for other means."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from operator import index
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

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

_ROUNDING: Final = 1e-9  # tolerance: a sum of fractions may exceed its denominator by rounding


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


Column: TypeAlias = NDArray[np.bool_ | np.int64 | np.float64]
"""Values to sum over examples, one per example, shape (n,)."""

_Name = TypeVar("_Name", bound=Hashable)


def estimate_named_ratios(
    ratios: Mapping[_Name, tuple[Column, Column | float]],
    differences: Mapping[_Name, tuple[_Name, _Name]] | None = None,
    *,
    means: Collection[_Name] = (),
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[_Name, Estimate]:
    """Estimate several ratios sum(numerator) / sum(denominator) over the same examples, with confidence intervals.

    Proportions and their differences have closed-form limits that remain valid at 0 and 1 (`scoring.intervals`). Other
    means have limits from the percentile bootstrap (Efron & Tibshirani 1993, section 13.3): examples are drawn with
    replacement, and all means share the same resamples.

    Args:
        ratios: Numerators and denominators of each ratio by name, shape (n,) each. The denominator is 1 for a mean over
            all examples, also as a scalar, and 0 for an example outside a subset.
        differences: Pairs of names of proportions. Each pair adds an estimate of "first ratio minus second ratio".
        means: Names of the ratios that are not proportions: numerators may be below 0 or above their denominators.
        resamples: Number of resamples for the intervals of `means`; 0 disables all intervals.

    Returns:
        Estimates by name. `n` counts the examples with a positive denominator; for a difference, it is the smaller
        count.

    >>> right = np.array([True, False, True, True])
    >>> ratios = {"all": (right, 1.0), "first": (right * [1, 1, 0, 0], np.array([1, 1, 0, 0]))}
    >>> estimates = estimate_named_ratios(ratios, {"drop": ("all", "first")})
    >>> {name: estimate.value for name, estimate in estimates.items()}
    {'all': 0.75, 'first': 0.5, 'drop': 0.25}
    """
    index(seed)  # raises TypeError for a seed that is not an integer, even if no resample is drawn
    above = np.stack([np.asarray(each, dtype=np.float64) for each, _ in ratios.values()], axis=1)
    below = np.stack([np.broadcast_to(each, len(above)).astype(np.float64) for _, each in ratios.values()], axis=1)
    columns = {name: column for column, name in enumerate(ratios)}
    mean_columns = sorted(columns[name] for name in means)
    proportions = [column for column in columns.values() if column not in mean_columns]
    above = _clip_proportions(above, below, proportions)
    counts = (below > 0).sum(axis=0).tolist()
    # An empty subset gives 0 / 0 = NaN, which becomes None below.
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (above.sum(axis=0) / below.sum(axis=0)).tolist()
    limits: dict[int, tuple[float, float]] = {}
    if resamples and len(above):
        hits, sizes = above[:, proportions], below[:, proportions]
        effective = compute_effective_sizes(hits, sizes)
        is_given = effective > 0
        shares = hits.sum(axis=0)[is_given] / sizes.sum(axis=0)[is_given]
        ends = (end.tolist() for end in compute_proportion_limits(shares, effective[is_given]))
        limits |= dict(zip(np.array(proportions)[is_given].tolist(), zip(*ends, strict=True), strict=True))
        if mean_columns:
            sums = resample_sums(np.hstack([above[:, mean_columns], below[:, mean_columns]]), resamples, seed)
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn = sums[:, : len(mean_columns)] / sums[:, len(mean_columns) :]
            for column, draws in zip(mean_columns, drawn.T, strict=True):
                if not np.isnan(draws).all():  # NaN: the resample has no example of this subset
                    low, high = np.nanpercentile(draws, [2.5, 97.5]).tolist()
                    limits[column] = low, high
    samples = [
        Sample(MEAN if column in mean_columns else RATIO, np.stack([above[:, column], below[:, column]], axis=1))
        for column in columns.values()
    ]
    for number, (one, two) in enumerate((differences or {}).values(), start=len(ratios)):
        first, second = pair = [columns[one], columns[two]]
        values.append(values[first] - values[second])
        counts.append(min(counts[first], counts[second]))
        samples.append(Sample(DIFFERENCE, np.hstack([samples[first].columns, samples[second].columns])))
        if resamples and counts[number]:
            # The pseudo-examples of the limits would give even a proportion minus itself an interval.
            limits[number] = (
                (0.0, 0.0)
                if first == second
                else compute_contrast_limits(above[:, pair], below[:, pair], np.array([1.0, -1.0]))
            )
    estimates = []
    for number, (value, n, sample) in enumerate(zip(values, counts, samples, strict=True)):
        interval = limits.get(number, (None, None))
        estimates.append(Estimate(value if n else None, interval[0], interval[1], n).copy_with_sample(sample))
    return dict(zip((*ratios, *(differences or {})), estimates, strict=True))


def _clip_proportions(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], proportions: Sequence[int]
) -> NDArray[np.float64]:
    """Clip numerators of proportions that exceed [0, denominator] because of rounding errors."""
    clipped = numerators.copy()
    for column in proportions:
        above, below = numerators[:, column], denominators[:, column]
        clipped[:, column] = np.clip(above, 0.0, below)
        if (outside := np.abs(clipped[:, column] - above) > _ROUNDING).any():
            row = int(outside.argmax())
            raise ValueError(
                f"numerators: expected values from 0 to the denominator in a column of proportions, got "
                f"{above[row]:g} with denominator {below[row]:g}; list the column in means if it does not contain "
                "proportions"
            )
    return clipped


def estimate_ratio(
    values: ArrayLike,
    weights: ArrayLike,
    source: NDArray[np.int64] | None = None,
    *,
    is_count_of_rows: bool = False,
    resamples: int = DEFAULT_RESAMPLES,
) -> Estimate:
    """Estimate the weighted mean of values in [0, 1], with a confidence interval.

    Args:
        values: Values of the rows, e.g. whether each prediction is correct, shape (n,).
        weights: Weights of the rows, e.g. whether each row is in a subset, shape (n,).
        source: Source index of each row, shape (n,) (default: one source per row).
        is_count_of_rows: Whether `n` counts the rows in the subset and not their sources.
        resamples: 0 disables the interval, which has a closed form.

    >>> right, inside = np.array([True, False, True, True]), np.array([True, True, False, True])
    >>> estimate_ratio(right, inside, np.array([0, 0, 1, 1])).value
    0.6666666666666666
    """
    below = np.asarray(weights, dtype=np.float64)
    above = np.asarray(values, dtype=np.float64) * below
    n_rows = int(below.sum()) if is_count_of_rows else None
    if source is not None:
        above, below = (sum_by_source(each, source) for each in (above, below))
    [estimate] = estimate_named_ratios({"ratio": (above, below)}, resamples=resamples).values()
    return estimate.copy_with_sample(estimate.sample, n_rows)


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
