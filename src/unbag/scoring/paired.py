"""The difference between two systems on the same examples: of proportions in closed form, else by resampling both."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.scoring import beyond_words
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
    beyond_words.STATISTIC: beyond_words.statistic,
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
    Significance Tests for Machine Translation Evaluation", https://aclanthology.org/W04-3250), the score beyond words
    with what `beyond_words.interval` adds; where no draw differs from another these tell nothing, and there are no
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
    if first.statistic == second.statistic == beyond_words.STATISTIC:
        return beyond_words.difference_limits(first.columns, second.columns, (low, high), level=level)
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
