"""Macro F1, precision, recall, accuracy and row scores of SICCK."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import CONTRADICTION, NEUTRAL, NOT_CONTRADICTION, NOT_ENTAILMENT
from unbag.data.predictions import NONE, Columns, SetPredictions, to_boolean_array
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.natural_logic import apply_reverse_rule, match_reversed_rows, natural_logic
from unbag.scoring.skill import RowScores

GROUPS: Final = ("modifier_type", "part", "modifier", "position", "relation")
_CROSSED: Final = ("modifier_type", "part")  # Table 10, section 5


def compute_sicck_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute accuracy, macro F1, precision and recall of four-way labels.

    The bootstrap resamples all pairs that are built from the same seed pair together.

    A model with the labels entailment and not entailment has three gold labels: entailment in either direction, or
    neither. A model that only detects contradictions has two gold labels, and the reverse rule does not change its
    predictions. A row without an answer counts as the predicted label `data.predictions.NONE`, which is wrong and
    lowers the precision of every other label.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set. Only pairs with both orders then count.
    """
    predicted = predictions.label_names
    scored, back = _scored(columns, partial=partial)
    if not len(scored):
        return {}
    groups = {name: [columns[name][row] for row in scored] for name in GROUPS if name in columns}
    return dict(
        natural_logic(
            _four_way_predictions(predicted[scored], predicted[back]),
            [map_four_way_label(columns["four_way"][row], predictions) for row in scored],
            groups=groups or None,
            crossed=[_CROSSED] if groups.keys() >= set(_CROSSED) else (),
            source_id=[columns["source_id"][row] for row in scored] if "source_id" in columns else None,
            missing=NONE,
            resamples=resamples,
        )
    )


def compute_sicck_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the four-way label is correct, else 0.

    Pairs from one seed are resampled together.
    """
    scored, back = _scored(columns)
    answered = predictions.label_names
    predicted = _four_way_predictions(answered[scored], answered[back])
    gold = np.array([map_four_way_label(columns["four_way"][row], predictions) for row in scored], dtype=np.str_)
    names, numbers = np.unique(gold, return_inverse=True)
    source = [columns["source_id"][row] for row in scored]
    return RowScores(predicted == gold, numbers, source, names=names.tolist())


def _scored(columns: Columns, *, partial: bool = False) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find the scored rows and, for each, the row with premise and hypothesis reversed, shape (m,) each."""
    pairs, four = columns["pair"], columns["four_way"]
    if partial:
        back = {pairs[row] for row in np.flatnonzero(to_boolean_array(columns["reverse"])).tolist()}
        four = [label if pair in back else None for pair, label in zip(pairs, four, strict=True)]
    return match_reversed_rows(pairs, columns["reverse"], four)


def _four_way_predictions(forward: NDArray[np.str_], back: NDArray[np.str_]) -> NDArray[np.str_]:
    """Apply the reverse rule. A neutral pair whose reversed pair has no answer has no four-way label."""
    is_open = np.isin(forward, [NEUTRAL, NOT_ENTAILMENT]) & (back == NONE)
    predicted: NDArray[np.str_] = np.where(is_open, NONE, apply_reverse_rule(forward, back))
    return predicted


def map_four_way_label(label: str, predictions: SetPredictions) -> str:
    """Map a four-way label to the closest label in a model's label space."""
    if NOT_CONTRADICTION in predictions.label_space:
        return label if label == CONTRADICTION else NOT_CONTRADICTION
    two_way = NOT_ENTAILMENT in predictions.label_space
    return NOT_ENTAILMENT if two_way and label in (CONTRADICTION, NEUTRAL) else label
