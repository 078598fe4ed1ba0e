"""Rows in files of a folder, read one file after another: as much of a `datasets.Dataset` as a set's record takes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unbag.utils.redaction import first_line
from unbag.utils.safe_io import DataError
from unbag.utils.storage import Folder

META: Final = b"unbag.part"
"""Of a file's schema: what decides its rows, and what was noted while they were made."""


@dataclass(frozen=True)
class RowsInParts:
    """The rows of some files, in their order.

    Attributes:
        folder: where they are.
        files: their names.
        columns: those that are read; None for all.
    """

    folder: Folder
    files: Sequence[str]
    columns: Sequence[str] | None = None

    def __len__(self) -> int:
        return sum(self._rows)

    @property
    def column_names(self) -> list[str]:
        """The columns of the first file."""
        with self.folder.open(self.files[0]) as file:
            return list(pq.read_schema(file).names)

    def select_columns(self, names: str | Sequence[str]) -> "RowsInParts":
        """Return the same rows with fewer columns."""
        return replace(self, columns=[names] if isinstance(names, str) else list(names))

    def with_format(self, form: str) -> "RowsInParts":
        """Return the rows as Arrow has them, which they are."""
        assert form == "arrow"
        return self

    def iter(self, batch_size: int) -> Iterator[pa.Table]:
        """Yield the rows as tables of at most so many.

        Raises:
            DataError: at a file that is damaged.
        """
        for name in self.files:
            try:
                with self.folder.open(name) as file:
                    table = pq.read_table(file, columns=self.columns, page_checksum_verification=True)
            except (OSError, pa.ArrowException) as error:
                raise DataError(
                    f"{self.folder.where(name)} cannot be read ({first_line(error)}); remove it and build the set again"
                ) from None
            for start in range(0, len(table), batch_size):
                yield table.slice(start, batch_size)

    def unique(self, name: str) -> list[Any]:
        """Return the different values of a column."""
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


def meta_of(folder: Folder, name: str) -> dict[str, Any] | None:
    """Return what stands in the metadata of a file of ours; None where there is no such file, or no whole one."""
    try:
        with folder.open(name) as file:
            found: dict[str, Any] = json.loads(pq.read_schema(file).metadata[META])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None
    return found
