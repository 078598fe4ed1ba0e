"""Accuracy on pairs in capitals."""

from typing import Any

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES


def compute_capitals_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.accuracy`."""
    found = accuracy(answers.predicted, answers.to_label_positions(columns["label"]), resamples=resamples)
    return {**found, "letters": int(sum(columns["letters"]))}
