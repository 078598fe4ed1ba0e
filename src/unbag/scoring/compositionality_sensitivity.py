"""Accuracy on examples with misleading lexical cues: compositionality-sensitivity testing (Nie et al. 2019)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.accuracy import Annotations, compute_annotator_agreement
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_difference, estimate_ratio
from unbag.scoring.validation import validate_columns, validate_label_ids

THRESHOLDS: Final = (0.5, 0.6, 0.7)
"""The thresholds λ of Table 5."""


def compositionality_sensitivity(
    predictions: ArrayLike,
    references: ArrayLike,
    lms: ArrayLike,
    *,
    annotator_labels: Annotations | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    n_labels: int = 3,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute accuracy on the examples that mislead a bag-of-words model, for several thresholds λ.

    LMS, the lexically-misleading score of an example, is the highest probability that a bag-of-words model assigns to a
    wrong label (Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867, equation 6). CS_λ is the set of examples
    with LMS ≥ λ (section 5.4), so CS_0 is the whole set. Table 5 reports CS_0 and λ = 0.5, 0.6, 0.7.

    Args:
        predictions: Predicted label ids, shape (n,). A negative id is a missing prediction. It counts as wrong, and
            outside CS_λ as correct in the drop, so that it never improves a score.
        references: Gold label ids in 0 … n_labels - 1, shape (n,).
        lms: Lexically-misleading scores in [0, 1], shape (n,).
        annotator_labels: Label ids of the annotators, n rows of any length. None and -1 are missing labels.
        thresholds: Thresholds λ in [0, 1] in addition to 0, in any order; duplicates are removed.
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        The scores of the card `metrics/compositionality_sensitivity/README.md`, one entry of `subsets` per λ in
        ascending order from 0. Scores are `Estimate`s: fractions in [0, 1], except `drop`, which is in [-1, 1]. If CS_λ
        is empty, the value is None and n is 0. Ties of the most frequent label resolve to the lowest id.

    >>> scores = compositionality_sensitivity([0, 1, 2, 0], [0, 1, 1, 2], [0.1, 0.6, 0.7, 0.9], thresholds=[0.6])
    >>> [(subset["lambda"], subset["n"], subset["accuracy"].value) for subset in scores["subsets"]]
    [(0.0, 4, 0.5), (0.6, 3, 0.3333333333333333)]
    """
    misleading = np.asarray(lms, dtype=np.float64)
    gold, predicted = validate_columns(references, {"lms": misleading}, predictions=predictions)
    validate_label_ids("references", gold, n_labels)
    if (invalid := ~((misleading >= 0) & (misleading <= 1))).any():  # negated, because comparisons with NaN are false
        row = int(invalid.argmax())
        raise ValueError(
            f"lms: expected values from 0 to 1, got {misleading[row]} in row {row}; pass the column lms of the set"
        )
    if wrong := [threshold for threshold in thresholds if not 0 <= threshold <= 1]:
        raise ValueError(f"thresholds: expected values from 0 to 1, got {wrong}; remove these values")
    right = predicted == gold
    people = None if annotator_labels is None else compute_annotator_agreement(annotator_labels, gold, n_labels)

    def score(threshold: float) -> dict[str, Any]:
        subset = misleading >= threshold
        label = int(np.bincount(gold[subset]).argmax()) if subset.any() else None
        accuracy = whole = estimate_ratio(right, subset, resamples=resamples)
        if not subset.all():
            whole = estimate_ratio(right | ((predicted < 0) & ~subset), resamples=resamples)
        scores = {
            "lambda": threshold,
            "n": accuracy.n,
            "majority_label": label,
            "accuracy": accuracy,
            "drop": estimate_difference(whole, accuracy),
            "majority": estimate_ratio(gold == label, subset, resamples=resamples),
        }
        if people is not None:
            scores["human"] = estimate_ratio(people.share, people.annotated & subset, resamples=resamples)
        return scores

    return {"subsets": [score(threshold) for threshold in sorted({0.0, *map(float, thresholds)})]}


def score_cs_lambda(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the accuracy on CS_λ and, if annotators' labels are available, the human accuracy.

    The columns are `label` and `lms`, and optionally `annotator_labels`.
    """
    scores = compositionality_sensitivity(
        predictions.predicted,
        predictions.to_label_positions(columns["label"]),
        columns["lms"],
        annotator_labels=predictions.to_vote_positions(columns),
        n_labels=len(predictions.label_space),
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
    return {**scores, "labels": list(predictions.label_space)}
