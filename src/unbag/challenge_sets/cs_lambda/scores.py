"""Compositionality sensitivity and credits of CS_λ."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.skill import PredictionCredits

MISLED: Final = 0.7
"""The λ of the pairs that the skill score uses."""


def compute_cs_lambda_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute `scoring.compositionality_sensitivity`, with the human estimate if annotators' labels are available.

    Args:
        columns: Columns of n rows.
        answers: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set.
    """
    annotations = columns.get("annotator_labels", ())
    votes = [[int(answers.label_positions[vote]) for vote in labels] for labels in annotations]
    scores = compositionality_sensitivity(
        answers.predicted,
        answers.to_label_positions(columns["label"]),
        columns["lms"],
        annotator_labels=votes if any(votes) else None,
        n_labels=len(answers.label_space),
        resamples=resamples,
    )
    return {**scores, "labels": list(answers.label_space)}


def compute_cs_lambda_credits(columns: Columns, answers: SetPredictions) -> PredictionCredits:
    """Compute the credits for `scoring.skill`: 1 for a correct pair. Only CS_0.7, the paper's choice of λ, counts."""
    gold = answers.to_label_positions(columns["label"])
    return PredictionCredits(
        answers.predicted == gold, gold, range(len(gold)), counts=select_cs_lambda_decisive_rows(columns)
    )


def select_cs_lambda_decisive_rows(columns: Columns) -> NDArray[np.bool_]:
    """Select the rows of CS_0.7, shape (n,)."""
    misled: NDArray[np.bool_] = np.asarray(columns["lms"], dtype=np.float64) >= MISLED
    return misled
