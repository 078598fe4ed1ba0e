"""Limits for untrusted Parquet files, in which a few bytes may expand to any number of rows.

Parquet stores a text only once if many rows share it, and a value only once if many consecutive rows share it. Texts
are therefore read as dictionaries, and their total size is computed before rows get separate copies.
"""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import GIGABYTE, LONGEST_LINE, MOST_UNPACKED, DataError, validate_column_count

_BATCH: Final = 1000  # rows
_LARGE_BATCH: Final = 64 << 20  # bytes of `_BATCH` rows; larger rows are yielded individually


def iter_row_batches(file: Path | BytesIO, location: object, start: int = 0) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Iterate over the rows of a Parquet or Arrow file in batches: the number of the first row, and the rows.

    Text columns of a Parquet file are dictionary-encoded, and its row groups before the row `start` are not read. A
    path with another ending than `.parquet` is an Arrow file or an Arrow stream, as `datasets` writes it.

    Raises:
        DataError: If the file exceeds a limit of SECURITY.md.
        pyarrow.ArrowException, OSError: If the file is corrupted or has another format.
    """
    unpacked = 0
    file_size = file.stat().st_size if isinstance(file, Path) else len(file.getbuffer())
    is_arrow = isinstance(file, Path) and file.suffix != ".parquet"
    for number, batch in _iter_arrow(file, location) if is_arrow else _iter_parquet(file, location, file_size, start):
        held = sum(_bytes(column, location) for column in batch.columns)
        unpacked += held + batch.num_rows * batch.num_columns  # nulls have no bytes in some types
        _validate_expansion(unpacked, location, file_size)
        # A batch of an Arrow file may have any number of rows.
        step = 1 if held > _LARGE_BATCH * max(1, batch.num_rows / _BATCH) else _BATCH
        yield from ((number + first, batch.slice(first, step)) for first in range(0, batch.num_rows, step))


def _iter_parquet(
    file: Path | BytesIO, location: object, file_size: int, start: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    footer = pq.read_metadata(file)
    columns = [footer.schema.column(index) for index in range(len(footer.schema))]
    validate_column_count(len(columns), location)
    # Only the totals of a group are safe to read: pyarrow 26 aborts the process if column metadata is corrupted.
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    _validate_expansion(sum(group.total_byte_size for group in groups), location, file_size)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    number = 0
    with pq.ParquetFile(file, metadata=footer, read_dictionary=texts) as rows:
        # One group at a time: pyarrow cannot read texts within lists as dictionaries if a batch spans two groups.
        for index, group in enumerate(groups):
            if number + group.num_rows <= start:
                number += group.num_rows
                continue
            for batch in rows.iter_batches(batch_size=_BATCH, row_groups=[index]):
                yield number, batch
                number += batch.num_rows


def _iter_arrow(path: Any, location: object) -> Iterator[tuple[int, pa.RecordBatch]]:
    number = 0
    with pa.memory_map(str(path)) as file:
        reader = _open_arrow(file)
        validate_column_count(len(reader.schema), location)
        is_stream = isinstance(reader, pa.ipc.RecordBatchStreamReader)
        for batch in reader if is_stream else map(reader.get_batch, range(reader.num_record_batches)):
            batch.validate(full=True)  # the offsets of a corrupted file may point outside its buffers
            yield number, batch
            number += batch.num_rows


def _open_arrow(file: Any) -> Any:
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:  # `datasets` writes streams
        file.seek(0)
        return pa.ipc.open_stream(file)


def read_row_group_sizes(path: Path) -> list[int]:
    """Read the number of rows of each row group of a Parquet file."""
    try:
        footer = pq.read_metadata(path)
        return [footer.row_group(index).num_rows for index in range(footer.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: {extract_first_line(error)}") from None


def find_class_label_names(path: Path, column: str) -> list[str] | None:
    """Find the names of a `ClassLabel` column in the metadata that `datasets` adds to Parquet and Arrow files."""
    try:
        if path.suffix == ".parquet":
            schema = pq.read_schema(path)
        else:
            with pa.memory_map(str(path)) as file:
                schema = _open_arrow(file).schema
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: expected a readable file, got an error ({error})") from None
    try:
        feature = json.loads(schema.metadata[b"huggingface"])["info"]["features"][column]
        names = feature["names"] if feature["_type"] == "ClassLabel" else None
    except (KeyError, TypeError, ValueError):  # no metadata, or of another program
        return None
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


def validate_unpacked_size(file: Path | BytesIO, location: object) -> None:
    """Validate that a file is small enough to be read into memory. For arguments and errors, see `iter_row_batches`."""
    for _ in iter_row_batches(file, location):
        pass


def read_table_with_metadata(file: Path, key: bytes, schema: int) -> tuple[pa.Table, dict[str, Any]]:
    """Read a table written by unbag, and the JSON object under `key` in the file metadata.

    A file that exceeds a limit of SECURITY.md, or with another value of the field `schema`, raises a `ValueError`; a
    corrupted one also `pyarrow.ArrowException`, `OSError`, `KeyError` or `TypeError`.
    """
    validate_unpacked_size(file, "the file")
    table = pq.read_table(file, partitioning=None, page_checksum_verification=True)
    metadata: dict[str, Any] = json.loads(table.schema.metadata[key])
    if metadata["schema"] != schema:
        raise ValueError(f"expected schema version {schema}, got version {metadata['schema']}")
    return table, metadata


def _validate_expansion(unpacked: int, location: object, size: int) -> None:
    if unpacked > GIGABYTE and unpacked > MOST_UNPACKED * size:
        raise DataError(
            f"{location}: expected a decompressed size of at most {MOST_UNPACKED} × {size:,} bytes, got more; if you "
            "trust the file, convert it to jsonl"
        )


def _bytes(array: Any, location: object) -> int:
    """Compute the size of an array in bytes, assuming a separate copy of the value for each row."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        if not (pa.types.is_string(kind.value_type) or pa.types.is_binary(kind.value_type)):
            return int(array.nbytes)
        lengths = pc.take(pc.binary_length(array.dictionary), array.indices)
        if (longest := pc.max(lengths).as_py() or 0) > LONGEST_LINE:
            raise DataError(
                f"{location}: expected at most {LONGEST_LINE:,} bytes per cell, got {longest:,}; shorten the text"
            )
        return int(pc.sum(pc.cast(lengths, pa.int64())).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(_bytes(part, location) for part in array.flatten())
    if pa.types.is_map(kind):
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_bytes(part[start:end], location) for part in (array.keys, array.items))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _bytes(array.flatten(), location)
    return int(array.nbytes)
