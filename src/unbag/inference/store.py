"""Predictions on disk, in parts that are whole or not there.

    <folder>/<key>/manifest.json        what the key is made of, for people and for the reader
    <folder>/<key>/part-00000.parquet   the first `chunk_rows` rows: id, source_id, a probability for each label
    <folder>/<key>/part-00001.parquet   the next

The key is a hash of all that decides the numbers, so what lies under it can be stale only by being damaged; and each
part carries a hash of its own rows, so damage shows.
"""

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag.files import atomic_write
from unbag.fingerprint import content_hash

SCHEMA: Final = 1
"""The version of this layout and of what the numbers mean; part of the key."""

CHUNK_ROWS: Final = 4096
"""Rows a part: seconds of work for a small model, so that little is lost when a run is killed, and enough rows of each
length for batches with little padding."""

NAMED: Final = ("id", "source_id")
"""The columns that a part takes over from the data."""

_META: Final = b"unbag.predictions"
_ABANDONED_AFTER: Final = 3600.0  # seconds; no part takes so long to write, so its writer was killed


class StoreError(ValueError):
    """Stored predictions that are missing, damaged or of something else."""


@dataclass(frozen=True)
class Store:
    """Where the predictions of one predictor on one data set are kept.

    Attributes:
        path: the folder of the parts.
        key: what the parts belong to; 64 hexadecimal digits, or `once-…` for what is never reused.
        rows: rows of the data set.
        chunk_rows: rows a part; the last one may have fewer.
        label_space: the labels of the probability columns.
    """

    path: Path
    key: str
    rows: int
    chunk_rows: int
    label_space: tuple[str, ...]

    @property
    def parts(self) -> int:
        """How many parts make a whole; one even where there are no rows, for it tells the columns."""
        return max(1, -(-self.rows // self.chunk_rows))

    def span(self, part: int) -> tuple[int, int]:
        """Return the first row of a part and the row after its last."""
        return part * self.chunk_rows, min((part + 1) * self.chunk_rows, self.rows)

    def file(self, part: int) -> Path:
        """Return where a part is or will be."""
        return self.path / f"part-{part:05}.parquet"

    def describe(self, material: Mapping[str, Any]) -> None:
        """Write the manifest, unless it is there."""
        file = self.path / "manifest.json"
        if not file.is_file():
            manifest = {"key": self.key, **material, "created": datetime.now(UTC).isoformat(timespec="seconds")}
            with atomic_write(file) as tmp:
                tmp.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def write(
        self,
        part: int,
        names: pa.Table,
        probabilities: NDArray[np.float32],
        *,
        has_probabilities: bool,
        truncated: int,
    ) -> None:
        """Write a part, whole or not at all.

        Args:
            part: its number.
            names: the columns `id` and `source_id` of its r rows.
            probabilities: shape (r, len(label_space)).
            has_probabilities: False if the model gave labels only.
            truncated: how many of the r pairs the model could not read to their ends.
        """
        table = names.select(list(NAMED)).combine_chunks().replace_schema_metadata(None)
        for column, label in enumerate(self.label_space):
            table = table.append_column(label, pa.array(np.ascontiguousarray(probabilities[:, column])))
        meta = {
            "key": self.key,
            "part": part,
            "has_probabilities": has_probabilities,
            "truncated": truncated,
        }
        meta["sha256"] = _signature(table, meta)
        table = table.replace_schema_metadata({_META: json.dumps(meta).encode()})
        with atomic_write(self.file(part)) as tmp:
            pq.write_table(table, tmp)

    def read(self, part: int) -> tuple[pa.Table, dict[str, Any]]:
        """Return a part's rows and what it says of them.

        Raises:
            StoreError: if it is missing, unreadable, not of this key and number, or not what was written.
        """
        file = self.file(part)
        try:
            table = pq.read_table(file, partitioning=None)
            meta = json.loads(table.schema.metadata[_META])
            table = table.replace_schema_metadata(None)
            recorded = [meta["key"], meta["part"], meta.pop("sha256")]
            actual = [self.key, part, _signature(table, meta)]
        except FileNotFoundError:
            raise StoreError(f"{file} is missing: the run has not finished; run it again to go on") from None
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{file} cannot be read ({error}); run again to have it computed anew") from error
        first, end = self.span(part)
        if table.column_names != [*NAMED, *self.label_space] or len(table) != end - first:
            raise StoreError(
                f"{file}: expected {end - first} rows of {[*NAMED, *self.label_space]}, found {len(table)} of "
                f"{table.column_names}; run again to have it computed anew"
            )
        if recorded != actual:
            raise StoreError(f"{file} is damaged or belongs elsewhere; run again to have it computed anew")
        return table, meta

    def holds(self, part: int, names: pa.Table) -> bool:
        """Tell whether a part is there, undamaged, and of the rows whose `id` and `source_id` these are."""
        try:
            table, _ = self.read(part)
        except StoreError:
            return False
        return all(table.column(name).to_pylist() == names.column(name).to_pylist() for name in NAMED)

    def clean(self) -> None:
        """Remove what killed writers left. A younger unfinished file may be of a process that is at work here."""
        for file in self.path.glob(".*.part"):
            try:
                if time.time() - file.stat().st_mtime > _ABANDONED_AFTER:
                    file.unlink()
            except FileNotFoundError:  # its writer has finished it in this moment
                continue


def _signature(table: pa.Table, meta: Mapping[str, Any]) -> str:
    """Return a hash of a part's values, their types, and what is said of them."""
    types = [str(field) for field in table.schema]
    signed = [content_hash([table], table.column_names), types, sorted(meta.items())]
    return hashlib.sha256(json.dumps(signed).encode()).hexdigest()


def key_material(
    identity: Mapping[str, str] | None, content: str, *, rows: int, chunk_rows: int, label_space: Sequence[str]
) -> dict[str, Any]:
    """Return all that decides stored predictions, as a manifest shows it.

    Args:
        identity: the predictor's.
        content: the hash of the data.
        rows: rows of the data.
        chunk_rows: rows a part; batches do not reach across parts, so it decides the last bits.
        label_space: the predictor's labels.
    """
    return {
        "schema": SCHEMA,
        "identity": None if identity is None else dict(identity),
        "content": content,
        "rows": rows,
        "chunk_rows": chunk_rows,
        "space": list(label_space),  # not `label_space`: what was stored under the old name is found by this key
    }


def store_key(material: Mapping[str, Any]) -> str:
    """Return the key for what `key_material` returned; for an unknown predictor one that nobody will find again."""
    if material["identity"] is None:
        return f"once-{uuid.uuid4().hex}"
    return hashlib.sha256(json.dumps(material, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Predictions:
    """Finished predictions, read when asked for.

    Attributes:
        store: where they are.
        reused: how many of the rows were there before the run that returned this.
    """

    store: Store
    reused: int = 0

    @classmethod
    def open(cls, path: Path) -> "Predictions":
        """Open the folder of one store.

        Raises:
            StoreError: if there is no manifest of this version in it.
        """
        try:
            manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
            if manifest["schema"] != SCHEMA:
                raise StoreError(
                    f"{path} is of version {manifest['schema']}, this package reads {SCHEMA}; predict again"
                )
            store = Store(path, manifest["key"], manifest["rows"], manifest["chunk_rows"], tuple(manifest["space"]))
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise StoreError(
                f"expected a folder of predictions with a manifest.json, found {path} ({error})"
            ) from error
        return cls(store)

    @property
    def path(self) -> Path:
        """The folder of the parts."""
        return self.store.path

    @property
    def label_space(self) -> tuple[str, ...]:
        """The labels of the probability columns."""
        return self.store.label_space

    def __len__(self) -> int:
        return self.store.rows

    @property
    def has_probabilities(self) -> bool:
        """False if the model gave labels only, so that its probabilities are all 0 or 1 and say nothing of doubt."""
        return all(meta["has_probabilities"] for _, meta in self._parts())

    @property
    def truncated(self) -> int:
        """How many pairs were longer than the model reads."""
        return sum(int(meta["truncated"]) for _, meta in self._parts())

    def array(self, labels: Sequence[str] | None = None) -> NDArray[np.float32]:
        """Return the probabilities in the order of the rows, shape (n, labels): of these labels, or of them all."""
        table = self.table(list(labels or self.label_space))
        return np.stack([values.to_numpy() for values in table.itercolumns()], axis=1)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows in their order, a part at a time, of the named columns or all.

        Raises:
            StoreError: at a part that is missing or damaged.
        """
        for table, _ in self._parts():
            yield table if columns is None else table.select(list(columns))

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows of the named columns, or of all, in their order.

        Raises:
            StoreError: as `batches`.
        """
        return pa.concat_tables(self.batches(columns))

    def _parts(self) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
        return (self.store.read(part) for part in range(self.store.parts))


def load_predictions(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the predictions in the folder of one store: `id`, `source_id` and a float32 column for each label.

    Args:
        path: the folder with the manifest.
        columns: the columns to return; all by default.

    Raises:
        StoreError: if there are none, they are unfinished, or a part is damaged.
    """
    return Predictions.open(Path(path)).table(columns)
