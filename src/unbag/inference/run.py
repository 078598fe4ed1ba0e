"""Predict every row of a data set once, in any number of processes, killed and started again any number of times."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.fingerprint import content_hash
from unbag.inference.predictor import BatchPredictor, Predictor, checked_probabilities
from unbag.inference.process_group import process_group
from unbag.inference.store import CHUNK_ROWS, NAMED, Predictions, Store, key_material, store_key

if TYPE_CHECKING:
    import datasets

_COLUMNS = (*NAMED, "premise", "hypothesis")

Progress = Callable[[int, int], None]
"""Takes how many rows are done and how many there are to do: once at the start, with the rows found in the store, then
after every batch. With several processes each counts the rows found and its own share."""


def predict_rows(
    rows: "datasets.Dataset",
    predictor: Predictor,
    folder: str | Path,
    *,
    chunk_rows: int = CHUNK_ROWS,
    progress: Progress | None = None,
) -> Predictions:
    """Predict all rows, but those whose predictions are in the folder already.

    Rows are predicted in chunks by position and each chunk is stored as soon as it is done, so a killed run goes on
    where it stopped, and gives in the end what it would have given at once: bit for bit on the same machine. No more
    than one chunk's rows are in memory at a time.

    Started by `torchrun` or `accelerate launch`, the processes share the missing chunks. The folder must be one that
    they all see. Each returns when all are done.

    Args:
        rows: a data set with the columns `id`, `source_id`, `premise` and `hypothesis`; others are ignored.
        predictor: what to ask.
        folder: where predictions are kept, of any number of predictors and data sets.
        chunk_rows: rows between two savings; a chunk of another size may round differently, so it is part of the key.
        progress: see `Progress`.

    Raises:
        ValueError: if a column is missing, a premise or hypothesis is null, `chunk_rows` is below 1, the predictor's
            answers are no probabilities, or processes were given different rows or predictors.
    """
    if missing := [name for name in _COLUMNS if name not in rows.column_names]:
        raise ValueError(f"expected the columns {list(_COLUMNS)}, missing {missing}, found {rows.column_names}")
    if chunk_rows < 1:
        raise ValueError(f"expected at least 1 row a chunk, got {chunk_rows}")
    rows = rows.select_columns(list(_COLUMNS)).with_format("arrow")
    group = process_group()
    material = key_material(
        predictor.identity,
        content_hash(_tables(rows), _COLUMNS),
        rows=len(rows),
        chunk_rows=chunk_rows,
        label_space=predictor.label_space,
    )
    if group.broadcast(material) != material:
        raise ValueError(
            f"expected all processes to predict the same rows with the same predictor, process {group.rank} has "
            "another than process 0; give all the same model, data and options"
        )
    key = group.broadcast(store_key(material))  # drawn, where the predictor has no identity
    store = Store(Path(folder) / key, key, len(rows), chunk_rows, tuple(predictor.label_space))
    todo: list[int] = []
    if group.rank == 0:
        store.describe(material)
        store.clean()
        todo = [part for part in range(store.parts) if not store.holds(part, _slice(rows, store, part))]
    # Agreed before anyone writes, or a slower process would leave out what a faster one has finished meanwhile.
    todo = group.broadcast(todo)
    reused = store.rows - _count(store, todo)
    mine = todo[group.rank :: group.world]
    done, total = reused, reused + _count(store, mine)
    if progress is not None:
        progress(done, total)

    def predict() -> None:
        nonlocal done
        for part in mine:
            chunk = _slice(rows, store, part)
            probabilities = np.full((len(chunk), len(store.label_space)), np.nan, dtype=np.float32)
            truncated_before = getattr(predictor, "truncated", 0)
            for positions, values in _answers(predictor, chunk):
                probabilities[positions] = values
                done += len(values)
                if progress is not None:
                    progress(done, total)
            store.write(
                part,
                chunk,
                checked_probabilities(probabilities, len(chunk), store.label_space),
                has_probabilities=getattr(predictor, "has_probabilities", True),
                truncated=getattr(predictor, "truncated", 0) - truncated_before,
            )

    group.run_on_all(predict)
    return Predictions(store, reused=reused)


def _tables(rows: "datasets.Dataset", size: int = 16_384) -> Iterator[pa.Table]:
    """Yield the rows as tables of `size` rows, however the data set's files are cut, refusing those without text."""
    for start in range(0, len(rows), size):
        table = rows[start : start + size]
        for name in ("premise", "hypothesis"):
            if table.column(name).null_count:
                row = start + table.column(name).is_null().to_pylist().index(True)
                raise ValueError(f"expected text in every {name}, found none in row {row}; drop or fill that row")
        yield table


def _slice(rows: "datasets.Dataset", store: Store, part: int) -> pa.Table:
    first, end = store.span(part)
    return rows[first:end]


def _count(store: Store, parts: list[int]) -> int:
    spans = [store.span(part) for part in parts]
    return sum(end - first for first, end in spans)


def _answers(predictor: Predictor, chunk: pa.Table) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
    """Yield positions in the chunk and the probabilities there, batch by batch where the predictor can."""
    premises, hypotheses = chunk.column("premise").to_pylist(), chunk.column("hypothesis").to_pylist()
    if isinstance(predictor, BatchPredictor):
        yield from predictor.batches(premises, hypotheses)
    elif premises:
        yield np.arange(len(premises)), predictor.predict(premises, hypotheses)
