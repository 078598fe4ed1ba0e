"""Validation of metric inputs (lengths, label ids, label names), and conversion between names and ids."""

from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import LABELS


def validate_lengths(columns: Mapping[str, Any]) -> None:
    """Validate that the columns of a metric have equal lengths. A missing column is None."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"metric inputs: expected columns of equal length, got {lengths}; pass one value per row")


def validate_columns(
    references: ArrayLike, others: Mapping[str, Any] | None = None, /, **columns: ArrayLike
) -> tuple[NDArray[np.int64], ...]:
    """Validate gold label ids and other integer columns, shape (n,) each, and convert them to int64.

    Lengths must be equal and above 0, also those of `others`, columns of any type. Gold labels must not be negative.

    >>> [column.tolist() for column in validate_columns([0, 1], predictions=[2, -1])]
    [[0, 1], [2, -1]]
    """
    arrays = {"references": np.asarray(references)} | {name: np.asarray(column) for name, column in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(
            f"metric inputs: expected one value per example, got shapes {shapes}; pass one-dimensional columns"
        )
    validate_lengths({**arrays, **(others or {})})
    gold = arrays["references"]
    if not len(gold):
        raise ValueError("metric inputs: expected at least one example, got none; pass the rows of the set")
    # Floats are rejected, because truncation would turn 0.9 into label 0.
    if types := {name: str(array.dtype) for name, array in arrays.items() if array.dtype.kind not in "iu"}:
        raise ValueError(f"metric inputs: expected integers, got {types}; pass label ids")
    # -1 is a valid prediction (no label), but an example without a gold label cannot be scored.
    if (unlabelled := gold < 0).any():
        row = int(unlabelled.argmax())
        raise ValueError(
            f"references: expected a gold label for every example, got {gold[row]} in row {row}; exclude "
            "unlabelled rows"
        )
    return tuple(array.astype(np.int64) for array in arrays.values())


def validate_label_ids(
    name: str, ids: NDArray[np.int64], n_labels: int | None, row_indices: NDArray[np.int64] | None = None
) -> None:
    """Validate that all values are label ids, shape (k,). None as `n_labels` accepts any non-negative id.

    `row_indices` are the rows of the ids, for the error message (default: one id per row).
    """
    if (wrong := (ids < 0) | (False if n_labels is None else ids >= n_labels)).any():
        index = int(wrong.argmax())
        row = index if row_indices is None else row_indices[index]
        expected = "non-negative label ids" if n_labels is None else f"label ids from 0 to {n_labels - 1}"
        raise ValueError(f"{name}: expected {expected}, got {ids[index]} in row {row}")


def encode_names(names: Sequence[Hashable] | NDArray[Any]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Encode names as integers, in order of first appearance.

    Returns:
        Index of each name, shape (n,), and the k distinct names in order of their indices.

    >>> encode_names(["b", "a", "b"])
    (array([0, 1, 0]), ['b', 'a'])
    """
    # Python objects hash faster than NumPy scalars, and their repr in error messages is simpler.
    values = names.tolist() if isinstance(names, np.ndarray) else names
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in values), np.int64, count=len(values))
    return codes, list(numbers)


def convert_labels_to_ids(
    labels: Sequence[Any], names: Sequence[str] = LABELS, *, columns: str = "predictions or references"
) -> list[Any]:
    """Convert label names to ids. Other values, such as ids, -1 and None, are unchanged.

    Raises:
        ValueError: If a name is not in `names`.

    >>> convert_labels_to_ids(["neutral", "entailment"]), convert_labels_to_ids([1, 0])
    ([1, 0], [1, 0])
    """
    ids = {name: number for number, name in enumerate(names)}
    for label in labels:
        if isinstance(label, str) and label not in ids:
            raise ValueError(
                f"{columns}: expected one of the labels {', '.join(ids)}, got {label!r}; pass label "
                "ids, or names=[…] in the order of the ids"
            )
    return [ids[label] if isinstance(label, str) else label for label in labels]


def convert_labels_to_names(labels: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Convert label ids to names. Other values are unchanged.

    >>> convert_labels_to_names([1, "entailment", None], ["entailment", "neutral"])
    ['neutral', 'entailment', None]
    """
    named = []
    for row, label in enumerate(labels):
        is_id = isinstance(label, Integral)
        if is_id and not 0 <= label < len(names):
            raise ValueError(
                f"predictions or references: expected label ids from 0 to {len(names) - 1} ({', '.join(names)}), "
                f"got {label} in row {row}"
            )
        named.append(names[label] if is_id else label)
    return named
