"""Names as numbers, so that arrays can be summed by them."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbered(names: Sequence[Hashable] | NDArray[Any]) -> tuple[NDArray[np.int64], list[Hashable]]:
    """Return the number of each name, shape (n,), by first appearance, and the k names in that order.

    >>> numbered(["b", "a", "b"])
    (array([0, 1, 0]), ['b', 'a'])
    """
    values = names.tolist() if isinstance(names, np.ndarray) else names
    numbers: dict[Hashable, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in values), np.int64, count=len(values))
    return codes, list(numbers)
