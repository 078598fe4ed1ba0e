"""Calibration of probabilities: the Brier score and its decomposition, and the expected calibration error."""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_proportion, estimate_ratio
from unbag.scoring.intervals import Flags, Floats
from unbag.scoring.log_odds import compute_log_odds

BINS: Final = 10
"""Number of bins in the reliability diagram; all bins have about the same number of pairs."""


def compute_calibration(
    probabilities: Floats,
    positive: Flags,
    source: NDArray[np.int64],
    *,
    log_odds: Floats | None = None,
    bins: int = BINS,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute the Brier score, its decomposition and the expected calibration error of probabilities.

    The bins have equal mass. Pairs with equal log odds share a bin, so there may be fewer bins than requested. In each
    bin, the bias correction subtracts the amount by which the expected absolute difference of a normal sample exceeds
    the observed difference (Kumar, Liang & Ma 2019, https://arxiv.org/abs/1909.10155, section 5): the mean of the
    folded normal distribution, in closed form.

    Args:
        probabilities: Probability of the label, shape (n,).
        source: Source index of each pair, shape (n,).
        log_odds: Log odds of the label (`scoring.log_odds`), shape (n,). Default: those of `probabilities`.

    Returns:
        - brier: Mean squared difference between score and label, in [0, 1]; lower is better.
        - reliability: Mean squared distance between the mean score of a bin and its share of pairs with the label.
        - resolution: How well the bins separate the labels, with the spread of scores within the bins (Stephenson,
          Coelho & Jolliffe 2008), so that Brier = reliability - resolution + uncertainty holds exactly.
        - uncertainty: Variance of the labels.
        - ece: Expected calibration error, in [0, 1]; lower is better.
        - ece_corrected: `ece` minus an estimate of its bias, which is positive even for a calibrated model.
        - bins: Number from 1, mean `score`, and `share` of pairs with the label, of each bin of the reliability
          diagram.

    >>> probabilities, positive = np.array([0.2, 0.2, 0.8, 0.8]), np.array([False, True, True, True])
    >>> found = compute_calibration(probabilities, positive, np.arange(4), bins=2)
    >>> round(found["brier"].value, 3), round(found["ece"], 3)
    (0.19, 0.25)
    """
    n, labels = len(probabilities), positive.astype(np.float64)
    brier = estimate_ratio(
        (probabilities - labels) ** 2,
        source=source,
        is_mean=True,
        is_count_of_rows=True,
        resamples=resamples,
        seed=seed,
    )
    # By log odds, because probabilities close to 1 round to equal floats.
    of_bin = _equal_mass_bins(compute_log_odds(probabilities) if log_odds is None else log_odds, bins)
    sizes, score_sums, label_sums = (
        np.bincount(of_bin, weights=weights, minlength=int(of_bin.max()) + 1)
        for weights in (np.ones(n), probabilities, labels)
    )
    mean_scores, shares, base = score_sums / sizes, label_sums / sizes, float(labels.mean())
    reliability = float((sizes * (mean_scores - shares) ** 2).sum() / n)
    uncertainty = base * (1 - base)
    assert brier.value is not None
    gaps = np.abs(mean_scores - shares)
    bias = _folded_normal_mean(gaps, np.sqrt(shares * (1 - shares) / sizes)) - gaps
    ece = float((sizes * gaps).sum() / n)
    return {
        "brier": brier,
        "reliability": reliability,
        "resolution": reliability + uncertainty - brier.value,
        "uncertainty": uncertainty,
        "ece": ece,
        "ece_corrected": max(0.0, ece - float((sizes * bias).sum() / n)),
        "bins": [
            {
                "bin": k + 1,
                "score": float(mean_scores[k]),
                "share": estimate_proportion(positive, of_bin == k, source),
            }
            for k in range(len(sizes))
        ],
    }


def _equal_mass_bins(scores: Floats, bins: int) -> NDArray[np.intp]:
    """Assign each score to a bin, shape (n,). Equal scores share a bin; empty bins are removed."""
    values, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - (sizes + 1) / 2  # mean rank of each value, counted from 0
    of_value = np.minimum((middle * bins / len(scores)).astype(np.intp), bins - 1)
    _, packed = np.unique(of_value, return_inverse=True)
    numbers: NDArray[np.intp] = packed.reshape(len(values))[group]
    return numbers


def _folded_normal_mean(mean: Floats, deviation: Floats) -> Floats:
    """Compute E|X| for X ~ N(mean, deviation²) and means of at least 0."""
    from scipy.special import ndtr  # slow to import

    # If all labels of a bin are equal, the deviation is 0, and an infinite z gives the mean itself.
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, mean / deviation, np.inf)
    expected: Floats = deviation * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + mean * (1 - 2 * ndtr(-z))
    return expected
