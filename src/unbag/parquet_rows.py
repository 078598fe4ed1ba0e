"""Rows out of Parquet files, all of them or a range."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import ceil
from pathlib import Path
from typing import Any, Final

from unbag.row import Row, require_once
from unbag.utils.redaction import first_line
from unbag.utils.safe_io import DataError

_PARTS: Final = 16
"""The most parts of a row group: where one begins is found by decoding what is before it in the group, which takes a
hundredth of the time of making rows of it."""


def read_parquet(path: Path, start: int = 0, stop: int | None = None) -> Iterator[Row]:
    """Yield a range of the rows of a Parquet file; row groups outside of it are not read.

    Raises:
        DataError: if it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from unbag import parquet

    number = start
    try:
        bounds = list(pairwise(_bounds(pq.read_metadata(path))))
        groups = [i for i, (first, end) in enumerate(bounds) if end > start and (stop is None or first < stop)]
        if not groups:
            return
        first = bounds[groups[0]][0]  # row of the batch
        for batch in parquet.batches(path, path, path.stat().st_size, groups):
            if number == start:
                require_once(batch.schema.names, path)
            n = batch.num_rows
            wanted = batch[max(0, start - first) : n if stop is None else max(0, stop - first)]
            columns = [_values(wanted, name, path) for name in wanted.schema.names]
            for cells in zip(*columns, strict=True):
                yield Row(number, f"{path}, row {number}", dict(zip(wanted.schema.names, cells, strict=True)))
                number += 1
            first += n
    except (pa.ArrowException, OSError, UnicodeError) as error:  # names of columns may be any bytes
        raise DataError(f"{path}, after {number:,} rows: {first_line(error)}") from None


def parquet_spans(path: Path, size: int) -> list[tuple[int, int | None]]:
    """Return ranges of rows that cover a Parquet file, none in two row groups, each of at least about `size` rows.

    Raises:
        DataError: if it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        groups = list(pairwise(_bounds(pq.read_metadata(path))))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: {first_line(error)}") from None
    firsts = [row for first, end in groups for row in range(first, end, max(size, ceil((end - first) / _PARTS)))]
    return list(zip(firsts or [0], [*firsts[1:], None], strict=True))


def _bounds(metadata: Any) -> list[int]:
    """Return the first row of each row group, and the number of all rows."""
    return list(accumulate((metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)), initial=0))


def _values(batch: Any, name: str, path: Path) -> Sequence[Any]:
    """Return the values of a column, of whatever type: of some, not all are values of Python."""
    column = batch.column(batch.schema.names.index(name))
    try:
        values: Sequence[Any] = column.to_pylist()
    except (ValueError, ArithmeticError, LookupError, ImportError, NotImplementedError) as error:
        raise DataError(f"{path}: the column {name!r} cannot be read ({column.type}: {first_line(error)})") from None
    return values
