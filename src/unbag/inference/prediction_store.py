"""Predictions on disk, in parts that are whole or not there.

    <folder>/<key>/manifest.json        what the key is made of, for people and for the reader
    <folder>/<key>/part-00000.parquet   the first `chunk_rows` rows: id, source_id, a probability for each label
    <folder>/<key>/part-00001.parquet   the next
    <folder>/<key>/unfinished/00002.parquet   answers to some rows of a part that is being made; gone when it is there
    <folder>/<key>/unfinished/00003-0of4.whole.parquet   a share of a part that several processes make; likewise
    <folder>/<key>/claims/00003-1of4.json     who makes what, where processes are not connected (`claims`)

The folder is on this machine or at an address that fsspec reads (`addresses`).

The key is a hash of everything that decides the numbers, so stored predictions are never stale, only possibly
damaged. Each part carries a hash of its own rows, which reveals damage.

Keys of stored predictions: a hash of all that decides the numbers.

What a process makes of a store at a time: the rows of a part, and a part or a share of one.

The answers to some rows of a part, as a process that was killed or makes a share of it leaves them.

Finished predictions, as they are read.
"""

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag.utils.hashing import content_hash
from unbag.utils.storage import Folder


class ChunkRows(NamedTuple):
    """The rows of a part.

    Attributes:
        table: the columns `ASKED` of its r rows.
        sha256: a hash of them.
    """

    table: pa.Table
    sha256: str


class ChunkShard(NamedTuple):
    """What a process makes at a time: a part, or one of several shares of a part.

    A share of a part is every so-many-th of the batches that the part is cut into, so that no batch, and no answer,
    depends on how many shares there are.

    Attributes:
        part: the part's number.
        share: which share of it, from 0.
        shares: how many shares there are.

    >>> str(ChunkShard(3)), str(ChunkShard(3, share=1, shares=4))
    ('00003', '00003-1of4')
    """

    part: int
    share: int = 0
    shares: int = 1

    def __str__(self) -> str:
        return f"{self.part:05}" + (f"-{self.share}of{self.shares}" if self.shares > 1 else "")


@dataclass(frozen=True)
class PartialPredictions:
    """What there is of a part that is being made.

    Attributes:
        probabilities: shape (r, labels), NaN where there is no answer yet.
        has_probabilities: False if an answer was a label only.
        truncated: as far as it is known, how many of the r pairs the model could not read to their ends.
    """

    probabilities: NDArray[np.float32]
    has_probabilities: bool
    truncated: int

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have an answer, shape (r,)."""
        known: NDArray[np.bool_] = np.logical_not(np.isnan(self.probabilities).any(axis=1))
        return known

    def and_also(self, other: "PartialPredictions") -> "PartialPredictions":
        """Return what there is here, and where there is nothing, what there is in another."""
        return PartialPredictions(
            np.where(self.known[:, np.newaxis], self.probabilities, other.probabilities),
            self.has_probabilities and other.has_probabilities,
            max(self.truncated, other.truncated),
        )


SCHEMA: Final = 1
"""The version of this layout and of what the numbers mean; part of the key."""

PREDICTIONS: Final = "predictions"
"""The folder of all stores within that of a run, or of a user's caches."""

CHUNK_ROWS: Final = 4096
"""Rows a part: seconds of work for a small model, and enough rows of each length for batches with little padding."""

NAMED: Final = ("id", "source_id")
"""The columns that a part takes over from the data."""

ASKED: Final = (*NAMED, "premise", "hypothesis")
"""The columns of the data that decide what a part holds."""

MANIFEST: Final = "manifest.json"
_META: Final = b"unbag.predictions"
_ABANDONED_AFTER: Final = 3600.0  # seconds; no part takes so long to write, so its writer was killed


class StoreError(ValueError):
    """Stored predictions that are missing, damaged or of something else."""


@dataclass(frozen=True)
class Store:
    """Where the predictions of one predictor on one data set are kept.

    Attributes:
        folder: the folder of the parts.
        key: what the parts belong to; 64 hexadecimal digits, or `once-…` for what is never reused.
        rows: rows of the data set.
        chunk_rows: rows a part; the last one may have fewer.
        label_space: the labels of the probability columns.
    """

    folder: Folder
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

    def pieces(self, parts: Sequence[int], shares: int = 1) -> list[ChunkShard]:
        """Return what is to be made of some parts, each in so many shares."""
        return [ChunkShard(part, share, shares) for part in parts for share in range(shares)]

    def is_made(self, piece: ChunkShard) -> bool:
        """Tell whether a piece is there."""
        return self.folder.has(_part(piece.part)) or (piece.shares > 1 and self._unfinished.has(_share(piece)))

    def to_make(self, pieces: Sequence[ChunkShard]) -> list[ChunkShard]:
        """Return those pieces that are not there, going by the names of the files."""
        parts, shares = set(self.folder.names()), set(self._unfinished.names())
        return [piece for piece in pieces if _part(piece.part) not in parts and _share(piece) not in shares]

    @property
    def _unfinished(self) -> Folder:
        """Where what is not finished is: in a folder of its own, which is short to list."""
        return self.folder / "unfinished"

    def describe(self, material: Mapping[str, Any]) -> None:
        """Write the manifest, unless it is there and says this."""
        if not self._says({"key": self.key, **material}):
            manifest = {"key": self.key, **material, "created": datetime.now(UTC).isoformat(timespec="seconds")}
            self.folder.write(MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())

    def write(
        self,
        part: int,
        rows: ChunkRows,
        probabilities: NDArray[np.float32],
        *,
        has_probabilities: bool,
        truncated: int,
    ) -> None:
        """Write a part, whole or not at all, and remove what there was of it before.

        Args:
            part: its number.
            rows: its r rows.
            probabilities: shape (r, len(label_space)).
            has_probabilities: False if the model gave labels only.
            truncated: how many of the r pairs the model could not read to their ends.
        """
        said = {"has_probabilities": has_probabilities, "truncated": truncated}
        self.folder.write(_part(part), self._packed(part, rows, probabilities, said))
        for name in self._beginnings(part):
            self._unfinished.remove(name)

    def keep(
        self,
        piece: ChunkShard,
        rows: ChunkRows,
        probabilities: NDArray[np.float32],
        *,
        has_probabilities: bool,
        truncated: int = 0,
        whole: bool = False,
    ) -> None:
        """Keep what there is of a part that is being made, whole or not at all.

        Args:
            piece: what of it this process makes.
            rows: those of the whole part.
            probabilities: shape (r, len(label_space)), NaN where there is no answer yet.
            has_probabilities: as `write` takes it.
            truncated: as `write` takes it.
            whole: whether all of a share is there.
        """
        said = {"has_probabilities": has_probabilities, "truncated": truncated, "unfinished": True}
        name = _share(piece) if whole else f"{piece}.parquet"
        self._unfinished.write(name, self._packed(piece.part, rows, probabilities, said))
        if whole:
            self._unfinished.remove(f"{piece}.parquet")

    def kept(self, part: int, rows: ChunkRows) -> PartialPredictions | None:
        """Return all that `keep` kept of a part of these rows, undamaged; None where there is no such thing."""
        found: PartialPredictions | None = None
        for name in self._beginnings(part):
            try:
                table, meta = self._load(self._unfinished, name, part)
            except (StoreError, FileNotFoundError):
                continue
            if meta.get("asked") != rows.sha256:
                continue
            columns = [table.column(label).to_numpy() for label in self.label_space]
            one = PartialPredictions(
                np.stack(columns, axis=1).astype(np.float32), bool(meta["has_probabilities"]), meta.get("truncated", 0)
            )
            found = one if found is None else found.and_also(one)
        return found

    def read(self, part: int) -> tuple[pa.Table, dict[str, Any]]:
        """Return a part's rows and what it says of them.

        Raises:
            StoreError: if it is missing, unreadable, not of this key and number, or not what was written.
        """
        try:
            return self._load(self.folder, _part(part), part)
        except FileNotFoundError:
            file = self.folder.where(_part(part))
            raise StoreError(f"{file} is missing: the run has not finished; run it again to go on") from None

    def missing(self) -> list[int]:
        """Return the parts that are not there, going by the names of the folder's files."""
        names = set(self.folder.names())
        return [part for part in range(self.parts) if _part(part) not in names]

    def _beginnings(self, part: int) -> list[str]:
        """Return the names of the files with some of a part's answers."""
        return [name for name in self._unfinished.names() if name.startswith((f"{part:05}.", f"{part:05}-"))]

    def _packed(self, part: int, rows: ChunkRows, probabilities: NDArray[np.float32], said: Mapping[str, Any]) -> bytes:
        """Return the Parquet file of a part's answers."""
        meta = {"key": self.key, "part": part, "asked": rows.sha256, **said}
        table = rows.table.select(list(NAMED)).combine_chunks().replace_schema_metadata(None)
        for column, label in enumerate(self.label_space):
            table = table.append_column(label, pa.array(np.ascontiguousarray(probabilities[:, column])))
        signed = meta | {"sha256": _signature(table, meta)}
        table = table.replace_schema_metadata({_META: json.dumps(signed).encode()})
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer)
        packed: bytes = buffer.getvalue().to_pybytes()
        return packed

    def _says(self, expected: Mapping[str, Any]) -> bool:
        """Tell whether the manifest is there and whole."""
        try:
            found = json.loads(self.folder.read(MANIFEST))
            return bool({**expected, "created": found["created"]} == found)
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            return False

    def _load(self, folder: Folder, name: str, part: int) -> tuple[pa.Table, dict[str, Any]]:
        file = folder.where(name)
        try:
            table = pq.read_table(pa.BufferReader(folder.read(name)))
            meta = json.loads(table.schema.metadata[_META])
            table = table.replace_schema_metadata(None)
            recorded = [meta["key"], meta["part"], meta.pop("sha256")]
            actual = [self.key, part, _signature(table, meta)]
        except FileNotFoundError:
            raise
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

    def holds(self, part: int, sha256: str) -> bool:
        """Tell whether a part is there, undamaged, and of the rows of this hash: their ids and their texts."""
        try:
            _, meta = self.read(part)
        except StoreError:
            return False
        return bool(meta.get("asked") == sha256)

    def clean(self) -> None:
        """Remove what killed writers left. A younger unfinished file may be of a process that is at work here."""
        if not self.folder.is_local:  # where nothing is written under another name first
            return
        for file in self.folder.path.glob(".*.part"):
            try:
                if time.time() - file.stat().st_mtime > _ABANDONED_AFTER:
                    file.unlink()
            except FileNotFoundError:  # its writer has finished it in this moment
                continue


def _part(part: int) -> str:
    return f"part-{part:05}.parquet"


def _share(piece: ChunkShard) -> str:
    return f"{piece}.whole.parquet"


def _signature(table: pa.Table, meta: Mapping[str, Any]) -> str:
    """Return a hash of a part's values, their types, and what is said of them."""
    types = [str(field) for field in table.schema]
    signed = [content_hash([table], table.column_names), types, sorted(meta.items())]
    return hashlib.sha256(json.dumps(signed).encode()).hexdigest()


def key_material(
    identity: Mapping[str, str] | None,
    parts: Sequence[str],
    *,
    rows: int,
    chunk_rows: int,
    label_space: Sequence[str],
) -> dict[str, Any]:
    """Return all that decides stored predictions, as a manifest shows it.

    Args:
        identity: the predictor's.
        parts: the hash of the rows of each part, in their order.
        rows: rows of the data.
        chunk_rows: rows a part; batches do not reach across parts, so it decides the last bits.
        label_space: the predictor's labels.
    """
    return {
        "schema": SCHEMA,
        "identity": None if identity is None else dict(identity),
        "content": hashlib.sha256("\n".join(parts).encode()).hexdigest(),
        "rows": rows,
        "chunk_rows": chunk_rows,
        "space": list(label_space),
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
    def open(cls, path: str | Path | Folder) -> "Predictions":
        """Open the folder of one store.

        Raises:
            StoreError: if there is no manifest of this version in it.
        """
        folder = Folder(path)
        try:
            manifest = json.loads(folder.read(MANIFEST))
            if manifest["schema"] != SCHEMA:
                raise StoreError(
                    f"{path} is of version {manifest['schema']}, this package reads {SCHEMA}; predict again"
                )
            store = Store(folder, manifest["key"], manifest["rows"], manifest["chunk_rows"], tuple(manifest["space"]))
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
            raise StoreError(
                f"expected a folder of predictions with a manifest.json, found {path} ({error})"
            ) from error
        return cls(store)

    @property
    def path(self) -> Path:
        """The folder of the parts.

        Raises:
            ValueError: if it is not on this machine.
        """
        return self.store.folder.path

    @property
    def label_space(self) -> tuple[str, ...]:
        """The labels of the probability columns."""
        return self.store.label_space

    def __len__(self) -> int:
        return self.store.rows

    @property
    def has_probabilities(self) -> bool:
        """False if the model gave labels only, so that its probabilities are all 0 or 1 and say nothing of doubt."""
        return all(meta["has_probabilities"] for meta in self._said)

    @property
    def truncated(self) -> int:
        """How many pairs were longer than the model reads."""
        return sum(int(meta["truncated"]) for meta in self._said)

    def array(self, labels: Sequence[str] | None = None) -> NDArray[np.float32]:
        """Return the probabilities in the order of the rows, shape (n, labels): of these labels, or of them all."""
        table = self.table(list(labels or self.label_space))
        return np.stack([values.to_numpy() for values in table.itercolumns()], axis=1)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows in their order, a part at a time, of the named columns or all.

        Raises:
            StoreError: at a part that is missing or damaged.
        """
        for table in self._parts():
            yield table if columns is None else table.select(list(columns))

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows of the named columns, or of all, in their order.

        Raises:
            StoreError: as `batches`.
        """
        return pa.concat_tables(self.batches(columns))

    @cached_property
    def _said(self) -> list[dict[str, Any]]:
        """What each part says of its rows; the parts are read, and checked, for it unless all were read before."""
        return [self.store.read(part)[1] for part in range(self.store.parts)]

    def _parts(self) -> Iterator[pa.Table]:
        """Yield the rows of each part, and keep what they say of them for `_said`."""
        said = []
        for part in range(self.store.parts):
            table, meta = self.store.read(part)
            said.append(meta)
            yield table
        vars(self)["_said"] = said


def load_predictions(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the predictions in the folder of one store: `id`, `source_id` and a float32 column for each label.

    Args:
        path: the folder with the manifest, or its address.
        columns: the columns to return; all by default.

    Raises:
        StoreError: if there are none, they are unfinished, or a part is damaged.
    """
    return Predictions.open(path).table(columns)
