"""Claim verification against documents: balanced accuracy, false entailments and consistency within groups."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Column, Estimate, estimate_named_ratios, sum_by_source
from unbag.scoring.validation import encode_names, validate_columns

THIRDS: Final = ("start", "middle", "end")
"""Names of the thirds of a document."""


class DocumentScores(TypedDict):
    """Balanced accuracy, false-entailment rate and paired accuracy on a subset of the rows.

    An `Estimate` is (value, low, high, n): a fraction in [0, 1], its 95 % interval and the number of sources.

    Attributes:
        balanced_accuracy: Mean of two shares: entailed rows predicted as entailment, and other rows predicted as not
            entailed. Chance and every constant prediction score 0.5.
        false_entailment_rate: Share of the not-entailed rows that are predicted as entailment. Lower is better.
        paired_accuracy: Share of the groups (one claim and one document) in which every row is predicted correctly.
            Only groups with both an entailed and a not-entailed row count. Every constant prediction scores 0.
    """

    balanced_accuracy: Estimate
    false_entailment_rate: Estimate
    paired_accuracy: Estimate


class DocumentSizeScores(DocumentScores):
    """Scores on the rows whose documents have k sentences.

    Attributes:
        k: Number of sentences.
    """

    k: int


class EvidencePositionScores(DocumentScores):
    """Scores on the rows whose evidence is in a given third of the document.

    Attributes:
        third: `start`, `middle` or `end`.
    """

    third: str


class DocumentOperationScores(DocumentScores):
    """Scores on the rows that one document operation produced, and on the entailed rows of the same groups.

    Attributes:
        operation: Name of the operation.
    """

    operation: str


class DocumentConsistencyScores(DocumentScores):
    """Scores on all rows, and by document size, evidence position and operation.

    Attributes:
        n_examples: Number of rows.
        n_groups: Number of groups.
        by_k: `DocumentSizeScores` of each document size, in ascending order.
        by_position: `EvidencePositionScores` of each third, for documents with at least three sentences.
        by_operation: `DocumentOperationScores` of each operation with not-entailed rows, in order of first occurrence.
    """

    n_examples: int
    n_groups: int
    by_k: list[DocumentSizeScores]
    by_position: list[EvidencePositionScores]
    by_operation: list[DocumentOperationScores]


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
) -> DocumentConsistencyScores:
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
        entailment: Label id of entailment (default: 0).
        resamples: 0 disables the intervals, which have a closed form. Positive values have no other effect.
        seed: Unused; accepted because all metrics have the same signature.

    Raises:
        ValueError: If the lengths differ, there are no rows, or a position is outside its document.

    >>> groups, operations = ["a1", "a1", "a4", "a4"], ["supported", "removed", "supported", "subject"]
    >>> scores = document_consistency(
    ...     [0, 0, 0, 1], [0, 1, 0, 1], ["a"] * 4, groups, [1, 1, 4, 4], [0, 0, 2, 2], operations
    ... )
    >>> [scores[name].value for name in ("balanced_accuracy", "false_entailment_rate", "paired_accuracy")]
    [0.75, 0.5, 0.5]
    """
    gold, predicted, sizes, positions = validate_columns(references, predictions=predictions, k=k, position=position)
    lengths = {"references": len(gold)} | {
        name: len(column) for name, column in (("source_id", source_id), ("group", group), ("operation", operation))
    }
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"document_consistency: expected columns of equal length, got {lengths}; pass one value per row"
        )
    if (outside := (positions < 0) | (positions >= sizes)).any():
        row = int(outside.argmax())
        raise ValueError(
            f"position: expected values from 0 to k - 1, got {positions[row]} for k={sizes[row]} in row {row}; "
            "pass the columns of the set"
        )
    rows = _LabelledRows(gold == entailment, predicted, entailment, encode_names(source_id)[0], encode_names(group)[0])
    kinds = np.asarray(operation, dtype=object)
    # The middle of the sentence decides its third, so that start and end are symmetric for every k.
    thirds = (2 * positions + 1) * 3 // (2 * sizes)
    parts: dict[tuple[str, Any], NDArray[np.bool_]] = {("all", None): np.ones(len(gold), dtype=np.bool_)}
    parts |= {("k", size): sizes == size for size in np.unique(sizes).tolist()}
    parts |= {("third", name): (thirds == number) & (sizes >= 3) for number, name in enumerate(THIRDS)}
    parts |= {
        ("operation", name): rows.select_with_entailed(kinds == name)
        for name in dict.fromkeys(kinds[~rows.is_entailed])
    }
    ratios: dict[tuple[str, Any, str], tuple[Column, Column]] = {}
    for part, inside in parts.items():
        ratios |= {(*part, name): ratio for name, ratio in rows.ratios(inside).items()}
    estimates = estimate_named_ratios(ratios, resamples=resamples, seed=seed)

    def measures(*part: Any) -> DocumentScores:
        return {
            "balanced_accuracy": estimates[(*part, "balanced_accuracy")],
            "false_entailment_rate": estimates[(*part, "false_entailment_rate")],
            "paired_accuracy": estimates[(*part, "paired_accuracy")],
        }

    return {
        "n_examples": len(gold),
        "n_groups": int(rows.group.max()) + 1,
        **measures("all", None),
        "by_k": [{"k": size, **measures("k", size)} for kind, size in parts if kind == "k"],
        "by_position": [{"third": name, **measures("third", name)} for name in THIRDS if parts["third", name].any()],
        "by_operation": [
            {"operation": name, **measures("operation", name)} for kind, name in parts if kind == "operation"
        ],
    }


class _LabelledRows:
    """Rows with their predictions; sums the scores of any subset by source.

    Attributes:
        is_entailed: Whether each row is entailed, shape (n,).
        group: Group index of each row, shape (n,).
    """

    def __init__(
        self,
        is_entailed: NDArray[np.bool_],
        predicted: NDArray[np.int64],
        entailment: int,
        source: NDArray[np.int64],
        group: NDArray[np.int64],
    ) -> None:
        self.is_entailed = is_entailed
        self.group = group
        self._is_right = ((predicted == entailment) == is_entailed) & (predicted >= 0)
        self._source = source
        self._n_sources = int(source.max()) + 1
        # All rows of a group have the same source.
        self._source_of_group = np.zeros(int(group.max()) + 1, dtype=np.int64)
        self._source_of_group[group] = source

    def select_with_entailed(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Compute a mask of the not-entailed rows in `rows` and of the entailed rows in the same groups, shape (n,)."""
        negatives = rows & ~self.is_entailed
        selected: NDArray[np.bool_] = negatives | (self.is_entailed & self._in_group(negatives)[self.group])
        return selected

    def ratios(self, inside: NDArray[np.bool_]) -> dict[str, tuple[Column, Column]]:
        """Compute the numerator and denominator of each metric on a subset, summed by source, shape (sources,) each."""
        entailed, others = inside & self.is_entailed, inside & ~self.is_entailed
        # Both labels have equal weight. Balanced accuracy is undefined if one of them has no rows.
        weights = np.zeros(len(inside))
        if entailed.any() and others.any():
            weights[entailed], weights[others] = 1 / entailed.sum(), 1 / others.sum()
            weights *= inside.sum() / 2  # the mean weight of a row is 1
        return {
            "balanced_accuracy": (self._by_source(weights * self._is_right), self._by_source(weights)),
            "false_entailment_rate": (self._by_source(others & ~self._is_right), self._by_source(others)),
            "paired_accuracy": self._paired(entailed, others),
        }

    def _paired(self, entailed: NDArray[np.bool_], others: NDArray[np.bool_]) -> tuple[Column, Column]:
        counts = self._in_group(entailed) & self._in_group(others)
        right = counts & ~self._in_group((entailed | others) & ~self._is_right)
        above, below = (sum_by_source(each, self._source_of_group, self._n_sources) for each in (right, counts))
        return above, below

    def _in_group(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Check for each group whether it contains a selected row, shape (groups,)."""
        has_row: NDArray[np.bool_] = np.bincount(self.group, weights=rows) > 0
        return has_row

    def _by_source(self, values: ArrayLike) -> Column:
        return sum_by_source(values, self._source, self._n_sources)
