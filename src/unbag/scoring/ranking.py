"""Measures of a score that ranks pairs, without a given threshold: area under the curve and break-even point."""

import math

import numpy as np
from numpy.typing import ArrayLike


def area_under_curve(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """Compute the probability that a random positive scores above a random negative; ties count half.

    The area under the receiver operating characteristic, computed by its equality with the Mann-Whitney U statistic
    (Hanley and McNeil 1982, https://doi.org/10.1148/radiology.143.1.7063747).

    Args:
        scores: Scores, higher for positives, shape (n,).
        positive: Whether each pair is positive, shape (n,).

    Returns:
        A fraction in [0, 1]: 1 for a perfect order, 0.5 for a constant or random score. None without positives or
        without negatives.

    >>> area_under_curve([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    values, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=np.bool_)
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives:
        return None
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(sizes) - (sizes - 1) / 2  # mean rank of each distinct value, from 1: ties count half
    above = float(mean_rank[group][is_positive].sum()) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def break_even(scores: ArrayLike, positive: ArrayLike) -> float:
    """Compute the break-even threshold: the score from which on as many pairs are predicted positive as are positive.

    At this threshold precision and recall are equal, unless several pairs tie at the threshold. All tied pairs are
    predicted positive, so that the result does not depend on the order of the pairs.

    Args:
        scores: Scores, higher for positives, shape (n,).
        positive: Whether each pair is positive, shape (n,).

    Returns:
        The lowest score that is predicted positive; infinity without positives.

    >>> break_even([0.9, 0.4, 0.7, 0.1], [True, True, False, False])
    0.7
    """
    values, n_positive = np.asarray(scores, dtype=np.float64), int(np.asarray(positive, dtype=np.bool_).sum())
    return float(np.sort(values)[::-1][n_positive - 1]) if n_positive else math.inf
