"""Swap consistency and row scores of the swapped set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import CONTRADICTION, NEUTRAL, get_label_id
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions, select_rows, to_boolean_array
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.skill import RowScores
from unbag.scoring.swap_consistency import swap_consistency


def compute_swapped_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the accuracy before and after exchanging premise and hypothesis, and the agreement of predictions.

    The label "not entailment" of a two-label model is correct for neutral pairs and for contradictions. It counts as
    the one of the two that the pair is.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set. Only pairs with both orders then count.
    """
    if partial:
        both = {name for name, swapped in zip(columns["source_id"], columns["swapped"], strict=True) if swapped} & {
            name for name, swapped in zip(columns["source_id"], columns["swapped"], strict=True) if not swapped
        }
        columns, predictions = select_rows(
            np.array([name in both for name in columns["source_id"]]), columns, predictions
        )
        if not both:
            return {}
    label = np.asarray(columns["label"])
    # Map the model's label space to our ids. `label_positions` maps each of our ids to a label of the model. If the
    # model predicts the label that the gold label maps to, the prediction is the gold label, else the first match.
    ours = np.array([list(predictions.label_positions).index(column) for column in range(len(predictions.label_space))])
    predicted = np.where(
        predictions.predicted == predictions.label_positions[label], label, ours[predictions.predicted]
    )
    predicted = np.where(predictions.predicted == NO_ANSWER, NO_ANSWER, predicted)
    return dict(
        swap_consistency(
            predicted,
            label,
            columns["source_id"],
            to_boolean_array(columns["swapped"]),
            neutral=get_label_id(NEUTRAL),
            contradiction=get_label_id(CONTRADICTION),
            resamples=resamples,
        )
    )


def compute_swapped_skill_score_mask(columns: Columns) -> NDArray[np.bool_]:
    """Compute a mask of the rows whose premise and hypothesis are exchanged, shape (n,)."""
    return to_boolean_array(columns["swapped"])


def compute_swapped_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score.

    The score is 1 if the prediction is correct after premise and hypothesis are exchanged, else 0. Neutral pairs and
    contradictions keep their gold label. Pairs of another label have no exchanged row and do not count.
    """
    swapped = to_boolean_array(columns["swapped"])
    gold = predictions.to_label_positions(columns["label"])
    right = predictions.predicted == gold
    names = np.array(columns["source_id"], dtype=object)
    after = dict(zip(names[swapped], right[swapped], strict=True))
    counts = np.array([name in after for name in names[~swapped]], dtype=np.bool_)
    row_scores = np.array([after.get(name, False) for name in names[~swapped]])
    return RowScores(row_scores, gold[~swapped], range(len(row_scores)), is_counted=counts)
