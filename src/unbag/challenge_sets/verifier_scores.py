"""Verifier metrics of a model on the rows of a set: entailment, or else contradiction, versus the rest."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import CONTRADICTION, CONTRADICTION_OR_NOT, ENTAILMENT
from unbag.data.predictions import NO_ANSWER, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.verification import (
    BinaryPredictions,
    BinaryScores,
    VerificationScores,
    compute_binary_scores,
    compute_verification_scores,
)


def compute_verifier_scores(
    labels: ArrayLike,
    predictions: SetPredictions,
    sources: Sequence[Hashable] | NDArray[Any],
    *,
    resamples: int = DEFAULT_RESAMPLES,
) -> VerificationScores | None:
    """Compute the scores of a model as a verifier. Return None if they are undefined for the rows or the model.

    They are undefined if the rows are all entailed or all not entailed, or if the model detects only contradictions.
    The decisions are the model's own: the most probable label, or the label that the threshold decides. A row without
    an answer never improves a measure (`BinaryPredictions.unanswered`).

    Args:
        labels: Gold label ids, shape (n,).
        predictions: Predictions, n rows.
        sources: Source of each row, n hashable values. Rows of one source are resampled together.
    """
    space = tuple(predictions.label_space)
    if ENTAILMENT not in space:
        return None
    entailed, *contradicted = (
        build_binary_predictions(predictions, labels, label) for label in (ENTAILMENT, CONTRADICTION) if label in space
    )
    return compute_verification_scores(
        entailed, sources, contradictions=contradicted[0] if contradicted else None, resamples=resamples
    )


def compute_detection_scores(
    labels: ArrayLike,
    predictions: SetPredictions,
    sources: Sequence[Hashable] | NDArray[Any],
    *,
    resamples: int = DEFAULT_RESAMPLES,
) -> BinaryScores | None:
    """Compute the scores of a contradiction detector, the mirror image of `compute_verifier_scores`.

    Return None if the rows are all contradictions or none is, or if the predictions separate entailment.
    """
    if tuple(predictions.label_space) != CONTRADICTION_OR_NOT:
        return None
    contradicted = build_binary_predictions(predictions, labels, CONTRADICTION)
    return compute_binary_scores(contradicted, sources, resamples=resamples)


def build_binary_predictions(predictions: SetPredictions, labels: ArrayLike, label: str) -> BinaryPredictions:
    """Build the gold labels and predictions of n rows for one label of the predictions' space against the rest."""
    column = list(predictions.label_space).index(label)
    probabilities = complements = None
    if predictions.has_probabilities:
        values = predictions.probabilities.astype(np.float64)
        # A softmax in float32 may exceed 1 by its last digit.
        probabilities = np.clip(values[:, column], 0.0, 1.0)
        # The sum of the others and not 1 - p, which loses all digits for p close to 1.
        complements = np.delete(values, column, axis=1).sum(axis=1)
    return BinaryPredictions(
        predictions.to_label_positions(labels) == column,
        predictions.predicted == column,
        probabilities,
        complements,
        predictions.predicted == NO_ANSWER,
    )
