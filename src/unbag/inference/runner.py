"""Prediction of all rows of a data set in one or several processes. Interrupted runs can be resumed.

A job is one predictor and one data set. It consists of chunk shards, which any process may predict.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.inference.distributed import connect_process_group, validate_shared_folder
from unbag.inference.prediction_store import (
    CHUNK_ROWS,
    MODEL_COLUMNS,
    ChunkRows,
    ChunkShard,
    PartialPredictions,
    PredictionStore,
    StoredPredictions,
    build_key_fields,
    compute_store_key,
    merge_dates,
)
from unbag.inference.predictor import BatchPredictor, Predictor, validate_probabilities
from unbag.utils.hashing import hash_columns
from unbag.utils.storage import StorageFolder

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa


SAVE_EVERY: Final = 30.0
"""Seconds between two writes of an unfinished chunk: the maximum amount of work that a killed run loses."""

_CHUNK_SHARDS_PER_PROCESS: Final = 8
"""Enough that no process waits long for the last chunk shards of other processes."""

_MIN_SHARD_ROWS: Final = 256
"""Approximate minimum of rows per shard. Each shard tokenizes all rows of its chunk, so small shards waste time."""

RowCallback = Callable[[int], None]
"""Called with the number of newly predicted rows."""


@dataclass(frozen=True)
class PredictionJob:
    """Job that runs one predictor on one data set.

    The work is divided into units (`ChunkShard`) that several processes can run.

    Any process with the predictor, the rows and the folder may `predict` any chunk shard, in any order. The stored
    result is the same.

    Attributes:
        predictor: Predictor.
        rows: Data set.
        hashes: Hash of the rows of each chunk.
        key_fields: Material of the store's key (`prediction_store.build_key_fields`).
        store: Store of the predictions.
    """

    predictor: Predictor
    rows: "datasets.Dataset"
    hashes: tuple[str, ...]
    key_fields: Mapping[str, Any]
    store: PredictionStore

    @classmethod
    def from_rows(
        cls,
        rows: "datasets.Dataset",
        predictor: Predictor,
        folder: str | Path,
        *,
        chunk_rows: int = CHUNK_ROWS,
        identity: Mapping[str, str] | None = None,
    ) -> "PredictionJob":
        """Build a job and its store from a data set.

        Args:
            rows: Data set with the columns `id`, `source_id`, `premise` and `hypothesis`; others are ignored.
            predictor: Predictor.
            folder: Folder of the stores of any number of predictors and data sets; a path or an address.
            chunk_rows: Rows per chunk (default: 4096).
            identity: Everything that determines the predictions, for a predictor without an identity of its own.

        Raises:
            ValueError: If a column is missing, a premise or hypothesis is null, or `chunk_rows` is below 1.
        """
        if missing := [name for name in MODEL_COLUMNS if name not in rows.column_names]:
            raise ValueError(f"expected the columns {list(MODEL_COLUMNS)}, got {rows.column_names} without {missing}")
        if chunk_rows < 1:
            raise ValueError(f"expected at least 1 row per chunk, got {chunk_rows}")
        rows = select_model_columns(rows)
        label_space = tuple(predictor.label_space)
        store = PredictionStore(StorageFolder(folder), "", len(rows), chunk_rows, label_space)
        hashes = compute_chunk_hashes(rows, store)
        key_fields = build_key_fields(
            predictor.identity or identity, hashes, rows=len(rows), chunk_rows=chunk_rows, label_space=label_space
        )
        return cls(predictor, rows, tuple(hashes), key_fields, store).copy_with_key(compute_store_key(key_fields))

    def copy_with_key(self, key: str) -> "PredictionJob":
        """Copy the job with another store key. The parent folder of the store stays the same."""
        folder = self.store.folder
        if self.store.key:
            folder = StorageFolder(str(folder).removesuffix(self.store.key).rstrip("/"))
        return replace(self, store=replace(self.store, folder=folder / key, key=key))

    def load_chunk(self, chunk: int) -> ChunkRows:
        """Load the rows of a chunk."""
        first, end = self.store.compute_row_range(chunk)
        return ChunkRows(self.rows[first:end], self.hashes[chunk])

    def list_missing_chunks(self) -> list[int]:
        """List the chunks that are missing, corrupted, or made from different rows. Reads every stored chunk."""
        return [chunk for chunk, sha256 in enumerate(self.hashes) if not self.store.has_chunk(chunk, sha256)]

    def choose_shards_per_chunk(self, processes: int) -> int:
        """Choose the number of shards per chunk, so that every process has work."""
        rows = min(self.store.chunk_rows, self.store.rows)
        needed = -(-_CHUNK_SHARDS_PER_PROCESS * processes // self.store.n_chunks)
        return min(needed, max(1, rows // _MIN_SHARD_ROWS)) if processes > 1 else 1

    def estimate_rows(self, chunk_shard: ChunkShard) -> int:
        """Estimate the number of rows in one shard of a chunk. The number is exact if the chunk has a single shard."""
        # Shards consist of batches, so the exact number depends on the predictor. The estimates add up to the chunk.
        first, end = self.store.compute_row_range(chunk_shard.chunk)
        rows = end - first
        return rows * (chunk_shard.shard + 1) // chunk_shard.shards - rows * chunk_shard.shard // chunk_shard.shards

    def predict(
        self, chunk_shard: ChunkShard, *, save_every: float = SAVE_EVERY, row_callback: RowCallback | None = None
    ) -> None:
        """Predict one shard of a chunk and store the predictions. After the last shard, store the complete chunk.

        Stored predictions of a process that was killed are reused.

        Args:
            chunk_shard: Chunk shard.
            save_every: Seconds between two writes of the unfinished chunk (default: 30).
            row_callback: Called after every batch with the number of newly predicted rows.

        Raises:
            ValueError: If the predictor does not return probabilities.
        """
        rows = self.load_chunk(chunk_shard.chunk)
        predict_chunk_shard(
            self.predictor, self.store, chunk_shard, rows, save_every=save_every, row_callback=row_callback
        )

    def join_shards(self, chunk: int) -> None:
        """If all shards of a chunk are stored, combine them and store the complete chunk.

        Raises:
            ValueError: If a stored value is not a probability.
        """
        join_shards(self.store, chunk, self.load_chunk(chunk))


def predict_chunk_shard(
    predictor: Predictor,
    store: PredictionStore,
    chunk_shard: ChunkShard,
    rows: ChunkRows,
    *,
    save_every: float = SAVE_EVERY,
    row_callback: RowCallback | None = None,
) -> None:
    """Predict one shard of a chunk, like `PredictionJob.predict`. Rows of other chunks are not required.

    Raises:
        ValueError: As `PredictionJob.predict`.
    """
    partial = (
        store.read_partial(chunk_shard.chunk, rows)
        if isinstance(predictor, BatchPredictor) or chunk_shard.shards > 1
        else None
    )
    if partial is None:
        nothing = np.full((len(rows.table), len(store.label_space)), np.nan, np.float32)
        partial = PartialPredictions(nothing, True, 0, {})
    probabilities, done, has_probabilities = partial.probabilities, partial.is_predicted, partial.has_probabilities
    # Only for a whole chunk: otherwise each shard would count the stored rows of the others.
    if row_callback is not None and chunk_shard.shards == 1 and done.any():
        row_callback(int(done.sum()))
    truncated_before = getattr(predictor, "truncated", 0)  # the predictor counts over all of its calls
    pop_dates: Callable[[], dict[str, bool]] = getattr(predictor, "pop_answer_dates", dict)
    pop_dates()  # of the label probe
    answered = dict.fromkeys(partial.answered, True)
    saved = time.monotonic()
    unanswered = dict(partial.unanswered)
    premises, hypotheses = (rows.table.column(name) for name in ("premise", "hypothesis"))
    for positions, values in _predict_batches(predictor, rows.table, done, chunk_shard):
        if reasons := getattr(predictor, "unanswered", None):
            for row in positions.tolist():
                if reason := reasons.get((premises[row].as_py(), hypotheses[row].as_py())):
                    unanswered[row] = reason
        new = int((~done[positions]).sum())
        probabilities[positions] = values
        done[positions] = True
        # A function may turn out to return bare labels only when it is called.
        has_probabilities = has_probabilities and getattr(predictor, "has_probabilities", True)
        if row_callback is not None:
            row_callback(new)
        if time.monotonic() - saved >= save_every and not done.all():
            answered = merge_dates(answered, pop_dates())
            store.write_partial(
                chunk_shard,
                rows,
                probabilities,
                has_probabilities=has_probabilities,
                answered=answered,
                unanswered=unanswered,
            )
            saved = time.monotonic()
    has_probabilities = has_probabilities and getattr(predictor, "has_probabilities", True)
    truncated = getattr(predictor, "truncated", 0) - truncated_before
    fields: dict[str, Any] = {
        "has_probabilities": has_probabilities,
        "truncated": truncated,
        "answered": merge_dates(answered, pop_dates()),
        "unanswered": unanswered,
    }
    if chunk_shard.shards > 1 and not done.all():
        # Other shards are missing. The process that stores the last one joins them.
        store.write_partial(chunk_shard, rows, probabilities, is_complete=True, **fields)
        join_shards(store, chunk_shard.chunk, rows)
        return
    valid = validate_probabilities(probabilities, len(rows.table), store.label_space)
    store.write(chunk_shard.chunk, rows, valid, **fields)


def join_shards(store: PredictionStore, chunk: int, rows: ChunkRows) -> None:
    """If all shards of a chunk are stored, combine them and store the complete chunk.

    Raises:
        ValueError: If a stored value is not a probability.
    """
    partial = store.read_partial(chunk, rows)
    if partial is not None and partial.is_predicted.all():
        valid = validate_probabilities(partial.probabilities, len(rows.table), store.label_space)
        store.write(
            chunk,
            rows,
            valid,
            has_probabilities=partial.has_probabilities,
            truncated=partial.truncated,
            answered=partial.answered,
            unanswered=partial.unanswered,
        )


def select_model_columns(rows: "datasets.Dataset") -> "datasets.Dataset":
    """Select the columns that the predictions depend on, in Arrow format."""
    return rows.select_columns(list(MODEL_COLUMNS)).with_format("arrow")


def compute_chunk_hashes(rows: "datasets.Dataset", store: PredictionStore) -> list[str]:
    """Compute a hash of the rows of each chunk.

    Args:
        rows: Rows from `select_model_columns`.
        store: Store of their predictions.

    Raises:
        ValueError: If a premise or hypothesis is null.
    """
    spans = map(store.compute_row_range, range(store.n_chunks))
    return [hash_columns([_validate_texts(rows[first:end], first)], MODEL_COLUMNS) for first, end in spans]


def _validate_texts(table: "pa.Table", first: int) -> "pa.Table":
    """Validate that no sentence is null, and return the table. `first` is the index of the first row."""
    for name in ("premise", "hypothesis"):
        if table.column(name).null_count:
            row = first + table.column(name).is_null().to_pylist().index(True)
            raise ValueError(f"expected text in column {name!r}, got none in row {row}; drop or fill that row")
    return table


def _predict_batches(
    predictor: Predictor, table: "pa.Table", done: NDArray[np.bool_], work: ChunkShard
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
    """Yield row positions in a chunk with their probabilities, one batch at a time for a `BatchPredictor`.

    Args:
        predictor: Predictor.
        table: The r rows of the chunk.
        done: Which rows have a prediction already, shape (r,). The caller changes it during the iteration.
        work: Chunk shard, which selects batches of the chunk.
    """
    premises, hypotheses = table.column("premise").to_pylist(), table.column("hypothesis").to_pylist()
    if isinstance(predictor, BatchPredictor):
        # A copy, since the caller marks rows as done while the predictor selects batches.
        options: dict[str, Any] = {"done": done.copy()} if done.any() else {}
        if work.shards > 1:
            options["shard"] = (work.shard, work.shards)
        yield from predictor.iter_batches(premises, hypotheses, **options)
    elif work.shards == 1:
        if premises:
            yield np.arange(len(premises)), predictor.predict(premises, hypotheses)
    else:
        # Without batches, a shard is a contiguous range of rows.
        mine = np.array_split(np.arange(len(premises)), work.shards)[work.shard]
        mine = mine[~done[mine]]
        if len(mine):
            yield mine, predictor.predict([premises[row] for row in mine], [hypotheses[row] for row in mine])


Progress = Callable[[int, int], None]
"""Called with `(done, total)` numbers of rows: once at the start, with the stored rows, then after every batch. With
several processes, each counts the stored rows and its own chunk shards."""


class RowCounter:
    """Counter of predicted rows that calls a progress callback after each change.

    Args:
        done: Number of stored rows at the start.
        total: Number of rows.
        progress: Callback, called at once and after every change; None for no callback.
    """

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = done, total, progress
        self._report()

    def update(self, done: int) -> None:
        """Set the number of predicted rows. Calls the progress callback if the number has changed."""
        if done != self._done:
            self._done = done
            self._report()

    @contextmanager
    def count_chunk_shard(self, rows: int) -> Iterator[RowCallback]:
        """Yield a callback that counts the predicted rows of one shard of a chunk.

        The count of the shard never exceeds `rows`, its estimated number of rows.

        Some rows of the shard may have had predictions before. On exit, all `rows` rows are counted.
        """
        end = self._done + rows
        yield lambda new: self.update(min(self._done + new, end))
        self.update(end)

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)


def predict_rows(
    rows: "datasets.Dataset",
    predictor: Predictor,
    folder: str | Path,
    *,
    chunk_rows: int = CHUNK_ROWS,
    save_every: float = SAVE_EVERY,
    progress: Progress | None = None,
) -> StoredPredictions:
    """Predict all rows whose predictions are not stored in the folder yet.

    Rows are predicted in chunks by position, and each chunk is stored as soon as it is finished. For a predictor that
    yields batches (`BatchPredictor`), an unfinished chunk is written every `save_every` seconds; a function is called
    once per chunk. So a killed run continues where it stopped, with the same result as an unbroken run, bit for bit on
    the same machine: the split of a chunk into batches depends on its rows alone, and a batch is either run as a whole
    or, if all its predictions are stored, not at all. Timing affects when predictions are written, but not their
    values. At most one chunk of rows is in memory at a time.

    Under `torchrun` or `accelerate launch`, the processes share the missing chunks or, if these are few, the batches of
    each chunk. All processes must see the folder, which is tested first. Each returns when all have finished. For
    processes without a connection, use `shards.predict_shard`.

    Args:
        rows: Data set with the columns `id`, `source_id`, `premise` and `hypothesis`; others are ignored.
        predictor: Predictor.
        folder: Folder of the stores of any number of predictors and data sets; a path or an address.
        chunk_rows: Rows per chunk (default: 4096). Another size may round differently, so it is part of the key.
        save_every: Seconds between two writes of an unfinished chunk (default: 30). Not part of the key.
        progress: Callback; see `Progress` (default: none).

    Raises:
        ValueError: If a column is missing, a premise or hypothesis is null, `chunk_rows` is below 1, the predictor does
            not return probabilities, or the processes have different rows or predictors, or do not see the same folder.
    """
    group = connect_process_group()
    job = PredictionJob.from_rows(rows, predictor, folder, chunk_rows=chunk_rows)
    if group.broadcast(job.key_fields) != job.key_fields:
        raise ValueError(
            "expected the same rows and predictor in all processes, got a difference between processes 0 and "
            f"{group.rank}; pass the same model, data and options to all processes"
        )
    job = job.copy_with_key(group.broadcast(job.store.key))  # the key is random for a predictor without an identity
    validate_shared_folder(job.store.folder, group)
    store, todo = job.store, list[int]()
    if group.rank == 0:
        store.write_manifest(job.key_fields)
        store.clean()
        todo = job.list_missing_chunks()
    # The list is fixed before any process writes. Otherwise a slow process would see the chunks that a fast one has
    # finished as stored, and the processes would disagree about the assignment of the others.
    todo = group.broadcast(todo)
    reused = store.rows - sum(job.estimate_rows(chunk) for chunk in store.list_chunk_shards(todo))
    mine = store.list_chunk_shards(todo, job.choose_shards_per_chunk(group.world_size))[group.rank :: group.world_size]
    count = RowCounter(reused, reused + sum(map(job.estimate_rows, mine)), progress)

    def predict() -> None:
        for work in mine:
            with count.count_chunk_shard(job.estimate_rows(work)) as row_callback:
                job.predict(work, save_every=save_every, row_callback=row_callback)

    def join() -> None:
        # Processes that finish the last shards of a chunk at the same moment may each miss the other's.
        for chunk in store.list_missing_chunks() if group.rank == 0 else ():
            job.join_shards(chunk)

    group.run_on_all(predict)
    if group.world_size > 1:
        group.run_on_all(join)
    return StoredPredictions(store, reused=reused)
