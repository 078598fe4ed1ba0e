"""Accuracy and credits of an unchanged corpus."""

from typing import Any

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.skill import PredictionCredits


def compute_plain_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute `scoring.accuracy`, with intervals by source.

    Args:
        columns: Columns of n rows.
        answers: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set.
    """
    gold = answers.to_label_positions(columns["label"])
    scores = accuracy(
        answers.predicted,
        gold,
        columns.get("source_id"),
        n_labels=len(answers.label_space),
        resamples=resamples,
    )
    return {**scores, "labels": list(answers.label_space)}


def compute_plain_credits(columns: Columns, answers: SetPredictions) -> PredictionCredits:
    """Compute the credits for `scoring.skill`: 1 for a correct pair. Pairs of one document are drawn together."""
    gold = answers.to_label_positions(columns["label"])
    return PredictionCredits(answers.predicted == gold, gold, columns.get("source_id", range(len(gold))))
