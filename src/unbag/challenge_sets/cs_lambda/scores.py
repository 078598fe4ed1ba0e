"""Compositionality sensitivity and row scores of CS_λ."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.skill import RowScores

MISLED: Final = 0.7
"""The λ of the pairs that the skill score uses."""


def compute_cs_lambda_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the accuracy on CS_λ and, if annotators' labels are available, the human accuracy.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set.
    """
    annotations = columns.get("annotator_labels", ())
    votes = [[int(predictions.label_positions[vote]) for vote in labels] for labels in annotations]
    scores = compositionality_sensitivity(
        predictions.predicted,
        predictions.to_label_positions(columns["label"]),
        columns["lms"],
        annotator_labels=votes if any(votes) else None,
        n_labels=len(predictions.label_space),
        resamples=resamples,
    )
    return {**scores, "labels": list(predictions.label_space)}


def compute_cs_lambda_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Only the pairs of CS_0.7 count (0.7 is the paper's value of λ).
    """
    gold = predictions.to_label_positions(columns["label"])
    return RowScores(
        predictions.predicted == gold, gold, range(len(gold)), is_counted=compute_cs_lambda_skill_score_mask(columns)
    )


def compute_cs_lambda_skill_score_mask(columns: Columns) -> NDArray[np.bool_]:
    """Compute a mask of the rows in the subset CS_0.7, shape (n,)."""
    misled: NDArray[np.bool_] = np.asarray(columns["lms"], dtype=np.float64) >= MISLED
    return misled
