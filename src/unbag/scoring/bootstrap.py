"""Estimates with their intervals: of proportions and differences in closed form, of all else by resampling examples."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from operator import index
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.intervals import contrast_limits, effective_sizes, share_limits

DEFAULT_RESAMPLES = 1000
_BLOCK_CELLS = 4_000_000  # resampling weights held at a time: 16 MB


RATIO: Final = "ratio"
"""A proportion: of sums whose numerators are from 0 to their denominators."""
MEAN: Final = "mean"
"""A ratio of sums that is no proportion."""
DIFFERENCE: Final = "difference"
"""One proportion less another."""

_ROUNDING: Final = 1e-9  # by which a numerator may be outside its denominator, as a sum of fractions is


class Sample(NamedTuple):
    """The examples behind an estimate, so that it can be computed again from other draws of them.

    Attributes:
        statistic: how sums over the examples become the quantity: a name of `scoring.significance.STATISTICS`.
        columns: what is summed, one row an example, shape (n, m).
    """

    statistic: str
    columns: NDArray[np.float64]


class _Interval(NamedTuple):
    value: float | None
    low: float | None
    high: float | None
    n: int


class Estimate(_Interval):
    """A number, its 95 % interval, and how many examples it rests on. None where there is no example.

    Attributes:
        sample: the examples themselves, while they are in memory; no part of the record.
    """

    sample: Sample | None = None

    def of(self, sample: Sample | None, n: int | None = None) -> "Estimate":
        """Return the same estimate with the examples behind it, and another n if given."""
        estimate = Estimate(self.value, self.low, self.high, self.n if n is None else n)
        estimate.sample = sample
        return estimate


Column: TypeAlias = NDArray[np.bool_ | np.int64 | np.float64]
"""What is summed over examples, one value an example, shape (n,)."""

_Name = TypeVar("_Name", bound=Hashable)


def ratio_estimates(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    *,
    differences: Sequence[tuple[int, int]] = (),
    means: Collection[int] = (),
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Estimate sum(numerator) / sum(denominator) over examples, for several quantities at once.

    Proportions and their differences have limits that hold at 0 and 1 too (`scoring.intervals`). Other means have those
    of the percentile bootstrap (Efron & Tibshirani 1993, section 13.3): examples are drawn with replacement, all means
    from the same draws. What belongs to one example (its permutations) stays together in both.

    Args:
        numerators: one row an example, one column a quantity, shape (n, k).
        denominators: likewise; 1 for a mean over all examples, 0 where an example does not belong to a subset.
        differences: pairs of columns, both proportions; the first ratio less the second is a quantity too.
        means: the columns that are no proportions: their numerators may be below 0 or above their denominators.
        resamples: how many draws the intervals of `means` rest on; 0 for no intervals at all.
        seed: decides the draws.

    Returns:
        k estimates, then one for each difference. `n` counts the examples with a positive denominator; that of a
        difference is the smaller of its two. A resample in which a subset is empty does not count for that subset.

    Raises:
        ValueError: if a numerator of a proportion is not from 0 to its denominator.

    >>> [estimate] = ratio_estimates(np.ones((4, 1)), np.ones((4, 1)))
    >>> estimate.value, round(estimate.low, 4), estimate.high, estimate.n  # low is .025 to the power of 1/4
    (1.0, 0.3976, 1.0, 4)
    """
    index(seed)  # a seed that is no whole number is refused, drawn by or not
    k = numerators.shape[1]
    proportions = [column for column in range(k) if column not in means]
    numerators = _within(numerators, denominators, proportions)
    total = denominators.sum(axis=0)
    counts = (denominators > 0).sum(axis=0)
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
        estimates.append(Estimate(float(value) if n else None, low, high, int(n)).of(sample))
    return estimates


def _within(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], proportions: Sequence[int]
) -> NDArray[np.float64]:
    """Return the numerators, those of proportions brought from rounding back between 0 and their denominators."""
    inside = np.clip(numerators, 0.0, denominators)
    outside = np.abs(inside - numerators) > _ROUNDING
    for column in proportions:
        if outside[:, column].any():
            row = int(outside[:, column].argmax())
            raise ValueError(
                f"expected numerators of a proportion from 0 to their denominators, found "
                f"{numerators[row, column]:g} of {denominators[row, column]:g}; name the column in means"
            )
    kept = numerators.copy()
    kept[:, proportions] = inside[:, proportions]
    return kept


def _share_bounds(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], columns: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """Return the limits of proportions by column; none of those without an example."""
    above, below = numerators[:, columns], denominators[:, columns]
    sizes = effective_sizes(above, below)
    there = sizes > 0
    shares = above.sum(axis=0)[there] / below.sum(axis=0)[there]
    limits = zip(*(ends.tolist() for ends in share_limits(shares, sizes[there])), strict=True)
    return dict(zip(np.asarray(columns)[there].tolist(), limits, strict=True))


def _drawn_bounds(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    columns: Sequence[int],
    resamples: int,
    seed: int,
) -> dict[int, tuple[float, float]]:
    """Return the limits of means by column, by resampling; none of those without an example."""
    if not columns:
        return {}
    sums = resampled_sums(np.concatenate([numerators[:, columns], denominators[:, columns]], axis=1), resamples, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = sums[:, : len(columns)] / sums[:, len(columns) :]
    found = {}
    for column, of_one in zip(columns, draws.T, strict=True):
        if not np.isnan(of_one).all():
            low, high = np.nanpercentile(of_one, [2.5, 97.5]).tolist()
            found[column] = (low, high)
    return found


def _difference_bounds(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64], first: int, second: int
) -> tuple[float, float]:
    """Return the limits of one proportion less another; of one less itself it is 0 whatever the examples."""
    if first == second:
        return 0.0, 0.0
    columns = [first, second]
    return contrast_limits(numerators[:, columns], denominators[:, columns], np.array([1.0, -1.0]))


def named_estimates(
    ratios: Mapping[_Name, tuple[Column, Column | float]],
    differences: Mapping[_Name, tuple[_Name, _Name]] | None = None,
    *,
    means: Collection[_Name] = (),
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[_Name, Estimate]:
    """Estimate quantities by name: `ratio_estimates` of columns that have names.

    Args:
        ratios: numerator and denominator by example of each ratio, shape (n,) each, or one denominator for all.
        differences: pairs of names of ratios; the first ratio less the second is a quantity too.
        means: names of the ratios that are no proportions.
        resamples: how many draws the intervals of `means` rest on; 0 for no intervals at all.
        seed: decides the draws.

    >>> right = np.array([True, False, True, True])
    >>> ratios = {"all": (right, 1.0), "first": (right * [1, 1, 0, 0], np.array([1, 1, 0, 0]))}
    >>> estimates = named_estimates(ratios, {"drop": ("all", "first")})
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
    estimates = ratio_estimates(
        numerators,
        denominators,
        differences=pairs,
        means=[columns[name] for name in means],
        resamples=resamples,
        seed=seed,
    )
    return dict(zip((*ratios, *differences), estimates, strict=True))


def two_sided_p(draws: NDArray[np.float64]) -> float:
    """Return the p value of a quantity being 0, from draws of it: what inverts the percentile interval.

    Twice the smaller share of draws that are not on the one side of 0 (ties on both), with one added above and below
    the line (Davison & Hinkley 1997, section 4.2.3), at most 1.

    >>> two_sided_p(np.array([0.1, 0.2, 0.3]))
    0.5
    """
    side = min((draws <= 0).sum(), (draws >= 0).sum())
    return min(1.0, 2 * (int(side) + 1) / (len(draws) + 1))


def to_json(value: Any) -> Any:
    """Return scores as JSON and `evaluate` take them: every `Estimate` in dicts, lists and tuples becomes a dict.

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
    """Return the ratios and the differences between them, shape (draws, k + differences)."""
    return np.column_stack([ratios, *(ratios[:, first] - ratios[:, second] for first, second in differences)])


def _samples(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    differences: Sequence[tuple[int, int]],
    means: Collection[int],
) -> list[Sample]:
    """Return the examples behind each ratio and each difference."""
    ratios = [np.stack([numerators[:, k], denominators[:, k]], axis=1) for k in range(numerators.shape[1])]
    return [Sample(MEAN if k in means else RATIO, ratio) for k, ratio in enumerate(ratios)] + [
        Sample(DIFFERENCE, np.concatenate([ratios[first], ratios[second]], axis=1)) for first, second in differences
    ]


def resampled_sums(columns: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Return the sums over examples drawn with replacement.

    The draws depend on the number of examples and the seed alone, so that two calls of the same draw the same.

    Args:
        columns: one row an example, shape (n, m).
        resamples: how many times n examples are drawn.
        seed: decides the draws.

    Returns:
        Shape (resamples, m).
    """
    n, m = columns.shape
    rng = np.random.default_rng(seed)
    sums = np.empty((resamples, m))
    block = max(1, _BLOCK_CELLS // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n, size=(rows, n), dtype=np.int64)
        drawn += np.arange(rows)[:, None] * n
        weights = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)  # how often each example was drawn
        sums[start : start + rows] = weights.astype(np.float64) @ columns
    return sums
