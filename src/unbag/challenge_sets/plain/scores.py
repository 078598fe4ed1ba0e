"""Accuracy and row scores of an unchanged corpus."""

from typing import Any

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.skill import RowScores


def compute_plain_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the accuracy overall and per gold label. The bootstrap resamples rows with the same source together.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set.
    """
    gold = predictions.to_label_positions(columns["label"])
    scores = accuracy(
        predictions.predicted,
        gold,
        columns.get("source_id"),
        n_labels=len(predictions.label_space),
        resamples=resamples,
    )
    return {**scores, "labels": list(predictions.label_space)}


def compute_plain_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Rows from the same source are resampled together.
    """
    gold = predictions.to_label_positions(columns["label"])
    return RowScores(predictions.predicted == gold, gold, columns.get("source_id", range(len(gold))))
