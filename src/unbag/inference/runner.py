"""Prediction of all rows of a data set, in one or several processes. Stored predictions are reused."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from unbag.inference.distributed import connect_process_group
from unbag.inference.function import CallablePredictor
from unbag.inference.prediction_store import (
    CHUNK_ROWS,
    ID_COLUMNS,
    MANIFEST,
    MODEL_COLUMNS,
    UNANSWERED,
    PredictionStore,
    StoredPredictions,
)
from unbag.inference.predictor import Predictor, validate_probabilities
from unbag.utils.hashing import hash_columns
from unbag.utils.options import OptionError
from unbag.utils.storage import StorageFolder

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

Progress = Callable[[int, int], None]
"""Called with `(done, total)` numbers of rows: once at the start, with the stored rows, then after every batch. With
several processes, each counts the stored rows and its own chunks."""

_TEXTS: Final = ("premise", "hypothesis")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shard:
    """One of n shards of an evaluation, for processes that only share a folder. A shard predicts every n-th chunk.

    >>> str(Shard.parse("0/3"))
    '0/3'
    """

    index: int  # number of the shard, from 0
    of: int  # number of shards

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"

    @classmethod
    def parse(cls, text: str, option: str = "shard") -> "Shard":
        """Parse a shard from text such as `0/3`. `option` is its name in the error message."""
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if match is None or int(match[1]) >= int(match[2]):
            raise OptionError(
                f"{option}: expected I/N with I from 0 to N - 1, got {text!r}; pass 0/3, 1/3 and 2/3 for three shards"
            )
        return cls(int(match[1]), int(match[2]))


def predict_rows(
    rows: "datasets.Dataset",
    predictor: Predictor,
    folder: str | Path,
    *,
    chunk_rows: int = CHUNK_ROWS,
    progress: Progress | None = None,
    predict_missing: Callable[..., dict[int, StoredPredictions]] | None = None,
) -> StoredPredictions:
    """Predict all rows whose predictions are not stored in the folder yet.

    Rows are predicted in chunks by position, and each chunk is stored as soon as it is finished. So a killed run
    continues where it stopped, and gives the result of an unbroken run: batches depend on the rows of a chunk alone.

    Under `torchrun` or `accelerate launch`, the processes share the missing chunks, and each returns when all have
    finished. All of them must see the folder. For processes without a connection, use `predict_shard`.

    Args:
        rows: Data set with the columns `id`, `source_id`, `premise` and `hypothesis`; others are ignored.
        folder: Folder of the stores of any number of predictors and data sets; a path or an address.
        chunk_rows: Rows per chunk (default: 1024). Another size may round differently, so it is part of the key.
        progress: Callback; see `Progress` (default: none).
        predict_missing: Function that predicts the missing chunks (default: `predict_chunks`).
    """
    group = connect_process_group()
    rows, store = _open_store(rows, predictor, folder, chunk_rows)
    # The key is random for a predictor without an identity.
    manifest, key = group.broadcast((store.manifest, store.folder.name))
    if manifest != store.manifest:
        raise ValueError(
            "expected the same rows and predictor in all processes, got a difference between processes 0 and "
            f"{group.rank}; pass the same model, data and options to all processes"
        )
    store = replace(store, folder=StorageFolder(folder) / key)

    def write_manifest() -> None:
        if group.rank == 0:
            store.write_manifest()
        elif not store.folder.exists(MANIFEST):
            raise ValueError(
                f"expected a folder that all processes can read, got {store.folder}, which lacks the file that another "
                "process wrote; pass a shared folder, or a URL such as s3://…, as --output-dir"
            )

    group.main_process_first(write_manifest)
    stored = store.read_stored(range(store.n_chunks)) if group.rank == 0 else {}
    # The list is fixed before any process writes, so that all agree on the assignment of the chunks.
    missing = group.broadcast([chunk for chunk in range(store.n_chunks) if chunk not in stored])
    mine = missing[group.rank :: group.world_size]
    reused = store.rows - store.count_rows(missing)
    count = _count_rows(progress, reused, reused + store.count_rows(mine))
    stored |= group.run_on_all(lambda: (predict_missing or predict_chunks)(predictor, rows, store, mine, count))
    return store.merge_chunks(stored, reused)


def predict_shard(
    rows: "datasets.Dataset",
    predictor: Predictor,
    folder: str | Path,
    shard: Shard,
    *,
    chunk_rows: int = CHUNK_ROWS,
    progress: Progress | None = None,
) -> None:
    """Predict and store the chunks of a shard that are not stored yet.

    After all shards, `predict_rows` returns the predictions, and predicts what is missing.
    """
    rows, store = _open_store(rows, predictor, folder, chunk_rows, is_shard=True)
    store.write_manifest()
    # The first shard depends on the data, so that small sets do not all go to shard 0.
    first = (shard.index + int(store.folder.name[:8], 16)) % shard.of
    chunks = range(first, store.n_chunks, shard.of)
    stored = store.read_stored(chunks)
    missing = [chunk for chunk in chunks if chunk not in stored]
    predict_chunks(
        predictor, rows, store, missing, _count_rows(progress, store.count_rows(stored), store.count_rows(chunks))
    )


def _open_store(
    rows: "datasets.Dataset", predictor: Predictor, folder: str | Path, chunk_rows: int, *, is_shard: bool = False
) -> tuple["datasets.Dataset", PredictionStore]:
    """Validate rows and predictor, and compute the key of the predictions. Returns the rows in Arrow format."""
    if missing := [name for name in MODEL_COLUMNS if name not in rows.column_names]:
        raise ValueError(f"expected the columns {list(MODEL_COLUMNS)}, got {rows.column_names} without {missing}")
    rows = rows.select_columns(list(MODEL_COLUMNS)).with_format("arrow")
    starts = range(0, len(rows), chunk_rows)
    content = hash_columns((_validate_texts(rows[at : at + chunk_rows], at) for at in starts), MODEL_COLUMNS)

    def create(identity: Mapping[str, str] | None) -> PredictionStore:
        manifest = {
            "identity": None if identity is None else dict(identity),
            "content": content,
            "rows": len(rows),
            "chunk_rows": chunk_rows,
            "space": list(predictor.label_space),
        }
        return PredictionStore.create(folder, manifest)

    source = predictor.source if isinstance(predictor, CallablePredictor) else None
    if predictor.identity is not None or (source is None and not is_shard):
        return rows, create(predictor.identity)
    if source is None:
        raise ValueError(
            "--shard: expected a model that every process can identify (a Hub model, a folder, a built-in model, or a "
            f"function module:function), got {type(predictor).__name__}; for a closure, a lambda or a method, pass a "
            "CallablePredictor with an identity"
        )
    of_shards = create(source)
    if is_shard:
        return rows, of_shards
    if not of_shards.folder.exists(MANIFEST):  # only shards store predictions under this key
        return rows, create(None)
    logger.warning(
        "%s: reusing the predictions of earlier shards; if the function depends on anything but its source file that "
        "has changed, remove this folder",
        of_shards.folder,
    )
    return rows, of_shards


def _count_rows(progress: Progress | None, done: int, total: int) -> Callable[[int], None]:
    """Report the rows that are done now, and return a function that adds rows."""

    def count(new: int) -> None:
        nonlocal done
        done += new
        if progress is not None:
            progress(done, total)

    count(0)
    return count


def predict_chunks(
    predictor: Predictor,
    rows: "datasets.Dataset",
    store: PredictionStore,
    chunks: Sequence[int],
    on_rows: Callable[[int], None],
) -> dict[int, StoredPredictions]:
    """Predict some chunks of the rows, and store each as soon as it is complete.

    `on_rows` is called after every batch with the number of predicted rows.
    """
    predicted = {}
    for chunk in chunks:
        predicted[chunk] = predict_chunk(predictor, rows[store.get_span(chunk)], on_rows)
        store.write(chunk, predicted[chunk])
    return predicted


def predict_chunk(
    predictor: Predictor, rows: "pa.Table", on_rows: Callable[[int], None] = lambda _: None
) -> StoredPredictions:
    """Predict the rows of a chunk, which have the columns `MODEL_COLUMNS`.

    `on_rows` is called after every batch with the number of predicted rows.
    """
    import pyarrow as pa

    premises, hypotheses = (rows.column(name).to_pylist() for name in _TEXTS)
    pop_dates: Callable[[], dict[str, bool]] = getattr(predictor, "pop_answer_dates", dict)
    pop_dates()  # of the label probe
    truncated_before = getattr(predictor, "truncated", 0)  # the predictor counts over all of its calls
    probabilities = np.full((len(rows), len(predictor.label_space)), np.nan, np.float32)
    if hasattr(predictor, "iter_batches"):
        batches = predictor.iter_batches(premises, hypotheses)
    else:
        batches = iter([(np.arange(len(rows)), predictor.predict(premises, hypotheses))] if premises else [])
    for positions, values in batches:
        probabilities[positions] = values
        on_rows(len(positions))
    valid = validate_probabilities(probabilities, len(rows), predictor.label_space)
    columns = {name: rows.column(name) for name in ID_COLUMNS}
    columns |= zip(predictor.label_space, np.ascontiguousarray(valid.T), strict=True)
    reasons: Mapping[tuple[str, str], str] = getattr(predictor, "unanswered", {})
    unanswered = [reasons.get(pair) for pair in zip(premises, hypotheses, strict=True)]
    if any(unanswered):
        columns[UNANSWERED] = pa.array(unanswered, pa.string())
    # A function may turn out to return bare labels only when it is called.
    has_probabilities = getattr(predictor, "has_probabilities", True)
    truncated = getattr(predictor, "truncated", 0) - truncated_before
    return StoredPredictions(pa.table(columns).combine_chunks(), has_probabilities, truncated, pop_dates())


def _validate_texts(table: "pa.Table", first: int) -> "pa.Table":
    """Validate that no sentence is null, and return the table. `first` is the index of the first row."""
    for name in _TEXTS:
        if table.column(name).null_count:
            row = first + table.column(name).is_null().to_pylist().index(True)
            raise ValueError(f"expected text in column {name!r}, got none in row {row}; drop or fill that row")
    return table
