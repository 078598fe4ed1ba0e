"""Verification of claims against documents: balanced accuracy, false entailments and consistency within groups."""

from collections.abc import Hashable, Sequence
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.bootstrap import DEFAULT_RESAMPLES, Column, Estimate, named_estimates, sum_by_source
from unbag.scoring.validation import encode_names, validate_columns

THIRDS: Final = ("start", "middle", "end")
"""Thirds of a document."""


class DocumentMeasures(TypedDict):
    """Measures of the predictions on some rows. An `Estimate` is (value, low, high, n) from 0 to 1, n the sources.

    Attributes:
        balanced_accuracy: Mean of the share of entailed rows predicted entailment and the share of the other rows
            predicted otherwise. Chance and every constant prediction have 0.5.
        false_entailment_rate: Share of the rows that are not entailed and are predicted entailment. Lower is better.
        paired_accuracy: Share of the groups (one claim and one document) in which every row is predicted right. Only
            groups with an entailed row and another row count. Every constant prediction has 0.
    """

    balanced_accuracy: Estimate
    false_entailment_rate: Estimate
    paired_accuracy: Estimate


class SizeMeasures(DocumentMeasures):
    """Measures of the rows whose documents have one size.

    Attributes:
        k: Number of sentences.
    """

    k: int


class PositionMeasures(DocumentMeasures):
    """Measures of the rows whose evidence is in one third of the document.

    Attributes:
        third: `start`, `middle` or `end`.
    """

    third: str


class OperationMeasures(DocumentMeasures):
    """Measures of the rows of one operation, beside the entailed rows of the same groups.

    Attributes:
        operation: Name of the operation.
    """

    operation: str


class DocumentConsistencyScores(DocumentMeasures):
    """Measures of all rows, by size of the document, by position of the evidence and by operation.

    Attributes:
        n_examples: Number of rows.
        n_groups: Number of groups.
        by_k: `SizeMeasures` of each size, the smallest first.
        by_position: `PositionMeasures` of each third of the documents of three or more sentences.
        by_operation: `OperationMeasures` of each operation that makes rows that are not entailed, in the order in which
            they first occur.
    """

    n_examples: int
    n_groups: int
    by_k: list[SizeMeasures]
    by_position: list[PositionMeasures]
    by_operation: list[OperationMeasures]


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
    """Score predictions of whether documents entail claims.

    Paired accuracy is the "contrast consistency" of Gardner et al. (2020), https://arxiv.org/abs/2004.02709. Rows of a
    group have the same document or the same claim, so that a model that reads one of the two alone has 0.

    Args:
        predictions: Predicted label ids, shape (n,). Every id from 0 up other than `entailment` means not entailed; a
            negative id is wrong.
        references: Gold label ids, shape (n,), read in the same way.
        source_id: Source of each row, shape (n,). Rows of one source are not independent evidence.
        group: Group of each row (one claim and one document), shape (n,). Members need not be adjacent.
        k: Number of sentences of each row's document, shape (n,).
        position: Position of the evidence among them, from 0 to k - 1, shape (n,).
        operation: What was done to each row's claim or document, shape (n,).
        entailment: Label id of entailment.
        resamples: 0 for no intervals. Any other number gives the same ones, which are in closed form.
        seed: No effect on intervals in closed form. Every metric takes a seed.

    Raises:
        ValueError: If the lengths differ, there is no row, or a position is not in its document.

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
        raise ValueError(f"document_consistency: expected columns of the same length, got {lengths}")
    if (outside := (positions < 0) | (positions >= sizes)).any():
        row = int(outside.argmax())
        raise ValueError(
            f"position: expected positions from 0 to k - 1, got {positions[row]} of k = {sizes[row]} in row {row}"
        )
    rows = _LabelledRows(gold == entailment, predicted, entailment, encode_names(source_id)[0], encode_names(group)[0])
    kinds = np.asarray(operation, dtype=object)
    # The position of the middle of a sentence, in thirds of the document: both ends are alike for every k.
    thirds = (2 * positions + 1) * 3 // (2 * sizes)
    parts: dict[tuple[str, Any], NDArray[np.bool_]] = {("all", None): np.ones(len(gold), dtype=np.bool_)}
    parts |= {("k", size): sizes == size for size in np.unique(sizes).tolist()}
    parts |= {("third", name): (thirds == number) & (sizes >= 3) for number, name in enumerate(THIRDS)}
    parts |= {
        ("operation", name): rows.beside_entailed(kinds == name) for name in dict.fromkeys(kinds[~rows.is_entailed])
    }
    ratios: dict[tuple[str, Any, str], tuple[Column, Column]] = {}
    for part, inside in parts.items():
        ratios |= {(*part, name): ratio for name, ratio in rows.ratios(inside).items()}
    estimates = named_estimates(ratios, resamples=resamples, seed=seed)

    def measures(*part: Any) -> DocumentMeasures:
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
    """Rows with their predictions, from which the measures of any part are summed by source.

    Attributes:
        is_entailed: Whether each row is entailed, shape (n,).
        group: Number of each row's group, shape (n,).
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
        self._says_entailed = predicted == entailment
        self._is_right = (self._says_entailed == is_entailed) & (predicted >= 0)
        self._source = source
        self._n_sources = int(source.max()) + 1
        # The rows of a group are of one source.
        self._source_of_group = np.zeros(int(group.max()) + 1, dtype=np.int64)
        self._source_of_group[group] = source

    def beside_entailed(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return some rows that are not entailed with the entailed rows of their groups, shape (n,)."""
        kept = rows & ~self.is_entailed
        both: NDArray[np.bool_] = kept | (self.is_entailed & self._in_group(kept)[self.group])
        return both

    def ratios(self, inside: NDArray[np.bool_]) -> dict[str, tuple[Column, Column]]:
        """Sum up numerators and denominators by source, shape (sources,) each, over the rows of a part."""
        entailed, others = inside & self.is_entailed, inside & ~self.is_entailed
        # Both labels weigh alike; without rows of one there is no balanced accuracy.
        weights = np.zeros(len(inside))
        if entailed.any() and others.any():
            weights[entailed], weights[others] = 1 / entailed.sum(), 1 / others.sum()
            weights *= inside.sum() / 2  # so that a row weighs 1 on average
        return {
            "balanced_accuracy": (self._by_source(weights * self._is_right), self._by_source(weights)),
            "false_entailment_rate": (self._by_source(others & self._says_entailed), self._by_source(others)),
            "paired_accuracy": self._paired(entailed, others),
        }

    def _paired(self, entailed: NDArray[np.bool_], others: NDArray[np.bool_]) -> tuple[Column, Column]:
        counts = self._in_group(entailed) & self._in_group(others)
        right = counts & ~self._in_group((entailed | others) & ~self._is_right)
        above, below = (sum_by_source(each, self._source_of_group, self._n_sources) for each in (right, counts))
        return above, below

    def _in_group(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Check for each group whether it has one of some rows, shape (groups,)."""
        has_row: NDArray[np.bool_] = np.bincount(self.group, weights=rows) > 0
        return has_row

    def _by_source(self, values: ArrayLike) -> Column:
        return sum_by_source(values, self._source, self._n_sources)
