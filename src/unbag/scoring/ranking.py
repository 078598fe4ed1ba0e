"""Ranking metrics that need no threshold: AUROC, average precision and the break-even threshold.

Scores are higher for positives. Scores and labels have shape (n,). For an interval, both labels must occur.
"""

import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import Estimate, Sample, sum_by_source
from unbag.scoring.intervals import LEVEL, Flags, Floats, compute_proportion_limits

AUROC: Final = "auroc"
"""Name of the area under the ROC curve in `scoring.significance.STATISTICS`."""


def compute_auroc(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """Compute the area under the ROC curve (AUROC); None without positives or without negatives.

    The area is the probability that a random positive scores above a random negative, with ties counted as half, as in
    the Mann-Whitney U statistic (Hanley and McNeil 1982, https://doi.org/10.1148/radiology.143.1.7063747).

    >>> compute_auroc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    values, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=np.bool_)
    if is_positive.all() or not is_positive.any():
        return None
    return float(_compute_placements(values, is_positive)[is_positive].mean())


def compute_break_even_threshold(scores: ArrayLike, positive: ArrayLike) -> float:
    """Compute the break-even threshold, at which the number of predicted positives equals the number of positives.

    At this threshold, precision and recall are equal, except if several pairs tie at it. All tied pairs are predicted
    positive, so that the result does not depend on the order of the pairs. The threshold is the lowest score that is
    predicted positive; infinity without positives.

    >>> compute_break_even_threshold([0.9, 0.4, 0.7, 0.1], [True, True, False, False])
    0.7
    """
    values, n_positive = np.asarray(scores, dtype=np.float64), int(np.asarray(positive, dtype=np.bool_).sum())
    return float(np.sort(values)[::-1][n_positive - 1]) if n_positive else math.inf


def estimate_auroc(scores: Floats, positive: Flags, source: NDArray[np.int64]) -> Estimate:
    """Estimate the area under the ROC curve (AUROC), with a confidence interval that is clustered by source.

    The variance is that of DeLong, DeLong & Clarke-Pearson (1988), https://doi.org/10.2307/2531595, with placement
    values summed by source (Obuchowski 1997, https://doi.org/10.2307/2533958). The limits are symmetric on the logit
    scale. An area of exactly 0 or 1 has no variance. Its limits are those of a proportion over n independent pairs,
    where n is the number of sources of the rarer label.
    """
    above = _compute_placements(scores, positive)
    area = float(above[positive].mean())
    n_positive, n_negative = (sum_by_source(flags, source) for flags in (positive, ~positive))
    # The area is linear in these sums, so a resample needs no new ranking (`compute_auroc_from_sums`).
    columns = np.stack(
        [
            sum_by_source(np.where(positive, above, 0.0), source),
            n_positive,
            sum_by_source(np.where(positive, 0.0, above), source),
            n_negative,
            area * (n_positive + n_negative),
            n_positive + n_negative,
        ],
        axis=1,
    )
    influence = (columns[:, 0] - area * n_positive) / n_positive.sum()
    influence += (columns[:, 2] - area * n_negative) / n_negative.sum()
    variance = math.fsum((influence**2).tolist())
    # Equal placement values have a variance of 0, apart from rounding errors.
    if variance < 1e-18 or not 0 < area < 1:
        size = float(min((n_positive > 0).sum(), (n_negative > 0).sum()))
        lows, highs = compute_proportion_limits(np.array([area]), np.array([size]))
        low, high = float(lows[0]), float(highs[0])
    else:
        # By the delta method. The exponent is limited, because math.exp overflows above 709.
        reach = NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(variance) / (area * (1 - area))
        sides = (math.log(area / (1 - area)) + side for side in (-reach, reach))
        low, high = (1 / (1 + math.exp(-min(700.0, max(-700.0, side)))) for side in sides)
    return Estimate(area, low, high, len(scores)).copy_with_sample(Sample(AUROC, columns))


def compute_auroc_from_sums(sums: Floats) -> Floats:
    """Compute the area under the ROC curve (AUROC) from sums of placement values, shape (r, 6).

    To first order, the area is linear in the placement values: the mean over positive pairs, plus the mean over the
    other pairs, minus the area of all pairs. The six sums are those of the placement values of positive pairs, the
    number of these pairs, the same two for the other pairs, the area times the number of pairs, and the number of
    pairs. The area is NaN if one of the labels has no pairs.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        areas: Floats = sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3] - sums[:, 4] / sums[:, 5]
    return areas


def _compute_placements(scores: Floats, positive: Flags) -> Floats:
    """Compute the share of pairs with the other label that rank correctly, for each pair; ties count as half."""
    placements = np.empty(len(scores))
    for flags, sign in ((positive, 1.0), (~positive, -1.0)):
        others = np.sort(sign * scores[~flags])
        own = sign * scores[flags]
        below = np.searchsorted(others, own, side="left") + np.searchsorted(others, own, side="right")
        placements[flags] = below / (2 * len(others))
    return placements


def estimate_average_precision(scores: Floats, positive: Flags, source: NDArray[np.int64]) -> Estimate:
    """Estimate average precision, the step-wise area under the precision-recall curve.

    Pairs with equal scores form one step, as in scikit-learn. The limits are those of a proportion (Boyd, Eng & Page
    2013, https://doi.org/10.1007/978-3-642-40994-3_29), with the number of sources that have positive pairs as n. They
    are Clopper-Pearson limits, because the logit interval of that paper becomes wide near 1.
    """
    values, group = np.unique(-scores, return_inverse=True)
    hits = np.cumsum(np.bincount(group, weights=positive, minlength=len(values)))
    called = np.cumsum(np.bincount(group, minlength=len(values)))
    steps = np.diff(hits, prepend=0.0) / positive.sum()
    # The shares are rounded, so the sum for a perfect ranking may exceed 1.
    value = min(1.0, math.fsum((steps * hits / called).tolist()))
    size = int((sum_by_source(positive, source) > 0).sum())
    lows, highs = compute_proportion_limits(np.array([value]), np.array([float(size)]))
    return Estimate(value, float(lows[0]), float(highs[0]), len(scores))
