"""Thresholds on the probability of a label: a sweep, and safe thresholds for target false-positive rates.

A positive is a pair with the label, such as entailment. A false positive is a pair with another label that reaches the
threshold: for the label entailment, a false entailment.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.bootstrap import Estimate, estimate_proportion, sum_by_source
from unbag.scoring.intervals import LEVEL, Flags, Floats, compute_effective_sizes, compute_proportion_limits
from unbag.scoring.log_odds import express_threshold

TARGETS: Final = (0.01, 0.05, 0.1)
"""Target false-positive rates for threshold selection."""

_SWEEP_ROWS: Final = 100  # maximum number of rows of the sweep, which limits the size of the results file
_CANDIDATES: Final = 200  # maximum number of tested thresholds, because each requires a pass over the pairs
_BLOCK: Final = 16  # number of thresholds tested at a time, which limits memory


def sweep_thresholds(scores: Floats, positive: Flags, name: str = "false_positive") -> list[dict[str, Any]]:
    """Compute false-positive rate, recall and precision at up to 100 thresholds, in descending order.

    The scores are log odds of the label (`scoring.log_odds`), shape (n,). Both labels must occur. The false-positive
    rate has the given name.
    """
    values, group = np.unique(-scores, return_inverse=True)
    hits, alarms = (
        np.cumsum(np.bincount(group, weights=flags, minlength=len(values))) for flags in (positive, ~positive)
    )
    places = np.unique(np.linspace(0, len(values) - 1, min(len(values), _SWEEP_ROWS)).round().astype(np.intp))
    lower = [*(-values[1:]).tolist(), -math.inf]
    return [
        {
            "threshold": express_threshold(float(-values[place]), lower[place]),
            name: float(alarms[place] / alarms[-1]),
            "recall": float(hits[place] / hits[-1]),
            "precision": float(hits[place] / (hits[place] + alarms[place])),
        }
        for place in places.tolist()
    ]


def find_safe_thresholds(
    scores: Floats,
    positive: Flags,
    source: NDArray[np.int64],
    source_names: Sequence[Hashable],
    *,
    targets: Sequence[float] = TARGETS,
) -> list[dict[str, Any]]:
    """Find the lowest threshold that keeps the false-positive rate at or below each target.

    The sources are split into two halves by a hash of their names. On the first half, thresholds are tested from high
    to low until the one-sided Clopper-Pearson limit of the false-positive rate, at the effective number of pairs
    (`scoring.intervals`), exceeds the target. The order of the tests is fixed and testing stops at the first failure,
    so no correction for multiple tests is needed (fixed-sequence testing; Angelopoulos et al. 2021, "Learn then Test",
    https://arxiv.org/abs/2110.01052). The threshold is then confirmed on the second half.

    Args:
        scores: Log odds of the label (`scoring.log_odds`), shape (n,).
        source_names: Name of each source, by source index.
        targets: Maximum accepted false-positive rates, each in (0, 1) (default: 0.01, 0.05, 0.1).

    Returns:
        One row per target, as `safe_thresholds` of the card `metrics/verification/README.md`. The scores are None if no
        threshold passes, usually because there are too few negatives.
    """
    # A hash instead of a random split: a source stays in its half if other pairs are added or removed.
    first = np.array([sha256(repr(name).encode()).digest()[0] % 2 == 0 for name in source_names], dtype=bool)[source]
    negatives = first & ~positive
    tested: list[tuple[float, Estimate, float]] = []
    candidates = _list_candidates(scores[first], positive[first]) if negatives.any() else []
    for start in range(0, len(candidates), _BLOCK):
        tested += _test_thresholds(scores, negatives, candidates[start : start + _BLOCK], source)
        if any(bound > max(targets) for _, _, bound in tested):
            break
    found: list[dict[str, Any]] = []
    for target in targets:
        # All thresholds before the first bound above the target pass; later ones do not count.
        n_passed = next((k for k, (_, _, bound) in enumerate(tested) if bound > target), len(tested))
        row: dict[str, Any] = {
            "target": target, "threshold": None, "chosen": None, "bound": None, "confirmed": None, "recall": None,
            # Without errors among m pairs, the one-sided upper limit is 1 - (1 - LEVEL)^(1 / m).
            "needed": math.ceil(math.log(1 - LEVEL) / math.log1p(-target)), "available": int(negatives.sum()),
        }  # fmt: skip
        if n_passed:
            cutoff, row["chosen"], row["bound"] = tested[n_passed - 1]
            called = scores >= cutoff
            row["threshold"] = express_threshold(cutoff, max(scores[~called].tolist(), default=-math.inf))
            # Recall has no part in the choice, so all pairs count: a run with this threshold has the same recall.
            row["confirmed"], row["recall"] = (
                estimate_proportion(called, rows, source) if rows.any() else None
                for rows in (~first & ~positive, positive)
            )
        found.append(row)
    return found


def _list_candidates(scores: Floats, positive: Flags) -> list[float]:
    """List up to 200 thresholds in descending order: each is the lowest score above a negative pair."""
    # All thresholds between two negative pairs have the same false-positive rate; the lowest has the best recall.
    values, negatives = np.unique(scores), np.unique(scores[~positive])[::-1]
    places = np.unique(np.linspace(0, len(negatives) - 1, min(len(negatives), _CANDIDATES)).round().astype(np.intp))
    above = np.searchsorted(values, negatives[places], side="right")
    return list(dict.fromkeys(values[above[above < len(values)]].tolist()))


def _test_thresholds(
    scores: Floats, rows: Flags, thresholds: Sequence[float], source: NDArray[np.int64]
) -> Iterator[tuple[float, Estimate, float]]:
    """Compute the share of the given rows at or above each threshold, and its one-sided upper confidence limit."""
    hits = np.stack([sum_by_source(rows & (scores >= each), source) for each in thresholds], axis=1)
    counts = np.repeat(sum_by_source(rows, source)[:, None], len(thresholds), axis=1)
    shares, n = hits.sum(axis=0) / counts.sum(axis=0), int(rows.sum())
    # Two-sided limits at 2 · LEVEL - 1 are one-sided limits at LEVEL.
    lows, highs = compute_proportion_limits(shares, compute_effective_sizes(hits, counts), level=2 * LEVEL - 1)
    limits = zip(thresholds, shares.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return ((threshold, Estimate(share, low, high, n), high) for threshold, share, low, high in limits)
