"""Validation of the inputs of every metric: lengths, label ids and label names, and names as numbers."""

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.data.labels import LABELS


def labelled(references: ArrayLike, **columns: ArrayLike) -> tuple[NDArray[np.int64], ...]:
    """Return gold label ids and other whole numbers by example, in the order given, shape (n,) each.

    Raises:
        ValueError: if lengths differ, there is no example, a value is not a whole number, or a gold label is negative.
    """
    arrays = {"references": np.asarray(references)} | {name: np.asarray(column) for name, column in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"expected one value an example, found the shapes {shapes}")
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected the same number of examples everywhere, found {lengths}")
    if not len(arrays["references"]):
        raise ValueError("expected at least one example, found none")
    if types := {name: str(array.dtype) for name, array in arrays.items() if array.dtype.kind not in "iu"}:
        raise ValueError(f"expected whole numbers, found {types}")
    gold = arrays["references"]
    if (unlabelled := gold < 0).any():
        row = int(unlabelled.argmax())
        raise ValueError(
            f"expected a gold label for every example, found {gold[row]} in row {row}; leave such rows out"
        )
    return tuple(array.astype(np.int64) for array in arrays.values())


def check_ids(name: str, ids: NDArray[np.int64], n_labels: int | None, rows: NDArray[np.int64] | None = None) -> None:
    """Refuse what is no label's id.

    Args:
        name: what the ids are, for the message.
        ids: shape (k,).
        n_labels: how many labels there are; None where any id from 0 up is one.
        rows: of which example each is, for the message, shape (k,); None where they are one an example.

    Raises:
        ValueError: if there is another.
    """
    if (wrong := (ids < 0) | (False if n_labels is None else ids >= n_labels)).any():
        index = int(wrong.argmax())
        row = index if rows is None else rows[index]
        expected = "ids from 0 up" if n_labels is None else f"ids from 0 to {n_labels - 1}"
        raise ValueError(f"{name}: expected {expected}, found {ids[index]} in row {row}")


def numbered(names: Sequence[Hashable] | NDArray[Any]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Return the number of each name, shape (n,), by first appearance, and the k names in that order.

    >>> numbered(["b", "a", "b"])
    (array([0, 1, 0]), ['b', 'a'])
    """
    values = names.tolist() if isinstance(names, np.ndarray) else names
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in values), np.int64, count=len(values))
    return codes, list(numbers)


def label_ids(labels: Sequence[Any], names: Sequence[str] = LABELS) -> list[Any]:
    """Return label ids; names become their ids, and all else stays as it is.

    Args:
        labels: Label ids or label names, shape (n,); -1 and None are no label.
        names: Names of the ids 0, 1, …; default: entailment, neutral, contradiction.

    Raises:
        ValueError: If a name is none of `names`.

    >>> label_ids(["neutral", "entailment"]), label_ids([1, 0])
    ([1, 0], [1, 0])
    """
    ids = {name: number for number, name in enumerate(names)}
    for label in labels:
        if isinstance(label, str) and label not in ids:
            raise ValueError(
                f"predictions or references: expected labels {', '.join(ids)}, got {label!r}; pass ids, or names=[…] "
                "in the order of the ids"
            )
    return [ids[label] if isinstance(label, str) else label for label in labels]


def label_names(labels: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return label names; ids become their names, and all else stays as it is.

    Args:
        labels: Label ids or label names, shape (n,); None is no label.
        names: Names of the ids 0, 1, …

    Raises:
        ValueError: If an id is none of `names`.

    >>> label_names([1, "entailment", None], ["entailment", "neutral"])
    ['neutral', 'entailment', None]
    """
    named = []
    for row, label in enumerate(labels):
        is_id = isinstance(label, Integral)
        if is_id and not 0 <= label < len(names):
            raise ValueError(
                f"predictions or references: expected label ids from 0 to {len(names) - 1} ({', '.join(names)}), got "
                f"{label} in row {row}"
            )
        named.append(names[label] if is_id else label)
    return named
