"""Document consistency of the recombined set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import TWO_WAY
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.document_consistency import document_consistency
from unbag.scoring.skill import RowScores


def compute_recombined_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the scores of the recombined set. Predictions of neutral and contradiction count as not entailed.

    If the rows are a part of the set, the paired accuracy covers only groups with an entailed row and another row.
    """
    if partial and not len(columns["label"]):
        return {}
    return dict(
        document_consistency(
            predictions.align_to_gold(TWO_WAY).predicted,
            columns["label"],
            columns["source_id"],
            columns["group"],
            columns["k"],
            columns["position"],
            columns["operation"],
            resamples=resamples,
        )
    )


def compute_recombined_skill_score_mask(columns: Columns) -> NDArray[np.bool_]:
    """Compute a mask of the rows whose document contains the evidence and other sentences, shape (n,).

    In these rows, the document has all content words of the claim. The labels of the other rows follow from words
    alone: a document without the evidence has none of these words, and the claim of a single-sentence document is
    never changed.
    """
    has_exchange = np.asarray(columns["k"]) > 1
    decisive: NDArray[np.bool_] = has_exchange & (np.asarray(columns["operation"], dtype=object) != "removed")
    return decisive


def compute_recombined_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Only the rows selected by `compute_recombined_skill_score_mask` count. Rows of one claim are resampled together.
    """
    gold = np.asarray(columns["label"])
    right = predictions.align_to_gold(TWO_WAY).predicted == gold
    return RowScores(
        right, gold, columns["source_id"], is_counted=compute_recombined_skill_score_mask(columns), names=TWO_WAY
    )
