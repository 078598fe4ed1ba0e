"""Verifier metrics of a model on the rows of a challenge set: entailment versus the rest."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import CONTRADICTION, ENTAILMENT
from unbag.data.predictions import NO_ANSWER, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.verification import VerificationScores, VerifierPredictions, compute_verification_scores


def compute_verifier_scores(
    labels: ArrayLike,
    predictions: SetPredictions,
    sources: Sequence[Hashable] | NDArray[Any],
    *,
    entailment: NDArray[np.float64] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
) -> VerificationScores | None:
    """Compute the scores of a model as a verifier. Return None if they are undefined for the rows or the model.

    The decisions are the model's own: the most probable label, or the label beyond the threshold of a model with one
    output. A row without an answer never improves a measure (`VerifierPredictions.unanswered`).

    Args:
        labels: Gold label ids, shape (n,).
        predictions: Predictions, n rows.
        sources: Source of each row, n hashable values.
        entailment: Probability of entailment, shape (n,); default: the column of `predictions`. A model with one output
            has its own, since `predictions` are centred at its threshold.
        resamples: Number of bootstrap resamples.

    Returns:
        The scores. None if the rows are all entailed or all not entailed, or if the model detects only contradictions.
    """
    space = tuple(predictions.label_space)
    if ENTAILMENT not in space:
        return None
    gold, predicted = predictions.to_label_positions(labels), predictions.predicted
    entailed = space.index(ENTAILMENT)
    scores: NDArray[np.float64] | None = entailment
    if scores is None and predictions.has_probabilities:
        scores = predictions.probabilities[:, entailed].astype(np.float64)
    if scores is not None:
        # A softmax in float32 may exceed 1 by its last digit.
        scores = np.clip(scores, 0.0, 1.0)
    contradicted = space.index(CONTRADICTION) if CONTRADICTION in space else None
    decisions = VerifierPredictions(
        gold == entailed,
        predicted == entailed,
        scores,
        None if contradicted is None else gold == contradicted,
        None if contradicted is None else predicted == contradicted,
        predicted == NO_ANSWER,
    )
    return compute_verification_scores(decisions, sources, resamples=resamples)
