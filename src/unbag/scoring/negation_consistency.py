"""Negation consistency: accuracy by operation, false entailments, and consistency on mirrored pairs.

A mirror is two pairs with one hypothesis, and premises of the same words in another order, of which one entails it. A
model that ignores the order of words has accuracy 1/2 and mirror consistency 0.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import TWO_WAY
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_ratio
from unbag.scoring.validation import encode_names, validate_columns


def negation_consistency(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any],
    mirror: Sequence[Hashable] | NDArray[Any],
    operation: Sequence[str] | NDArray[Any],
    *,
    entailment: int = 0,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute accuracy, false-entailment rate and contrast consistency (`mirror_consistency`) on pairs with negations.

    A mirror is two pairs with one hypothesis and different labels, whose premises have the same words. Mirror
    consistency is the contrast consistency of Gardner et al. (2020), https://arxiv.org/abs/2004.02709, with mirrors as
    contrast sets.

    Args:
        predictions: Predicted label ids, shape (n,). Every id from 0 up other than `entailment` means not entailed; a
            negative id is a missing prediction, which is wrong for any gold label.
        references: Gold label ids, shape (n,). Every id other than `entailment` means not entailed.
        source_id: Source of each row, shape (n,). Rows of one source are not independent evidence.
        mirror: Mirror of each row, shape (n,). The rows of a mirror have one source and need not be adjacent.
        operation: Operation of each row, shape (n,).
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        The scores of the card `metrics/negation_consistency/README.md`, as `Estimate`s in [0, 1]; the value is None
        without rows. Operations are in order of first occurrence.

    >>> scores = negation_consistency([0, 2, 0, 0], [0, 1, 0, 1], list("aabb"), list("xxyy"), ["restated"] * 4)
    >>> scores["accuracy"].value, scores["false_entailment_rate"].value, scores["mirror_consistency"].value
    (0.75, 0.5, 0.5)
    """
    names = {"source_id": source_id, "mirror": mirror, "operation": operation}
    gold, predicted = validate_columns(references, names, predictions=predictions)
    source, group = encode_names(source_id)[0], encode_names(mirror)[0]
    source_of_mirror = np.zeros(int(group.max()) + 1, dtype=np.int64)
    source_of_mirror[group] = source
    right = ((predicted == entailment) == (gold == entailment)) & (predicted >= 0)
    is_mirror_right = np.bincount(group, weights=~right) == 0

    def score(inside: NDArray[np.bool_]) -> dict[str, Any]:
        others = inside & (gold != entailment)
        counted = np.bincount(group, weights=inside) > 0
        return {
            "accuracy": estimate_ratio(right, inside, source, resamples=resamples),
            "false_entailment_rate": estimate_ratio(~right, others, source, resamples=resamples),
            "mirror_consistency": estimate_ratio(is_mirror_right, counted, source_of_mirror, resamples=resamples),
        }

    kinds = np.asarray(operation, dtype=object)
    return {
        "n_examples": len(gold),
        "n_mirrors": len(source_of_mirror),
        **score(np.ones(len(gold), dtype=np.bool_)),
        "by_operation": [{"operation": name, **score(kinds == name)} for name in dict.fromkeys(kinds.tolist())],
    }


def score_negation(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the scores of the negation set. Predictions of neutral and contradiction count as not entailed.

    If the rows are a part of the set, a mirror of which only one pair is included is judged by that one.
    """
    return negation_consistency(
        predictions.align_to_gold(TWO_WAY).predicted,
        *(columns[name] for name in ("label", "source_id", "mirror", "operation")),
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
