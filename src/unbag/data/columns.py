"""The columns of data sets: those that all sets have, rows made into tables, single columns as arrays."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from unbag.utils.duplicates import DigestFile, may_have_duplicates

PAIR: Final = (
    ("id", pa.string()),  # unique
    ("source_id", pa.string()),  # of the example that the row is made from
    ("premise", pa.string()),
    ("hypothesis", pa.string()),
    ("label", pa.int64()),
)
"""The columns that a set's own follow."""

_DECIMALS: Final = b"decimals"  # the key in a field's metadata


def real(name: str, decimals: int) -> pa.Field:
    """Declare a floating-point column of a set, and the decimals that its values are rounded to.

    Values differ in their last digits between processors and numbers of threads. A set holds the rounded ones, and
    whatever is decided by a value (which rows belong to a subset, in what order) is decided by the rounded one, so that
    everybody builds the same rows.
    """
    return pa.field(name, pa.float64(), metadata={_DECIMALS: str(decimals)})


def decimals(field: pa.Field) -> int:
    """Return the decimals that a column of `real` numbers is rounded to.

    Raises:
        KeyError: if the column was not declared by `real`.
    """
    return int((field.metadata or {})[_DECIMALS])


def rounded(values: ArrayLike, field: pa.Field) -> NDArray[Any]:
    """Round values to the decimals of their column, so that they equal the literals that people write (0.7).

    >>> rounded(np.array([0.70004, 1 / 3]), real("lms", 4)).tolist()
    [0.7, 0.3333]
    """
    nearest: NDArray[Any] = np.round(np.asarray(values, dtype=np.float64), decimals(field))
    return nearest


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
    if is_number:
        return array.to_numpy(zero_copy_only=False)
    if not pa.types.is_string(array.type):
        return array.to_pylist()
    coded = array.dictionary_encode()  # so that equal texts, such as the id of one example's rows, are in memory once
    names = coded.dictionary.to_pylist()
    return [None if code is None else names[code] for code in coded.indices.to_pylist()]


def distinct(rows: Any, name: str) -> int:
    """Return how many different texts a column of a `datasets.Dataset` has.

    Equal ones mostly stand together, in which case memory does not grow with the rows.
    """
    runs, last = 0, None
    with TemporaryDirectory(prefix="unbag-") as folder:
        with DigestFile(Path(folder) / "digests") as file:
            for batch in rows.select_columns([name]).with_format("arrow").iter(batch_size=ROWS_PER_TABLE):
                texts = batch.column(name).combine_chunks()
                is_new = np.append(True, pc.not_equal(texts[1:], texts[:-1]).to_numpy(zero_copy_only=False))
                is_new[0] = texts[0].as_py() != last
                last = texts[-1].as_py()
                runs += int(is_new.sum())
                for text in texts.filter(pa.array(is_new)).to_pylist():
                    file.add(text)
        return len(rows.unique(name)) if may_have_duplicates([Path(folder) / "digests"]) else runs
