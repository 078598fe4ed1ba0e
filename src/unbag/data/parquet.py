"""Parquet that anyone may have written, read within limits: a file of some bytes may stand for any number of rows.

A text that many rows share is stored once, and so is a value that a long run of rows has. Texts are therefore read as
they are stored, and counted before any row has a copy of its own.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unbag.utils.safe_io import GIGABYTE, LONGEST_LINE, MOST_COLUMNS, MOST_UNPACKED, DataError

_BATCH: Final = 1000  # rows
_AT_ONCE: Final = 64 << 20  # bytes of a batch, beyond which its rows are given out one by one


def batches(
    file: Path | IO[bytes], place: object, size: int, groups: Sequence[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, some at a time; columns of text come as dictionaries.

    Args:
        file: a path, or a file that can be read anywhere.
        place: what to call it.
        size: its bytes.
        groups: the row groups to read (default all).

    Raises:
        DataError: if it is beyond a limit that SECURITY.md states.
        pyarrow.ArrowException, OSError: if it is damaged, or no Parquet.
    """
    footer = pq.read_metadata(file)
    columns = [footer.schema.column(index) for index in range(len(footer.schema))]
    if len(columns) > MOST_COLUMNS:
        raise DataError(f"{place}: expected at most {MOST_COLUMNS:,} columns, found {len(columns):,}")
    # What a group says of each column, pyarrow 26 ends the process over where it is damaged: nobody may ask for that.
    all_groups = (footer.row_group(index) for index in range(footer.num_row_groups))
    _require_bounded(sum(group.total_byte_size for group in all_groups), place, size)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    unpacked = 0
    with pq.ParquetFile(file, metadata=footer, read_dictionary=texts) as rows:
        # One by one: of a batch that has rows of two groups, pyarrow cannot read texts within lists as they are stored.
        for group in range(footer.num_row_groups) if groups is None else groups:
            for batch in rows.iter_batches(batch_size=_BATCH, row_groups=[group]):
                held = sum(_bytes(column, place) for column in batch.columns)
                unpacked += held + batch.num_rows * batch.num_columns  # of some types, nulls take nothing
                _require_bounded(unpacked, place, size)
                step = 1 if held > _AT_ONCE else _BATCH
                yield from (batch.slice(start, step) for start in range(0, batch.num_rows, step))


def validate_row_group_size(file: Path | IO[bytes], place: object, size: int) -> None:
    """Refuse a file that is not to be read into memory as a whole; see `batches`."""
    for _ in batches(file, place, size):
        pass


def _require_bounded(unpacked: int, place: object, size: int) -> None:
    if unpacked > GIGABYTE and unpacked > MOST_UNPACKED * size:
        raise DataError(
            f"{place}: unpacks to more than {MOST_UNPACKED} times its {size:,} bytes, as no text does; write it anew, "
            "as jsonl, if you trust it"
        )


def _bytes(array: Any, place: object) -> int:
    """Return how many bytes the values of an array come to where each row has its own."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        if not (pa.types.is_string(kind.value_type) or pa.types.is_binary(kind.value_type)):
            return int(array.nbytes)
        lengths = pc.take(pc.binary_length(array.dictionary), array.indices)
        if (longest := pc.max(lengths).as_py() or 0) > LONGEST_LINE:
            raise DataError(f"{place}: expected at most {LONGEST_LINE:,} bytes a cell, found {longest:,}")
        return int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(_bytes(part, place) for part in array.flatten())
    if pa.types.is_map(kind):
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_bytes(part[start:end], place) for part in (array.keys, array.items))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _bytes(array.flatten(), place)
    return int(array.nbytes)
