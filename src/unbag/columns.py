"""Single columns of a data set, as arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def column(rows: Any, name: str) -> Any:
    """Return one column of a `datasets.Dataset` as an Arrow array."""
    return rows.select_columns([name]).with_format("arrow")[:].column(name).combine_chunks()


def numbers(rows: Any, name: str) -> NDArray[Any]:
    """Return one column of a `datasets.Dataset` as a NumPy array, shape (n,)."""
    values: NDArray[np.generic] = column(rows, name).to_numpy(zero_copy_only=False)
    return values
