"""Label distribution and row scores of SOSwap and AddAmod."""

from typing import Any

import numpy as np

from unbag.data.predictions import NO_ANSWER, NONE, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.label_distribution import label_distribution
from unbag.scoring.skill import RowScores


def compute_soswap_addamod_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the distribution of predicted labels on SOSwap and on AddAmod pairs.

    Rows without a prediction count as the label `none`.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set.
    """
    predicted, names = predictions.predicted, tuple(predictions.label_space)
    if (predicted == NO_ANSWER).any():
        predicted, names = np.where(predicted == NO_ANSWER, len(names), predicted), (*names, NONE)
    return dict(
        label_distribution(
            predicted,
            predictions.to_label_positions(columns["label"]),
            columns["source_id"],
            kind=columns["kind"],
            names=names,
            resamples=resamples,
        )
    )


def compute_soswap_addamod_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Rows from the same source are resampled together.
    """
    gold = predictions.to_label_positions(columns["label"])
    return RowScores(predictions.predicted == gold, gold, columns["source_id"])
