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


def estimate_ratios(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    *,
    differences: Sequence[tuple[int, int]] = (),
    means: Collection[int] = (),
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Estimate several ratios sum(numerator) / sum(denominator) over the same examples, with confidence intervals.

    Proportions and their differences have closed-form limits that remain valid at 0 and 1 (`scoring.intervals`). Other
    means have limits from the percentile bootstrap (Efron & Tibshirani 1993, section 13.3): examples are drawn with
    replacement, and all means share the same resamples. Both methods keep the values of one example, such as its
    permutations, together.

    Args:
        numerators: One row per example, one column per ratio, shape (n, k).
        denominators: Same shape (n, k): 1 for a mean over all examples, 0 for an example outside a subset.
        differences: Pairs of columns, both proportions. Each pair adds an estimate of "first ratio minus second ratio".
        means: Columns that are not proportions: numerators may be below 0 or above their denominators.
        resamples: Number of resamples for the intervals of `means`; 0 disables all intervals.

    Returns:
        k estimates, then one per difference. `n` counts the examples with a positive denominator; for a difference, it
        is the smaller of the two counts. If a subset is empty in a resample, the resample is ignored for that subset.

    Raises:
        ValueError: If a numerator of a proportion is not between 0 and its denominator.

    >>> [estimate] = estimate_ratios(np.ones((4, 1)), np.ones((4, 1)))
    >>> estimate.value, round(estimate.low, 4), estimate.high, estimate.n  # low is .025 to the power of 1/4
    (1.0, 0.3976, 1.0, 4)
    """
    index(seed)  # raises TypeError for a seed that is not an integer, even if no resample is drawn
    k = numerators.shape[1]
    proportions = [column for column in range(k) if column not in means]
    numerators = _within(numerators, denominators, proportions)
    total = denominators.sum(axis=0)
    counts = (denominators > 0).sum(axis=0)
    # An empty subset gives 0 / 0 = NaN, which becomes None below.
    with np.errstate(invalid="ignore", divide="ignore"):
        values = _with_differences((numerators.sum(axis=0) / total)[None], differences)[0]
    counts = np.array([*counts, *(min(counts[first], counts[second]) for first, second in differences)])
    bounds: list[tuple[float, float] | None] = [None] * len(values)
    if resamples and len(numerators):
        for column, bound in _share_bounds(numerators, denominators, proportions).items():
            bounds[column] = bound
        for column, bound in _drawn_bounds(numerators, denominators, sorted(means), resamples, seed).items():
            bounds[column] = bound
        for place, (first, second) in enumerate(differences, start=k):
            if counts[place]:
                bounds[place] = _difference_bounds(numerators, denominators, first, second)
    samples = _samples(numerators, denominators, differences, means)
    estimates = []
    for value, limits, n, sample in zip(values, bounds, counts, samples, strict=True):
        low, high = (None, None) if limits is None else limits
        estimates.append(Estimate(float(value) if n else None, low, high, int(n)).copy_with_sample(sample))
    return estimates


def _within(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], proportions: Sequence[int]
) -> NDArray[np.float64]:
    """Clip numerators of proportions that exceed [0, denominator] because of rounding errors."""
    inside = np.clip(numerators, 0.0, denominators)
    outside = np.abs(inside - numerators) > _ROUNDING
    for column in proportions:
        if outside[:, column].any():
            row = int(outside[:, column].argmax())
            raise ValueError(
                f"numerators: expected values from 0 to the denominator in a column of proportions, got "
                f"{numerators[row, column]:g} with denominator {denominators[row, column]:g}; list the column in "
                "means if it does not contain proportions"
            )
    clipped = numerators.copy()
    clipped[:, proportions] = inside[:, proportions]
    return clipped


def _share_bounds(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], columns: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """Compute the confidence limits of proportions by column; columns without examples are omitted."""
    above, below = numerators[:, columns], denominators[:, columns]
    sizes = compute_effective_sizes(above, below)
    has_examples = sizes > 0
    shares = above.sum(axis=0)[has_examples] / below.sum(axis=0)[has_examples]
    limits = zip(*(ends.tolist() for ends in compute_proportion_limits(shares, sizes[has_examples])), strict=True)
    return dict(zip(np.asarray(columns)[has_examples].tolist(), limits, strict=True))


def _drawn_bounds(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    columns: Sequence[int],
    resamples: int,
    seed: int,
) -> dict[int, tuple[float, float]]:
    """Compute the bootstrap limits of means by column; columns without examples are omitted."""
    if not columns:
        return {}
    sums = resample_sums(np.concatenate([numerators[:, columns], denominators[:, columns]], axis=1), resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = sums[:, : len(columns)] / sums[:, len(columns) :]
    bounds = {}
    for column, column_draws in zip(columns, draws.T, strict=True):
        if not np.isnan(column_draws).all():  # NaN: the resample has no example of this subset
            low, high = np.nanpercentile(column_draws, [2.5, 97.5]).tolist()
            bounds[column] = (low, high)
    return bounds


def _difference_bounds(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], first: int, second: int
) -> tuple[float, float]:
    """Compute the limits of a difference between two proportions; both are 0 for a proportion minus itself."""
    # The pseudo-examples of the limits would give even this difference an interval.
    if first == second:
        return 0.0, 0.0
    columns = [first, second]
    return compute_contrast_limits(numerators[:, columns], denominators[:, columns], np.array([1.0, -1.0]))


def estimate_named_ratios(
    ratios: Mapping[_Name, tuple[Column, Column | float]],
    differences: Mapping[_Name, tuple[_Name, _Name]] | None = None,
    *,
    means: Collection[_Name] = (),
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[_Name, Estimate]:
    """Estimate several ratios as in `estimate_ratios`. Ratios are identified by name instead of column index.

    Args:
        ratios: Numerators and denominators of each ratio by name, shape (n,) each. A scalar denominator applies to all
            examples.
        differences: Pairs of ratio names. Each pair adds an estimate of "first ratio minus second ratio".
        means: Names of the ratios that are not proportions.

    >>> right = np.array([True, False, True, True])
    >>> ratios = {"all": (right, 1.0), "first": (right * [1, 1, 0, 0], np.array([1, 1, 0, 0]))}
    >>> estimates = estimate_named_ratios(ratios, {"drop": ("all", "first")})
    >>> {name: estimate.value for name, estimate in estimates.items()}
    {'all': 0.75, 'first': 0.5, 'drop': 0.25}
    """
    columns = {name: column for column, name in enumerate(ratios)}
    numerators = np.stack([np.asarray(above, dtype=np.float64) for above, _ in ratios.values()], axis=1)
    denominators = np.stack(
        [np.broadcast_to(below, len(numerators)).astype(np.float64) for _, below in ratios.values()], axis=1
    )
    differences = differences or {}
    pairs = [(columns[first], columns[second]) for first, second in differences.values()]
    estimates = estimate_ratios(
        numerators,
        denominators,
        differences=pairs,
        means=[columns[name] for name in means],
        resamples=resamples,
        seed=seed,
    )
    return dict(zip((*ratios, *differences), estimates, strict=True))


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
        source: Source index of each row, shape (n,). Rows with the same source are not independent (default: one source
            per row).
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
        above, below = (sum_by_source(each, source, int(source.max()) + 1) for each in (above, below))
    [estimate] = estimate_ratios(above[:, None], below[:, None], resamples=resamples)
    return estimate if n_rows is None else estimate.copy_with_sample(estimate.sample, n_rows)


def sum_by_source(values: ArrayLike, source: NDArray[np.int64], n_sources: int) -> NDArray[np.float64]:
    """Sum the values of all rows with the same source, shape (n_sources,).

    Values and source indices have shape (n,).

    >>> sum_by_source([True, True, False], np.array([0, 1, 1]), 2)
    array([1., 1.])
    """
    sums = np.bincount(source, weights=np.asarray(values, dtype=np.float64), minlength=n_sources)
    return sums.astype(np.float64)  # bincount returns integers if there are no rows


def estimate_proportion(
    hits: ArrayLike, rows: NDArray[np.bool_], source: NDArray[np.int64], n_sources: int
) -> Estimate:
    """Estimate the fraction of the selected rows for which `hits` is True, with a confidence interval.

    All arrays have shape (n,). The interval treats the rows of each source as a cluster. `n` counts rows.
    """
    above, below = (sum_by_source(each, source, n_sources) for each in (np.logical_and(hits, rows), rows))
    return estimate_named_ratios({"share": (above, below)})["share"].copy_with_sample(None, int(rows.sum()))


def compute_bootstrap_p_value(draws: NDArray[np.float64]) -> float:
    """Compute the two-sided bootstrap p value of the null hypothesis that a statistic is 0.

    The p value inverts the percentile interval. It is twice the smaller of two shares, the draws at or below 0 and the
    draws at or above 0, with 1 added to both counts (Davison & Hinkley 1997, section 4.2.3). It is at most 1.

    Args:
        draws: Value of the statistic in each resample, shape (resamples,).

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
        items = (to_json(item) for item in value)
        return list(items) if isinstance(value, list) else tuple(items)
    return value


def _with_differences(ratios: NDArray[np.float64], differences: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Append the differences between pairs of ratios, shape (draws, k + differences)."""
    return np.column_stack([ratios, *(ratios[:, first] - ratios[:, second] for first, second in differences)])


def _samples(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    differences: Sequence[tuple[int, int]],
    means: Collection[int],
) -> list[Sample]:
    ratios = [np.stack([numerators[:, k], denominators[:, k]], axis=1) for k in range(numerators.shape[1])]
    return [Sample(MEAN if k in means else RATIO, ratio) for k, ratio in enumerate(ratios)] + [
        Sample(DIFFERENCE, np.concatenate([ratios[first], ratios[second]], axis=1)) for first, second in differences
    ]


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
