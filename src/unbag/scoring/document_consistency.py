"""Claim verification against documents: balanced accuracy, false entailments and consistency within groups."""

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import TWO_WAY
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, estimate_ratio
from unbag.scoring.validation import encode_names, validate_columns

THIRDS: Final = ("start", "middle", "end")
"""Names of the thirds of a document."""


def document_consistency(
    predictions: ArrayLike,
    references: ArrayLike,
    source_id: Sequence[Hashable] | NDArray[Any],
    group: Sequence[Hashable] | NDArray[Any],
    k: ArrayLike,
    position: ArrayLike,
    operation: Sequence[str] | NDArray[Any],
    *,
    entailment: int = 0,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Compute balanced accuracy, false-entailment rate and paired accuracy of claim verification on documents.

    Paired accuracy is the "contrast consistency" of Gardner et al. (2020), https://arxiv.org/abs/2004.02709. The rows
    of a group share a document or a claim. A model that reads only the shared one therefore scores 0.

    Args:
        predictions: Predicted label ids, shape (n,). Every non-negative id other than `entailment` means not entailed;
            a negative id is a missing prediction, which is wrong for any gold label.
        references: Gold label ids, shape (n,). Every id other than `entailment` means not entailed.
        source_id: Source of each row, shape (n,). Rows with the same source are not independent.
        group: Group of each row (one claim and one document), shape (n,). Members need not be adjacent.
        k: Number of sentences in the document of each row, shape (n,).
        position: Index of the evidence among these sentences, from 0 to k - 1, shape (n,).
        operation: Name of the operation on the claim or document of each row, shape (n,).
        resamples: 0 disables the intervals, which have a closed form. `seed` has no effect.

    Returns:
        The scores of the card `metrics/document_consistency/README.md`, as `Estimate`s in [0, 1]; `n` counts sources.

    >>> groups, operations = ["a1", "a1", "a4", "a4"], ["supported", "removed", "supported", "subject"]
    >>> scores = document_consistency(
    ...     [0, 0, 0, 1], [0, 1, 0, 1], ["a"] * 4, groups, [1, 1, 4, 4], [0, 0, 2, 2], operations
    ... )
    >>> [scores[name].value for name in ("balanced_accuracy", "false_entailment_rate", "paired_accuracy")]
    [0.75, 0.5, 0.5]
    """
    names = {"source_id": source_id, "group": group, "operation": operation}
    gold, predicted, sizes, positions = validate_columns(
        references, names, predictions=predictions, k=k, position=position
    )
    if (outside := (positions < 0) | (positions >= sizes)).any():
        row = int(outside.argmax())
        raise ValueError(
            f"position: expected values from 0 to k - 1, got {positions[row]} for k={sizes[row]} in row {row}; "
            "pass the columns of the set"
        )
    is_entailed, kinds = gold == entailment, np.asarray(operation, dtype=object)
    right = ((predicted == entailment) == is_entailed) & (predicted >= 0)
    source, of_group = encode_names(source_id)[0], encode_names(group)[0]
    source_of_group = np.zeros(int(of_group.max()) + 1, dtype=np.int64)
    source_of_group[of_group] = source  # all rows of a group have the same source

    def find_groups(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Check for each group whether it contains one of the rows, shape (groups,)."""
        has_row: NDArray[np.bool_] = np.bincount(of_group, weights=rows) > 0
        return has_row

    def score(inside: NDArray[np.bool_]) -> dict[str, Any]:
        entailed, others = inside & is_entailed, inside & ~is_entailed
        # Both labels have equal weight. Balanced accuracy is undefined if one of them has no rows.
        weights = np.zeros(len(inside))
        if entailed.any() and others.any():
            weights[entailed], weights[others] = 1 / entailed.sum(), 1 / others.sum()
            weights *= inside.sum() / 2  # the mean weight of a row is 1
        has_both = find_groups(entailed) & find_groups(others)
        all_right = ~find_groups(inside & ~right)
        return {
            "balanced_accuracy": estimate_ratio(right, weights, source, resamples=resamples),
            "false_entailment_rate": estimate_ratio(~right, others, source, resamples=resamples),
            "paired_accuracy": estimate_ratio(all_right, has_both, source_of_group, resamples=resamples),
        }

    def score_operation(name: str) -> dict[str, Any]:
        """Score the not-entailed rows of an operation and the entailed rows in the same groups."""
        negatives = (kinds == name) & ~is_entailed
        return score(negatives | (is_entailed & find_groups(negatives)[of_group]))

    # The middle of the sentence decides its third, so that start and end are symmetric for every k.
    thirds = (2 * positions + 1) * 3 // (2 * sizes)
    by_third = {name: (thirds == number) & (sizes >= 3) for number, name in enumerate(THIRDS)}
    return {
        "n_examples": len(gold),
        "n_groups": len(source_of_group),
        **score(np.ones(len(gold), dtype=np.bool_)),
        "by_k": [{"k": size, **score(sizes == size)} for size in np.unique(sizes).tolist()],
        "by_position": [{"third": name, **score(rows)} for name, rows in by_third.items() if rows.any()],
        "by_operation": [
            {"operation": name, **score_operation(name)} for name in dict.fromkeys(kinds[~is_entailed].tolist())
        ],
    }


def score_recombined(columns: Columns, predictions: SetPredictions, *, partial: bool = False) -> dict[str, Any]:
    """Compute the scores of the recombined set. Predictions of neutral and contradiction count as not entailed.

    If the rows are a part of the set, the paired accuracy covers only groups with an entailed row and another row.
    """
    return document_consistency(
        predictions.align_to_gold(TWO_WAY).predicted,
        columns["label"],
        *(columns[name] for name in ("source_id", "group", "k", "position", "operation")),
        resamples=0 if partial else DEFAULT_RESAMPLES,
    )
