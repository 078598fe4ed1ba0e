"""Category accuracy and row scores of Breaking NLI."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import CONTRADICTION, get_label_id
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.skill import RowScores


def compute_breaking_nli_scores(
    columns: Columns, predictions: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Compute the accuracy by category. The bootstrap resamples examples that share a premise together.

    A tie of the highest probability counts as no answer, hence as wrong. The paper counts a pair like this for which
    its WordNet baseline finds no relation. The scores by similarity and frequency cover contradictions only, as in
    section 5 of the paper. They are present if the set was built with these columns. The agreement of annotators is
    present if the pairs have their labels.

    Args:
        columns: Columns of n rows.
        predictions: Predictions, n rows.
        resamples: Number of bootstrap resamples.
        partial: Whether the rows are a part of the set.
    """
    votes = [
        [int(predictions.label_positions[vote]) for vote in labels] for labels in columns.get("annotator_labels", ())
    ]
    tied = _tied(predictions)
    scores = category_accuracy(
        np.where(tied, NO_ANSWER, predictions.predicted),
        predictions.to_label_positions(columns["label"]),
        columns["category"],
        similarity=_of_contradictions(columns, "similarity"),
        pair_frequency=_of_contradictions(columns, "pair_frequency"),
        annotator_labels=votes if any(votes) else None,
        premise=columns.get("premise"),
        resamples=resamples,
    )
    return {**scores, "labels": list(predictions.label_space), "unanswered": int(tied.sum())}


def compute_breaking_nli_row_scores(columns: Columns, predictions: SetPredictions) -> RowScores:
    """Compute the per-example scores that enter the skill score: 1 if the prediction is correct, else 0.

    Pairs that share a premise are resampled together.
    """
    gold = predictions.to_label_positions(columns["label"])
    return RowScores(
        (predictions.predicted == gold) & ~_tied(predictions), gold, columns.get("premise", range(len(gold)))
    )


def _tied(predictions: SetPredictions) -> NDArray[np.bool_]:
    """Find the rows where several labels share the highest probability, shape (n,)."""
    # Exact equality is intended: it detects predictors that give the same value to several labels, not near ties.
    best = predictions.probabilities.max(axis=1, keepdims=True)
    tied: NDArray[np.bool_] = (predictions.probabilities == best).sum(axis=1) > 1
    return tied


def _of_contradictions(columns: Columns, name: str) -> list[Any] | None:
    """Read a column of numbers with None for all rows but contradictions; None if no number remains."""
    if name not in columns:
        return None
    values = np.asarray(columns[name], dtype=np.float64)
    counts = (np.asarray(columns["label"]) == get_label_id(CONTRADICTION)) & ~np.isnan(
        values
    )  # a missing number is NaN
    counted = [value if counted else None for value, counted in zip(values.tolist(), counts.tolist(), strict=True)]
    return None if all(value is None for value in counted) else counted
