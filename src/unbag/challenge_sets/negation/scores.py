"""Negation consistency and row scores of the negation set."""

from typing import Any

import numpy as np

from unbag.data.labels import TWO_WAY
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.negation_consistency import negation_consistency
from unbag.scoring.skill import RowScores


def compute_negation_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the scores of the negation set. Predictions of neutral and contradiction count as not entailed.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set. Mirrored pairs of which only one is
            included are then judged by that one.
    """
    if partial and not len(columns["label"]):
        return {}
    return dict(
        negation_consistency(
            predictions.align_to_gold(TWO_WAY).predicted,
            columns["label"],
            columns["source_id"],
            columns["mirror"],
            columns["operation"],
            resamples=resamples,
        )
    )


def compute_negation_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Rows from the same source are resampled together.
    """
    gold = np.asarray(columns["label"])
    right = predictions.align_to_gold(TWO_WAY).predicted == gold
    return RowScores(right, gold, columns["source_id"], names=TWO_WAY)
