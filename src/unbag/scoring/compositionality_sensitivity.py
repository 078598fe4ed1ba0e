"""Accuracy where the words mislead: compositionality-sensitivity testing (Nie et al. 2019, section 5)."""

from collections.abc import Sequence
from typing import Final, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.accuracy import Annotations, agreement
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Column, Estimate, named_estimates
from unbag.scoring.validation import check_ids, labelled

THRESHOLDS: Final = (0.5, 0.6, 0.7)
"""The λ of Table 5."""

_Threshold = TypedDict("_Threshold", {"lambda": float})  # a keyword, which cannot stand in the body of a class


class MisleadingSubset(_Threshold):
    """How often predictions are right on CS_λ.

    Fractions are `Estimate`s (value, low, high, n), from 0 to 1, `drop` from -1. What has no example is None with n 0.

    Attributes:
        lambda: λ.
        n: how many examples CS_λ has; it never rises with λ.
        majority_label: the most frequent gold label in CS_λ (the lowest id among equals); None where it is empty.
        accuracy: share of CS_λ predicted right.
        drop: accuracy on CS_0 less accuracy on CS_λ, on the same examples.
        majority: share of `majority_label`: what a model scores that always gives it. The interval is that of this
            label's share.
        human: how often one annotator agrees with the gold label. Of each example the share of its annotators' labels
            that are the gold label, then the mean over examples; that is what drawing one annotator at random gives on
            average (footnote 10). Examples without annotators count out; its `n` says how many are left. Left out
            without annotators' labels.
    """

    n: int
    majority_label: int | None
    accuracy: Estimate
    drop: Estimate
    majority: Estimate
    human: NotRequired[Estimate]


class CompositionalitySensitivityScores(TypedDict):
    """How often predictions are right where words mislead: Table 5 of Nie et al. (2019), there in per cent.

    Attributes:
        subsets: for each λ from 0 up, `MisleadingSubset`.
    """

    subsets: list[MisleadingSubset]


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
) -> CompositionalitySensitivityScores:
    """Score predictions on the examples whose words mislead a lexical model, for several degrees of misleading.

    LMS, the lexically-misleading score of an example, is the highest probability that a model of words alone gives to a
    wrong label (Nie et al. 2019, equation 6). CS_λ holds the examples with LMS ≥ λ (section 5.4), so CS_0 is the whole
    set; Table 5 has this and λ = 0.5, 0.6, 0.7. A model that is always right has accuracy 1 and drop 0 everywhere.

    Args:
        predictions: predicted label ids, shape (n,). An id that is no label (-1, say) is wrong.
        references: gold label ids, 0 … n_labels - 1, shape (n,).
        lms: lexically-misleading scores, 0 to 1, shape (n,).
        annotator_labels: the label ids that annotators gave to each example, n rows of any length, or an array of shape
            (n, annotators). None and -1 are no label. For `human`.
        thresholds: the λ beside 0, in any order; each counts once.
        n_labels: how many labels there are.
        resamples: 0 for no intervals; any other number gives the same ones, which are in closed form.
        seed: without effect on intervals in closed form; every metric takes it.

    Raises:
        ValueError: if lengths differ, there is no example, a label id is not one of 0 … n_labels - 1, or an LMS or a
            threshold is not between 0 and 1.

    >>> scores = compositionality_sensitivity([0, 1, 2, 0], [0, 1, 1, 2], [0.1, 0.6, 0.7, 0.9], thresholds=[0.6])
    >>> [(subset["lambda"], subset["n"], subset["accuracy"].value) for subset in scores["subsets"]]
    [(0.0, 4, 0.5), (0.6, 3, 0.3333333333333333)]
    """
    gold, predicted = labelled(references, predictions=predictions)
    check_ids("references", gold, n_labels)
    misleading = _scores(lms, len(gold))
    if wrong := [threshold for threshold in thresholds if not 0 <= threshold <= 1]:
        raise ValueError(f"expected thresholds from 0 to 1, found {wrong}")
    right = predicted == gold
    people = None if annotator_labels is None else agreement(annotator_labels, gold, n_labels)

    lambdas = sorted({0.0, *map(float, thresholds)})
    majority: dict[float, int | None] = {}
    ratios: dict[tuple[str, float], tuple[Column, Column | float]] = {}
    drops: dict[tuple[str, float], tuple[tuple[str, float], tuple[str, float]]] = {}
    for threshold in lambdas:
        subset = misleading >= threshold
        label = int(np.bincount(gold[subset]).argmax()) if subset.any() else None
        majority[threshold] = label
        ratios["accuracy", threshold] = (right & subset, subset)
        ratios["majority", threshold] = ((gold == label) & subset, subset)
        if people is not None:
            ratios["human", threshold] = (people.share * subset, people.annotated & subset)
        drops["drop", threshold] = ("accuracy", 0.0), ("accuracy", threshold)
    estimates = named_estimates(ratios, drops, resamples=resamples, seed=seed)

    subsets: list[MisleadingSubset] = [
        {
            "lambda": threshold,
            "n": estimates["accuracy", threshold].n,
            "majority_label": majority[threshold],
            "accuracy": estimates["accuracy", threshold],
            "drop": estimates["drop", threshold],
            "majority": estimates["majority", threshold],
        }
        for threshold in lambdas
    ]
    if people is not None:
        for scores in subsets:
            scores["human"] = estimates["human", scores["lambda"]]
    return {"subsets": subsets}


def _scores(lms: ArrayLike, n: int) -> NDArray[np.float64]:
    scores = np.asarray(lms, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(f"expected one LMS an example, shape ({n},), found shape {scores.shape}")
    if (wrong := ~((scores >= 0) & (scores <= 1))).any():  # NaN is neither
        row = int(wrong.argmax())
        raise ValueError(f"expected every LMS from 0 to 1, found {scores[row]} in row {row}")
    return scores
