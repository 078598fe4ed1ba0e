"""What the inputs of every metric must be."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
