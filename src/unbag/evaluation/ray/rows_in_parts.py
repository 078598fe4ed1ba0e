"""Dataset in several Parquet files, with a part of the interface of `datasets.Dataset`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import DataError
from unbag.utils.storage import StorageFolder

META: Final = b"unbag.part"
"""Schema metadata key for the hash of the inputs and the counts of the build."""


@dataclass(frozen=True)
class PartitionedRows:
    """Rows of a dataset that is stored in several Parquet files.

    Attributes:
        folder: Folder of the files.
        files: Names of the files.
        columns: Columns to read; None for all.
    """

    folder: StorageFolder
    files: Sequence[str]
    columns: Sequence[str] | None = None

    def __len__(self) -> int:
        return sum(self._rows)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        with self.folder.open(self.files[0]) as file:
            return list(pq.read_schema(file).names)

    def select_columns(self, names: str | Sequence[str]) -> "PartitionedRows":
        """Select columns. Returns a new object."""
        return replace(self, columns=[names] if isinstance(names, str) else list(names))

    def with_format(self, form: str) -> "PartitionedRows":
        """Return the rows unchanged. The only supported format is Arrow."""
        assert form == "arrow"
        return self

    def iter(self, batch_size: int) -> Iterator[pa.Table]:
        """Iterate over tables of at most `batch_size` rows.

        Raises:
            DataError: If a file is corrupted.
        """
        for name in self.files:
            try:
                with self.folder.open(name) as file:
                    table = pq.read_table(file, columns=self.columns, page_checksum_verification=True)
            except (OSError, pa.ArrowException) as error:
                raise DataError(
                    f"{self.folder.get_location(name)}: expected a readable file, got an error "
                    f"({extract_first_line(error)}); remove the file and build the set again"
                ) from None
            for start in range(0, len(table), batch_size):
                yield table.slice(start, batch_size)

    def unique(self, name: str) -> list[Any]:
        """Collect the distinct values of a column."""
        columns = [table.column(name).combine_chunks() for table in self.select_columns(name).iter(1 << 20)]
        values: list[Any] = pc.unique(pa.chunked_array(columns)).to_pylist()
        return values

    @cached_property
    def _rows(self) -> list[int]:
        return [self._rows_of(name) for name in self.files]

    def _rows_of(self, name: str) -> int:
        with self.folder.open(name) as file:
            rows: int = pq.read_metadata(file).num_rows
        return rows


def read_metadata(folder: StorageFolder, name: str) -> dict[str, Any] | None:
    """Read unbag's metadata from a Parquet file. Return None if the file is missing, corrupted or has no metadata."""
    try:
        with folder.open(name) as file:
            meta: dict[str, Any] = json.loads(pq.read_schema(file).metadata[META])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None
    return meta
