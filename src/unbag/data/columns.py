"""Columns of challenge sets: common columns, rounding, and conversion to tables and arrays."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import ArrayLike, NDArray

PAIR: Final = (
    ("id", pa.string()),  # unique
    ("source_id", pa.string()),  # id of the source example of the row
    ("premise", pa.string()),
    ("hypothesis", pa.string()),
    ("label", pa.int64()),
)
"""Columns of all sets. Set-specific columns follow these."""

_DECIMALS: Final = b"decimals"  # the key in a field's metadata


def declare_float_field(name: str, decimals: int) -> pa.Field:
    """Declare a floating-point column whose values are rounded to a fixed number of decimals.

    The last digits of a value depend on the processor and the number of threads, so sets store rounded values. Subsets
    and orders that depend on a value use the rounded value, so that all machines build the same rows.
    """
    return pa.field(name, pa.float64(), metadata={_DECIMALS: str(decimals)})


def round_to_field(values: ArrayLike, field: pa.Field) -> NDArray[Any]:
    """Round values to the declared decimals of a column, so that they equal decimal literals such as 0.7.

    >>> round_to_field(np.array([0.70004, 1 / 3]), declare_float_field("lms", 4)).tolist()
    [0.7, 0.3333]
    """
    nearest: NDArray[Any] = np.round(np.asarray(values, dtype=np.float64), int(field.metadata[_DECIMALS]))
    return nearest


ROWS_PER_TABLE: Final = 10_000
"""Number of rows in memory at the same time (a few MB)."""


def iter_tables(
    rows: Iterable[Mapping[str, Any]], schema: pa.Schema, *, size: int = ROWS_PER_TABLE
) -> Iterator[pa.Table]:
    """Convert rows to Arrow tables of `size` rows each. The last table may be smaller."""
    stream = iter(rows)
    while batch := list(islice(stream, size)):
        yield pa.Table.from_pylist(batch, schema=schema)


def read_column(rows: Any, name: str) -> Any:
    """Read one column of a `datasets.Dataset` as an Arrow array."""
    if rows._indices is None:  # otherwise, `datasets` copies the data set and formats the rows
        return rows.data.column(name).combine_chunks()
    return rows.select_columns([name]).with_format("arrow")[:].column(name).combine_chunks()


def read_numeric_column(rows: Any, name: str) -> NDArray[Any]:
    """Read one column of a `datasets.Dataset` as a NumPy array, shape (n,)."""
    values: NDArray[np.generic] = read_column(rows, name).to_numpy(zero_copy_only=False)
    return values


def read_column_values(rows: Any, name: str) -> Any:
    """Read one column of a `datasets.Dataset` for a metric: numbers as an array, other values as a list."""
    array = read_column(rows, name)
    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_boolean(array.type)
    if is_number:
        return array.to_numpy(zero_copy_only=False)
    if not pa.types.is_string(array.type):
        return array.to_pylist()
    # Rows of one example share its id. The dictionary encoding stores equal texts as one Python string.
    coded = array.dictionary_encode()
    names = coded.dictionary.to_pylist()
    return [None if code is None else names[code] for code in coded.indices.to_pylist()]


def count_distinct(rows: Any, name: str) -> int:
    """Count the distinct texts in a column of a `datasets.Dataset`.

    The count compares hashes of 64 bits, which need less memory than the texts.
    """
    tables = rows.select_columns([name]).with_format("arrow").iter(batch_size=ROWS_PER_TABLE)
    texts = (text.encode() for table in tables for text in table.column(name).to_pylist())
    return len(np.unique(np.fromiter(map(xxhash.xxh3_64_intdigest, texts), np.uint64, count=len(rows))))
