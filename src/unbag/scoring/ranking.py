"""What a score says of which pairs are entailed, with no threshold known: its area under the curve, its break-even."""

import math

import numpy as np
from numpy.typing import ArrayLike


def area_under_curve(scores: ArrayLike, positive: ArrayLike) -> float | None:
    """Return how often a positive scores above a negative; ties count half.

    The area under the receiver operating characteristic, by its equality with the Mann-Whitney U statistic (Hanley and
    McNeil 1982): 1 for a perfect order, 0.5 for a constant or a coin.

    Args:
        scores: shape (n,), the higher the more positive.
        positive: truth values, shape (n,).

    Returns:
        A fraction in [0, 1]; None where there is no positive, or no negative.

    >>> area_under_curve([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    values, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=np.bool_)
    positives, negatives = int(is_positive.sum()), int((~is_positive).sum())
    if not positives or not negatives:
        return None
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(sizes) - (sizes - 1) / 2  # of each value, counted from 1
    above = float(mean_rank[group][is_positive].sum()) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def break_even(scores: ArrayLike, positive: ArrayLike) -> float:
    """Return the score from which on a pair is taken for positive, so that as many are as there are positives.

    There precision and recall are the same number, the break-even point, but where several pairs tie at that score: all
    of these are taken, so that the order of the pairs decides nothing.

    Args:
        scores: shape (n,), the higher the more positive.
        positive: truth values, shape (n,).

    Returns:
        The score of the last positive's place; infinity where there is none.

    >>> break_even([0.9, 0.4, 0.7, 0.1], [True, True, False, False])
    0.7
    """
    values, wanted = np.asarray(scores, dtype=np.float64), int(np.asarray(positive, dtype=np.bool_).sum())
    return float(np.sort(values)[::-1][wanted - 1]) if wanted else math.inf
