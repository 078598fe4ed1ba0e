"""The scores of a model as a verifier, on the rows of a challenge set: entailment against the rest."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import CONTRADICTION, ENTAILMENT
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.verification import VerificationScores, VerifierPredictions, compute_verification_scores


def compute_verifier_scores(
    labels: ArrayLike,
    answers: SetPredictions,
    sources: Sequence[Hashable] | NDArray[Any],
    *,
    entailment: NDArray[np.float64] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
) -> VerificationScores | None:
    """Compute `scoring.verification`; None without both kinds of rows, or for a model that only finds contradictions.

    The decisions are the model's own: the most probable label, or the label beyond the threshold of a model with one
    output. A row without an answer counts as neither entailed nor contradicted, with a probability of entailment of 0:
    a verifier that abstains does not support the claim.

    Args:
        labels: Gold label ids, shape (n,).
        answers: Predictions, n rows.
        sources: Source of each row, n hashable values.
        entailment: Probability of entailment, shape (n,); default: the column of `answers`. A model with one output
            has its own, since `answers` are centred at its threshold.
        resamples: Number of bootstrap resamples.
    """
    space = tuple(answers.label_space)
    if ENTAILMENT not in space:
        return None
    gold, predicted = answers.to_label_positions(labels), answers.predicted
    entailed = space.index(ENTAILMENT)
    scores: NDArray[np.float64] | None = entailment
    if scores is None and answers.has_probabilities:
        scores = answers.probabilities[:, entailed].astype(np.float64)
    if scores is not None:
        if answers.unanswered is not None:
            scores = np.where(answers.unanswered, 0.0, scores)
        # A softmax in float32 may exceed 1 by its last digit.
        scores = np.clip(scores, 0.0, 1.0)
    contradicted = space.index(CONTRADICTION) if CONTRADICTION in space else None
    decisions = VerifierPredictions(
        gold == entailed,
        predicted == entailed,
        scores,
        None if contradicted is None else gold == contradicted,
        None if contradicted is None else predicted == contradicted,
    )
    return compute_verification_scores(decisions, sources, resamples=resamples)
