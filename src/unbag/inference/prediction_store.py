"""Stored predictions, in chunks that are written atomically.

    <folder>/<key>/manifest.json        the key_fields of the key, for people and for the reader
    <folder>/<key>/part-00000.parquet   the first `chunk_rows` rows: id, source_id, a probability for each label
    <folder>/<key>/part-00001.parquet   the next chunk
    <folder>/<key>/unfinished/00002.parquet   predictions for some rows of a chunk; removed when the chunk is stored
    <folder>/<key>/unfinished/00003-0of4.whole.parquet   a finished shard of a chunk; removed likewise
    <folder>/<key>/claims/00003-1of4.json     the lease of a process on a chunk shard (`unbag.inference.shards`)

The folder is on this machine or at an address of fsspec (`unbag.utils.storage`).

The key is a hash of everything that determines the probabilities, so stored predictions are never stale, only possibly
damaged. Each chunk has a hash of its own rows, which detects damage.
"""

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag.utils.hashing import hash_columns
from unbag.utils.storage import StorageFolder


class ChunkRows(NamedTuple):
    """Rows of a chunk with their hash.

    Attributes:
        table: Columns `MODEL_COLUMNS` of its r rows.
        sha256: Hash of the rows.
    """

    table: pa.Table
    sha256: str


class ChunkShard(NamedTuple):
    """Unit of work for one process: a chunk, or a shard of a chunk.

    A chunk is split into batches, and shard j of s consists of every s-th batch from batch j on. So no batch, and no
    prediction, depends on the number of shards.

    Attributes:
        chunk: Number of the chunk, from 0.
        shard: Number of the shard within the chunk, from 0 (default: 0).
        shards: Number of shards of the chunk (default: 1).

    >>> str(ChunkShard(3)), str(ChunkShard(3, shard=1, shards=4))
    ('00003', '00003-1of4')
    """

    chunk: int
    shard: int = 0
    shards: int = 1

    def __str__(self) -> str:
        return f"{self.chunk:05}" + (f"-{self.shard}of{self.shards}" if self.shards > 1 else "")


@dataclass(frozen=True)
class PartialPredictions:
    """Predictions for some rows of an unfinished chunk.

    They come from a killed process, or from a shard of the chunk.

    Attributes:
        probabilities: Probabilities, shape (r, labels), NaN where there is no prediction yet.
        has_probabilities: False if a prediction was a bare label.
        truncated: Number of the r pairs that the model truncated, as far as it is recorded.
        answered: Dates of the answers of an endpoint; see `PredictionStore.write`.
        unanswered: Reason of each row without an answer, by position.
    """

    probabilities: NDArray[np.float32]
    has_probabilities: bool
    truncated: int
    answered: Mapping[str, bool]
    unanswered: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_predicted(self) -> NDArray[np.bool_]:
        """Mask of the rows that have a prediction, shape (r,)."""
        # NaN is free as a marker: validated probabilities are never NaN.
        is_predicted: NDArray[np.bool_] = np.logical_not(np.isnan(self.probabilities).any(axis=1))
        return is_predicted

    def merge(self, other: "PartialPredictions") -> "PartialPredictions":
        """Fill in missing predictions from `other`, which has predictions for rows of the same chunk."""
        return PartialPredictions(
            np.where(self.is_predicted[:, np.newaxis], self.probabilities, other.probabilities),
            self.has_probabilities and other.has_probabilities,
            max(self.truncated, other.truncated),
            merge_dates(self.answered, other.answered),
            {**other.unanswered, **self.unanswered},
        )


SCHEMA: Final = 1
"""Version of the layout and of the meaning of the values; part of the key."""

PREDICTIONS: Final = "predictions"
"""Folder for all stores, in a run folder or in the user's cache."""

CHUNK_ROWS: Final = 4096
"""Rows per chunk: a few seconds for a small model, and enough rows of each length for batches with little padding."""

UNANSWERED: Final = "unanswered"
"""Column with the reason of each row without an answer; present in a chunk with such rows."""

ID_COLUMNS: Final = ("id", "source_id")
"""Columns that a chunk copies from the data."""

MODEL_COLUMNS: Final = (*ID_COLUMNS, "premise", "hypothesis")
"""Columns of the data that determine the content of a chunk."""

MANIFEST: Final = "manifest.json"
_META: Final = b"unbag.predictions"
_ABANDONED_AFTER: Final = 3600.0  # seconds; no chunk takes that long to write, so its writer was killed


class StoreError(ValueError):
    """Error for stored predictions that are missing, corrupted, or made for different data."""


@dataclass(frozen=True)
class PredictionStore:
    """Storage for the predictions of one predictor on one data set, in chunks.

    Attributes:
        folder: Folder of the chunks.
        key: Key of the predictions: 64 hexadecimal digits, or `once-…` for predictions that are never reused.
        rows: Number of rows of the data set.
        chunk_rows: Rows per chunk; the last one may have fewer.
        label_space: Labels of the probability columns.
    """

    folder: StorageFolder
    key: str
    rows: int
    chunk_rows: int
    label_space: tuple[str, ...]

    @property
    def n_chunks(self) -> int:
        """Number of chunks. An empty data set has one chunk, which stores the column names."""
        return max(1, -(-self.rows // self.chunk_rows))  # rounded up

    def compute_row_range(self, chunk: int) -> tuple[int, int]:
        """Compute the row range (start, stop) of a chunk, without the row at `stop`."""
        return chunk * self.chunk_rows, min((chunk + 1) * self.chunk_rows, self.rows)

    def list_chunk_shards(self, chunks: Sequence[int], shards: int = 1) -> list[ChunkShard]:
        """List the shards of the given chunks, with `shards` shards per chunk."""
        return [ChunkShard(chunk, shard, shards) for chunk in chunks for shard in range(shards)]

    def is_stored(self, chunk_shard: ChunkShard) -> bool:
        """Check whether the predictions for a shard of a chunk are stored."""
        return self.folder.exists(_chunk_file(chunk_shard.chunk)) or (
            chunk_shard.shards > 1 and self._unfinished.exists(_shard_file(chunk_shard))
        )

    def select_missing(self, chunk_shards: Sequence[ChunkShard]) -> list[ChunkShard]:
        """Select those of the given shards that have no stored predictions. Checks file names only."""
        # Two listings instead of a request per file: at an address, each request takes tens of milliseconds.
        chunks, shards = set(self.folder.list_names()), set(self._unfinished.list_names())
        return [
            each for each in chunk_shards if _chunk_file(each.chunk) not in chunks and _shard_file(each) not in shards
        ]

    @property
    def _unfinished(self) -> StorageFolder:
        """Folder of unfinished chunks. It is separate because it has few files, so that a listing is fast."""
        return self.folder / "unfinished"

    def write_manifest(self, key_fields: Mapping[str, Any]) -> None:
        """Write the manifest, unless a manifest with the same content exists."""
        if not self._has_manifest({"key": self.key, **key_fields}):
            manifest = {"key": self.key, **key_fields, "created": datetime.now(UTC).isoformat(timespec="seconds")}
            self.folder.write(MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())

    def write(
        self,
        chunk: int,
        rows: ChunkRows,
        probabilities: NDArray[np.float32],
        *,
        has_probabilities: bool,
        truncated: int,
        answered: Mapping[str, bool] | None = None,
        unanswered: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Write a complete chunk atomically, then remove the partial files of its shards.

        Args:
            chunk: Number of the chunk.
            rows: Its r rows.
            probabilities: Probabilities, shape (r, len(label_space)).
            has_probabilities: False if a prediction is a bare label.
            truncated: Number of the r pairs that the model truncated.
            answered: Dates on which an endpoint answered, and whether answers of this date are from an earlier run
                (default: the model is not an endpoint).
            unanswered: Reason of each row without an answer, by position (default: none).
        """
        fields = _build_fields(has_probabilities, truncated, answered)
        # The chunk is stored before its partial files go, so a kill in between loses nothing.
        self.folder.write(_chunk_file(chunk), self._encode(chunk, rows, probabilities, fields, unanswered))
        for name in self._unfinished_files(chunk):
            self._unfinished.remove(name)

    def write_partial(
        self,
        chunk_shard: ChunkShard,
        rows: ChunkRows,
        probabilities: NDArray[np.float32],
        *,
        has_probabilities: bool,
        truncated: int = 0,
        answered: Mapping[str, bool] | None = None,
        unanswered: Mapping[int, str] = MappingProxyType({}),
        is_complete: bool = False,
    ) -> None:
        """Write the current predictions of an unfinished chunk atomically.

        Args:
            chunk_shard: Chunk shard of this process.
            rows: The r rows of the whole chunk.
            probabilities: Probabilities, shape (r, len(label_space)), NaN where there is no prediction yet.
            has_probabilities: As for `write`.
            truncated: As for `write` (default: 0).
            answered: As for `write`.
            unanswered: As for `write` (default: none).
            is_complete: Whether the whole shard is predicted (default: no).
        """
        fields = {**_build_fields(has_probabilities, truncated, answered), "unfinished": True}
        name = _shard_file(chunk_shard) if is_complete else f"{chunk_shard}.parquet"
        self._unfinished.write(name, self._encode(chunk_shard.chunk, rows, probabilities, fields, unanswered))
        if is_complete:
            self._unfinished.remove(f"{chunk_shard}.parquet")

    def read_partial(self, chunk: int, rows: ChunkRows) -> PartialPredictions | None:
        """Load the valid predictions of an unfinished chunk. Return None if there are none for these rows."""
        merged: PartialPredictions | None = None
        for name in self._unfinished_files(chunk):
            try:
                table, meta = self._load(self._unfinished, name, chunk)
            except (StoreError, FileNotFoundError):  # damaged, or removed by a process that has stored the chunk
                continue
            if meta.get("asked") != rows.sha256:
                continue
            columns = [table.column(label).to_numpy() for label in self.label_space]
            partial = PartialPredictions(
                np.stack(columns, axis=1).astype(np.float32),
                bool(meta["has_probabilities"]),
                meta.get("truncated", 0),
                meta.get("answered", {}),
                {row: text for row, text in enumerate(_read_unanswered(table)) if text is not None},
            )
            merged = partial if merged is None else merged.merge(partial)
        return merged

    def read(self, chunk: int) -> tuple[pa.Table, dict[str, Any]]:
        """Load the table and the metadata of a chunk.

        Raises:
            StoreError: If it is missing, unreadable, damaged, or has another key or number.
        """
        try:
            return self._load(self.folder, _chunk_file(chunk), chunk)
        except FileNotFoundError:
            file = self.folder.get_location(_chunk_file(chunk))
            raise StoreError(
                f"{file} is missing, because the run has not finished; run the command again to continue"
            ) from None

    def list_missing_chunks(self) -> list[int]:
        """List the chunks that are not stored, based on file names only."""
        names = set(self.folder.list_names())
        return [chunk for chunk in range(self.n_chunks) if _chunk_file(chunk) not in names]

    def _unfinished_files(self, chunk: int) -> list[str]:
        return [name for name in self._unfinished.list_names() if name.startswith((f"{chunk:05}.", f"{chunk:05}-"))]

    def _encode(
        self,
        chunk: int,
        rows: ChunkRows,
        probabilities: NDArray[np.float32],
        fields: Mapping[str, Any],
        unanswered: Mapping[int, str],
    ) -> bytes:
        """Encode the predictions of a chunk as a Parquet file."""
        # Key and number are part of the signature: a file that was copied to another place is detected too.
        meta = {"key": self.key, "part": chunk, "asked": rows.sha256, **fields}
        table = rows.table.select(list(ID_COLUMNS)).combine_chunks().replace_schema_metadata(None)
        for column, label in enumerate(self.label_space):
            table = table.append_column(label, pa.array(np.ascontiguousarray(probabilities[:, column])))
        if unanswered:
            reasons = pa.array([unanswered.get(row) for row in range(len(table))], pa.string())
            table = table.append_column(UNANSWERED, reasons)
        signed = meta | {"sha256": _signature(table, meta)}
        table = table.replace_schema_metadata({_META: json.dumps(signed).encode()})
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer)
        content: bytes = buffer.getvalue().to_pybytes()
        return content

    def _has_manifest(self, expected: Mapping[str, Any]) -> bool:
        """Check whether the manifest exists with the expected content."""
        try:
            manifest = json.loads(self.folder.read(MANIFEST))
            return bool({**expected, "created": manifest["created"]} == manifest)
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            return False

    def _load(self, folder: StorageFolder, name: str, chunk: int) -> tuple[pa.Table, dict[str, Any]]:
        file = folder.get_location(name)
        try:
            table = pq.read_table(pa.BufferReader(folder.read(name)))
            meta = json.loads(table.schema.metadata[_META])
            table = table.replace_schema_metadata(None)
            recorded = [meta["key"], meta["part"], meta.pop("sha256")]
            actual = [self.key, chunk, _signature(table, meta)]
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{file} cannot be read ({error}); run the command again to recompute it") from error
        first, end = self.compute_row_range(chunk)
        names = [name for name in table.column_names if name != UNANSWERED]
        if names != [*ID_COLUMNS, *self.label_space] or len(table) != end - first:
            raise StoreError(
                f"{file}: expected {end - first} rows of {[*ID_COLUMNS, *self.label_space]}, got {len(table)} of "
                f"{table.column_names}; run the command again to recompute it"
            )
        if recorded != actual:
            raise StoreError(f"{file} is corrupted or belongs to another run; run the command again to recompute it")
        return table, meta

    def has_chunk(self, chunk: int, sha256: str) -> bool:
        """Check whether a chunk is stored, is valid, and has rows with the given hash."""
        try:
            _, meta = self.read(chunk)
        except StoreError:
            return False
        return bool(meta.get("asked") == sha256)

    def clean(self) -> None:
        """Remove the temporary files of killed processes.

        Files younger than an hour stay, since another process may be writing them.
        """
        if not self.folder.is_local:  # writes to an address have no temporary files
            return
        for file in self.folder.path.glob(".*.part"):
            try:
                if time.time() - file.stat().st_mtime > _ABANDONED_AFTER:
                    file.unlink()
            except FileNotFoundError:  # renamed by its writer in the meantime
                continue


def merge_dates(*dates: Mapping[str, bool]) -> dict[str, bool]:
    """Merge the dates of answers. A date counts as reused if answers of this date are reused in any of the mappings.

    >>> merge_dates({"2026-11-27": True}, {"2026-11-28": False}, {"2026-11-27": False})
    {'2026-11-27': True, '2026-11-28': False}
    """
    return {day: any(each.get(day, False) for each in dates) for day in sorted(set().union(*dates))}


def _build_fields(has_probabilities: bool, truncated: int, answered: Mapping[str, bool] | None) -> dict[str, Any]:
    dates = {"answered": dict(answered)} if answered else {}
    return {"has_probabilities": has_probabilities, "truncated": truncated, **dates}


def _chunk_file(chunk: int) -> str:
    return f"part-{chunk:05}.parquet"


def _read_unanswered(table: pa.Table) -> list[str | None]:
    """Read the reason of each row without an answer; None for answered rows."""
    if UNANSWERED not in table.column_names:
        return [None] * len(table)
    reasons: list[str | None] = table.column(UNANSWERED).to_pylist()
    return reasons


def _shard_file(work: ChunkShard) -> str:
    return f"{work}.whole.parquet"


def _signature(table: pa.Table, meta: Mapping[str, Any]) -> str:
    """Compute a hash of a chunk's values, their types and the metadata."""
    # Values are hashed as text, so the types must be added: 1 and "1" would be equal otherwise.
    types = [str(field) for field in table.schema]
    signed = [hash_columns([table], table.column_names), types, sorted(meta.items())]
    return hashlib.sha256(json.dumps(signed).encode()).hexdigest()


def build_key_fields(
    identity: Mapping[str, str] | None,
    hashes: Sequence[str],
    *,
    rows: int,
    chunk_rows: int,
    label_space: Sequence[str],
) -> dict[str, Any]:
    """Build the fields from which the key of a prediction store is computed.

    The fields determine the predictions, and the manifest contains them.

    Args:
        identity: Identity of the predictor.
        hashes: Hash of the rows of each chunk, in order.
        rows: Number of rows of the data.
        chunk_rows: Rows per chunk. A batch never spans two chunks, so this affects the rounding of predictions.
        label_space: Labels of the predictor.
    """
    return {
        "schema": SCHEMA,
        "identity": None if identity is None else dict(identity),
        "content": hashlib.sha256("\n".join(hashes).encode()).hexdigest(),
        "rows": rows,
        "chunk_rows": chunk_rows,
        "space": list(label_space),
    }


def compute_store_key(key_fields: Mapping[str, Any]) -> str:
    """Compute the key of a prediction store from `build_key_fields`. Predictors without an identity get a random key.

    A random key prevents the reuse of predictions.
    """
    if key_fields["identity"] is None:
        return f"once-{uuid.uuid4().hex}"
    return hashlib.sha256(json.dumps(key_fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class StoredPredictions:
    """Complete predictions on disk, which are loaded on demand.

    Attributes:
        store: Store of the predictions.
        reused: Number of rows that were stored before the run that returned this object (default: 0).
    """

    store: PredictionStore
    reused: int = 0

    @classmethod
    def from_folder(cls, path: str | Path | StorageFolder) -> "StoredPredictions":
        """Open the predictions in the folder of a prediction store.

        Raises:
            StoreError: If it has no manifest of this version.
        """
        folder = StorageFolder(path)
        try:
            manifest = json.loads(folder.read(MANIFEST))
            if manifest["schema"] != SCHEMA:
                raise StoreError(
                    f"{path}: expected predictions of version {SCHEMA}, got version {manifest['schema']}; predict again"
                )
            store = PredictionStore(
                folder, manifest["key"], manifest["rows"], manifest["chunk_rows"], tuple(manifest["space"])
            )
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise StoreError(f"expected a folder of predictions with a manifest.json, got {path} ({error})") from error
        return cls(store)

    @property
    def path(self) -> Path:
        """Local folder of the chunks.

        Raises:
            ValueError: If it is not on this machine.
        """
        return self.store.folder.path

    @property
    def label_space(self) -> tuple[str, ...]:
        """Label of each probability column."""
        return self.store.label_space

    def __len__(self) -> int:
        return self.store.rows

    @property
    def has_probabilities(self) -> bool:
        """Whether the probabilities express confidence. False if the model predicts labels only.

        Without confidence, all probabilities are 0 or 1.
        """
        return all(meta["has_probabilities"] for meta in self._metadata)

    @property
    def truncated(self) -> int:
        """Number of pairs that the model truncated."""
        return sum(int(meta["truncated"]) for meta in self._metadata)

    @property
    def answered(self) -> dict[str, bool]:
        """Dates on which an endpoint answered, and whether answers of this date are reused. Empty for other models."""
        dates = merge_dates(*(meta.get("answered", {}) for meta in self._metadata))
        return {day: is_reused or self.reused > 0 for day, is_reused in dates.items()}

    def load_probabilities(self, labels: Sequence[str] | None = None) -> NDArray[np.float32]:
        """Load the probabilities of the given labels (default: all), shape (n, labels), in row order."""
        table = self.load_table(list(labels or self.label_space))
        return np.stack([values.to_numpy() for values in table.itercolumns()], axis=1)

    def load_unanswered(self) -> list[str | None]:
        """Load the reason of each row without an answer, with an excerpt of the response; None for other rows."""
        return [reason for table in self.iter_batches() for reason in _read_unanswered(table)]

    def iter_batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Iterate over the rows in order, one table per chunk.

        Args:
            columns: Names of the columns (default: all).

        Raises:
            StoreError: At a chunk that is missing or damaged.
        """
        for table in self._chunks():
            yield table if columns is None else table.select(list(columns))

    def load_table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Load all rows in order as a table.

        Args:
            columns: Names of the columns (default: all).

        Raises:
            StoreError: As `iter_batches`.
        """
        return pa.concat_tables(self.iter_batches(columns), promote_options="default")

    @cached_property
    def _metadata(self) -> list[dict[str, Any]]:
        """Metadata of each chunk. The chunks are read and verified for it, unless `_chunks` has read all before."""
        return [self.store.read(chunk)[1] for chunk in range(self.store.n_chunks)]

    def _chunks(self) -> Iterator[pa.Table]:
        """Iterate over the rows of each chunk, and cache the metadata as `_metadata`."""
        metadata = []
        for chunk in range(self.store.n_chunks):
            table, meta = self.store.read(chunk)
            metadata.append(meta)
            yield table
        vars(self)["_metadata"] = metadata  # where cached_property looks first; the dataclass itself is frozen


def load_predictions(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Load predictions from a store's folder, with columns `id`, `source_id` and one float32 column per label.

    Args:
        path: Folder with the manifest, or its address.
        columns: Names of the columns (default: all).

    Raises:
        StoreError: If there are no predictions, they are unfinished, or a chunk is damaged.
    """
    return StoredPredictions.from_folder(path).load_table(columns)
