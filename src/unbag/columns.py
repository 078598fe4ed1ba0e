"""The columns of data sets: those that all sets have, rows made into tables, single columns as arrays."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PAIR: Final = (
    ("id", pa.string()),  # unique
    ("source_id", pa.string()),  # of the example that the row is made from
    ("premise", pa.string()),
    ("hypothesis", pa.string()),
    ("label", pa.int64()),
)
"""The columns that a set's own follow."""

ROWS_PER_TABLE: Final = 10_000
"""What is held in memory at a time: some MB."""


def tables(rows: Iterable[Mapping[str, Any]], schema: pa.Schema, *, size: int = ROWS_PER_TABLE) -> Iterator[pa.Table]:
    """Yield rows as tables of so many rows each; the last one may have fewer."""
    stream = iter(rows)
    while some := list(islice(stream, size)):
        yield pa.Table.from_pylist(some, schema=schema)


def column(rows: Any, name: str) -> Any:
    """Return one column of a `datasets.Dataset` as an Arrow array."""
    return rows.select_columns([name]).with_format("arrow")[:].column(name).combine_chunks()


def numbers(rows: Any, name: str) -> NDArray[Any]:
    """Return one column of a `datasets.Dataset` as a NumPy array, shape (n,)."""
    values: NDArray[np.generic] = column(rows, name).to_numpy(zero_copy_only=False)
    return values


def values(rows: Any, name: str) -> Any:
    """Return one column of a `datasets.Dataset` as metrics read it: numbers as an array, anything else as a list."""
    array = column(rows, name)
    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_boolean(array.type)
    return array.to_numpy(zero_copy_only=False) if is_number else array.to_pylist()
