"""Accuracy on pairs in capital letters."""

from typing import Any

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES


def compute_capitals_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the accuracy of predictions with `scoring.accuracy`."""
    found = accuracy(predictions.predicted, predictions.to_label_positions(columns["label"]), resamples=resamples)
    return {**found, "letters": int(sum(columns["letters"]))}
