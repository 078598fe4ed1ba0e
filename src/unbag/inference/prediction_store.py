"""Cache of predictions: the probabilities of one model on one data set, in a Parquet file per chunk of rows.

    <folder>/<key>/manifest.json        what determines the predictions, for people and for the reader
    <folder>/<key>/part-00000.parquet   the first `chunk_rows` rows: id, source_id, a probability for each label
    <folder>/<key>/part-00001.parquet   the next chunk

The folder is on this machine or at an address of fsspec (`unbag.utils.storage`).

The key is a hash of everything that determines the probabilities, so stored predictions are never stale. A chunk is
written whole, with a hash of its content. A missing or damaged chunk is predicted again.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag.data.predictions import SetPredictions
from unbag.utils.hashing import hash_columns
from unbag.utils.storage import StorageFolder

PREDICTIONS: Final = "predictions"  # folder for all stores, in a run folder or in the user's cache

CHUNK_ROWS: Final = 1024
"""Rows per chunk, the most that a killed process loses: enough rows of each length for batches with little padding."""

ID_COLUMNS: Final = ("id", "source_id")  # of the data, copied to a chunk
MODEL_COLUMNS: Final = (*ID_COLUMNS, "premise", "hypothesis")  # of the data, which determine the content of a chunk
MANIFEST: Final = "manifest.json"
UNANSWERED: Final = "unanswered"  # column with the reason of each row without an answer, in a chunk with such rows

_SCHEMA: Final = 2  # version of the layout and of the meaning of the values; part of the key
_META: Final = b"unbag.predictions"
_HASH: Final = b"unbag.predictions.sha256"


class StoreError(ValueError):
    """Error for stored predictions that are missing, corrupted, or made for different data."""


@dataclass(frozen=True)
class StoredPredictions:
    """Predictions for the rows of a chunk, or for all rows of a data set."""

    # Columns `ID_COLUMNS`, one float32 column per label, and `UNANSWERED` if rows have no answer.
    table: pa.Table = field(repr=False)
    has_probabilities: bool  # whether the probabilities express confidence; False if a prediction is a bare label
    truncated: int  # number of pairs that the model truncated
    # Dates on which an endpoint answered, and whether answers of this date are from an earlier run.
    answered: Mapping[str, bool]
    folder: StorageFolder | None = None  # of the store
    reused: int = 0  # number of rows that were stored before the run that returned this object

    @classmethod
    def from_folder(cls, path: str | Path | StorageFolder) -> "StoredPredictions":
        """Load the predictions in the folder of a prediction store."""
        return PredictionStore.open(StorageFolder(path)).merge_chunks({})

    @property
    def label_space(self) -> tuple[str, ...]:
        """Label of each probability column."""
        return tuple(name for name in self.table.column_names if name not in (*ID_COLUMNS, UNANSWERED))

    def __len__(self) -> int:
        return len(self.table)

    def load_probabilities(self, labels: Sequence[str] | None = None) -> NDArray[np.float32]:
        """Load the probabilities of the given labels (default: all), shape (n, labels), in row order."""
        return np.stack([self.table.column(label).to_numpy() for label in labels or self.label_space], axis=1)

    def to_set_predictions(self, *, may_abstain: bool = False) -> SetPredictions:
        """Convert to predictions of a set. If the predictor may abstain, equal probabilities are no prediction."""
        probabilities = self.load_probabilities()
        unanswered = (probabilities == probabilities[:, :1]).all(axis=1) if may_abstain else None
        return SetPredictions(probabilities, self.label_space, self.has_probabilities, unanswered)

    def load_unanswered(self) -> list[str | None]:
        """Load the reason of each row without an answer, with an excerpt of the response; None for other rows."""
        if UNANSWERED not in self.table.column_names:
            return [None] * len(self)
        reasons: list[str | None] = self.table.column(UNANSWERED).to_pylist()
        return reasons


@dataclass(frozen=True)
class PredictionStore:
    """Folder with the predictions of one predictor on one data set, in chunks."""

    folder: StorageFolder  # its name is the key of the predictions
    manifest: Mapping[str, Any]  # everything that determines the predictions, from which the key is computed

    @classmethod
    def create(cls, root: str | Path, manifest: Mapping[str, Any]) -> "PredictionStore":
        """Compute the key of predictions from a manifest without `schema`. Nothing is written yet.

        Without an identity of the predictor, the key is random, so that predictions are never reused.
        """
        manifest = {"schema": _SCHEMA, **manifest}
        text = json.dumps(manifest, sort_keys=True, ensure_ascii=False)
        is_known = manifest["identity"] is not None
        key = hashlib.sha256(text.encode()).hexdigest() if is_known else f"once-{uuid.uuid4().hex}"
        return cls(StorageFolder(root) / key, manifest)

    @classmethod
    def open(cls, folder: StorageFolder) -> "PredictionStore":
        """Open the store in a folder with a manifest."""
        try:
            manifest = json.loads(folder.read(MANIFEST))
            schema, _ = manifest["schema"], manifest.pop("created")
            store = cls(folder, manifest)
            _ = store.n_chunks
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"expected a folder of predictions with a manifest.json, got {folder} ({error})"
            ) from error
        if schema != _SCHEMA:
            raise StoreError(f"{folder}: expected predictions of version {_SCHEMA}, got {schema}; predict again")
        return store

    def write_manifest(self) -> None:
        """Write the manifest, unless it exists."""
        try:
            is_written = PredictionStore.open(self.folder) == self
        except StoreError:
            is_written = False
        if not is_written:
            manifest = {**self.manifest, "created": datetime.now(UTC).isoformat(timespec="seconds")}
            self.folder.write(MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())

    @property
    def rows(self) -> int:
        """Number of rows of the data set."""
        return int(self.manifest["rows"])

    @property
    def n_chunks(self) -> int:
        """Number of chunks. An empty data set has one chunk, which stores the column names."""
        return max(1, -(-self.rows // int(self.manifest["chunk_rows"])))  # rounded up

    def get_span(self, chunk: int) -> slice:
        """Positions of the rows of a chunk."""
        size = self.manifest["chunk_rows"]
        return slice(chunk * size, min((chunk + 1) * size, self.rows))

    def count_rows(self, chunks: Iterable[int]) -> int:
        """Count the rows of some chunks."""
        return sum(span.stop - span.start for span in map(self.get_span, chunks))

    def write(self, chunk: int, predictions: StoredPredictions) -> None:
        """Write a chunk atomically."""
        table, fields = predictions.table, (predictions.has_probabilities, predictions.truncated, predictions.answered)
        meta = json.dumps([self.folder.name, chunk, *fields]).encode()
        buffer = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata({_META: meta, _HASH: _compute_hash(table, meta)}), buffer)
        self.folder.write(_chunk_file(chunk), buffer.getvalue().to_pybytes())

    def read(self, chunk: int) -> StoredPredictions:
        """Load the predictions of a chunk. Raises `StoreError` if it is missing, damaged or that of another place."""
        file, span = self.folder.get_location(_chunk_file(chunk)), self.get_span(chunk)
        try:
            table = pq.read_table(pa.BufferReader(self.folder.read(_chunk_file(chunk))))
            meta, expected_hash = (table.schema.metadata[name] for name in (_META, _HASH))
            table = table.replace_schema_metadata(None)
            key, number, *fields = json.loads(meta)
            is_damaged = _compute_hash(table, meta) != expected_hash.decode()
        except FileNotFoundError:
            raise StoreError(
                f"{file} is missing, because the run has not finished; run the command again to continue"
            ) from None
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{file} cannot be read ({error}); run the command again to recompute it") from error
        if is_damaged or (key, number) != (self.folder.name, chunk) or len(table) != span.stop - span.start:
            raise StoreError(f"{file} is corrupted or belongs to another run; run the command again to recompute it")
        return StoredPredictions(table, *fields)

    def read_stored(self, chunks: Iterable[int]) -> dict[int, StoredPredictions]:
        """Load those of some chunks that are stored and not damaged, by number."""
        stored = {}
        for chunk in chunks:
            with suppress(StoreError):
                stored[chunk] = self.read(chunk)
        return stored

    def merge_chunks(self, known: Mapping[int, StoredPredictions], reused: int = 0) -> StoredPredictions:
        """Load the predictions for all rows. Chunks in `known` are in memory already."""
        chunks = [known[chunk] if chunk in known else self.read(chunk) for chunk in range(self.n_chunks)]
        dates = merge_dates(*(chunk.answered for chunk in chunks))
        return StoredPredictions(
            pa.concat_tables([chunk.table for chunk in chunks], promote_options="default"),
            has_probabilities=all(chunk.has_probabilities for chunk in chunks),
            truncated=sum(chunk.truncated for chunk in chunks),
            answered={day: is_reused or reused > 0 for day, is_reused in dates.items()},
            folder=self.folder,
            reused=reused,
        )


def _compute_hash(table: pa.Table, meta: bytes) -> str:
    """Compute a hash of a chunk's values, types and metadata. Parquet's own checksums cover only the pages."""
    types = [str(field) for field in table.schema]  # values are hashed as text, so that 1 and "1" would be equal
    signed = json.dumps([hash_columns([table], table.column_names), types]).encode()
    return hashlib.sha256(signed + meta).hexdigest()


def _chunk_file(chunk: int) -> str:
    return f"part-{chunk:05}.parquet"


def merge_dates(*dates: Mapping[str, bool]) -> dict[str, bool]:
    """Merge the dates of answers. A date counts as reused if answers of this date are reused in any of the mappings.

    >>> merge_dates({"2026-11-27": True}, {"2026-11-28": False}, {"2026-11-27": False})
    {'2026-11-27': True, '2026-11-28': False}
    """
    return {day: any(each.get(day, False) for each in dates) for day in sorted(set().union(*dates))}
