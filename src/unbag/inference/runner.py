"""Predict every row of a data set once, in any number of processes, resumable after a kill.

A job is one predictor and one data set, in chunk shards that any process may predict.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.inference.distributed import process_group, validate_shared_folder
from unbag.inference.prediction_store import (
    ASKED,
    CHUNK_ROWS,
    ChunkRows,
    ChunkShard,
    PartialPredictions,
    Predictions,
    Store,
    key_material,
    store_key,
)
from unbag.inference.predictor import BatchPredictor, Predictor, checked_probabilities
from unbag.utils.hashing import content_hash
from unbag.utils.storage import Folder

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

if TYPE_CHECKING:
    import datasets


SAVE_EVERY: Final = 30.0
"""Seconds between two savings of what there is of a part: what is lost when a run is killed."""

_PIECES_A_PROCESS: Final = 8
"""So many that none waits long for the last of the others."""

_LEAST_ROWS: Final = 256
"""Rows a share, about: all rows of a part are made into tokens for each of its shares."""

OnAnswers = Callable[[int], None]
"""Takes how many further rows have an answer."""


@dataclass(frozen=True)
class PredictionJob:
    """The predictions of one predictor on one data set, to be made in pieces.

    Any process that has the predictor, the rows and the folder may `make` any `Piece`, in any order: what is stored at
    the end is the same.

    Attributes:
        predictor: what is asked.
        rows: the data set.
        hashes: of the rows of each part.
        material: what the store's key is made of (`prediction_store.key_material`).
        store: where the predictions go.
    """

    predictor: Predictor
    rows: "datasets.Dataset"
    hashes: tuple[str, ...]
    material: Mapping[str, Any]
    store: Store

    @classmethod
    def of(
        cls,
        rows: "datasets.Dataset",
        predictor: Predictor,
        folder: str | Path,
        *,
        chunk_rows: int = CHUNK_ROWS,
        identity: Mapping[str, str] | None = None,
    ) -> "PredictionJob":
        """Return what there is to do, and where.

        Args:
            rows: a data set with the columns `id`, `source_id`, `premise` and `hypothesis`; others are ignored.
            predictor: what to ask.
            folder: where predictions are kept, of any number of predictors and data sets; a path or an address.
            chunk_rows: rows a part.
            identity: what decides the answers, where the predictor does not say.

        Raises:
            ValueError: if a column is missing, a premise or hypothesis is null, or `chunk_rows` is below 1.
        """
        if missing := [name for name in ASKED if name not in rows.column_names]:
            raise ValueError(f"expected the columns {list(ASKED)}, missing {missing}, found {rows.column_names}")
        if chunk_rows < 1:
            raise ValueError(f"expected at least 1 row a chunk, got {chunk_rows}")
        rows = asked_of(rows)
        label_space = tuple(predictor.label_space)
        store = Store(Folder(folder), "", len(rows), chunk_rows, label_space)
        hashes = part_hashes(rows, store)
        material = key_material(
            predictor.identity or identity, hashes, rows=len(rows), chunk_rows=chunk_rows, label_space=label_space
        )
        return cls(predictor, rows, tuple(hashes), material, store).under(store_key(material))

    def under(self, key: str) -> "PredictionJob":
        """Return the same work with its store under a key, in the folder that it is in now or was to be in."""
        folder = self.store.folder
        if self.store.key:
            folder = Folder(str(folder).removesuffix(self.store.key).rstrip("/"))
        return replace(self, store=replace(self.store, folder=folder / key, key=key))

    def part(self, part: int) -> ChunkRows:
        """Return the rows of a part."""
        first, end = self.store.span(part)
        return ChunkRows(self.rows[first:end], self.hashes[part])

    def missing(self) -> list[int]:
        """Return the parts that are not there, damaged, or of other rows; each part that is there is read for it."""
        return [part for part, sha256 in enumerate(self.hashes) if not self.store.holds(part, sha256)]

    def shares(self, processes: int) -> int:
        """Return into how many shares to cut each part for so many processes, so that all have something to do."""
        rows = min(self.store.chunk_rows, self.store.rows)
        wanted = -(-_PIECES_A_PROCESS * processes // self.store.parts)
        return min(wanted, max(1, rows // _LEAST_ROWS)) if processes > 1 else 1

    def size(self, piece: ChunkShard) -> int:
        """Return about how many rows a piece has; exactly, where it is a part."""
        first, end = self.store.span(piece.part)
        rows = end - first
        return rows * (piece.share + 1) // piece.shares - rows * piece.share // piece.shares

    def make(self, piece: ChunkShard, *, save_every: float = SAVE_EVERY, on_answers: OnAnswers | None = None) -> None:
        """Ask the predictor for a piece, and store it whole; a part whose last share this was is stored as such.

        What there is of it from a process that was killed is not asked for again.

        Args:
            piece: which piece.
            save_every: seconds between two savings of what there is.
            on_answers: told after every batch how many rows it has answered.

        Raises:
            ValueError: if the predictor's answers are no probabilities.
        """
        make(self.predictor, self.store, piece, self.part(piece.part), save_every=save_every, on_answers=on_answers)

    def join(self, part: int) -> None:
        """Store a part as such if all of its shares are there.

        Raises:
            ValueError: if an answer in them is no probability.
        """
        join(self.store, part, self.part(part))


def make(
    predictor: Predictor,
    store: Store,
    piece: ChunkShard,
    rows: ChunkRows,
    *,
    save_every: float = SAVE_EVERY,
    on_answers: OnAnswers | None = None,
) -> None:
    """Make a piece as `Work.make` does, where of all rows only those of its part are at hand.

    Raises:
        ValueError: as `Work.make`.
    """
    kept = store.kept(piece.part, rows) if isinstance(predictor, BatchPredictor) or piece.shares > 1 else None
    kept = kept or PartialPredictions(np.full((len(rows.table), len(store.label_space)), np.nan, np.float32), True, 0)
    probabilities, known, certain = kept.probabilities, kept.known, kept.has_probabilities
    if on_answers is not None and piece.shares == 1 and known.any():  # else each share would tell of those of others
        on_answers(int(known.sum()))
    truncated_before = getattr(predictor, "truncated", 0)
    saved = time.monotonic()
    for positions, values in _answers(predictor, rows.table, known, piece):
        new = int((~known[positions]).sum())
        probabilities[positions] = values
        known[positions] = True
        certain = certain and getattr(predictor, "has_probabilities", True)
        if on_answers is not None:
            on_answers(new)
        if time.monotonic() - saved >= save_every and not known.all():
            store.keep(piece, rows, probabilities, has_probabilities=certain)
            saved = time.monotonic()
    certain = certain and getattr(predictor, "has_probabilities", True)
    truncated = getattr(predictor, "truncated", 0) - truncated_before
    if piece.shares > 1 and not known.all():
        store.keep(piece, rows, probabilities, has_probabilities=certain, truncated=truncated, whole=True)
        join(store, piece.part, rows)
        return
    checked = checked_probabilities(probabilities, len(rows.table), store.label_space)
    store.write(piece.part, rows, checked, has_probabilities=certain, truncated=truncated)


def join(store: Store, part: int, rows: ChunkRows) -> None:
    """Store a part as such, if all of its shares are there.

    Raises:
        ValueError: if an answer in them is no probability.
    """
    kept = store.kept(part, rows)
    if kept is not None and kept.known.all():
        checked = checked_probabilities(kept.probabilities, len(rows.table), store.label_space)
        store.write(part, rows, checked, has_probabilities=kept.has_probabilities, truncated=kept.truncated)


def asked_of(rows: "datasets.Dataset") -> "datasets.Dataset":
    """Return of some rows what decides the answers to them, as Arrow tables."""
    return rows.select_columns(list(ASKED)).with_format("arrow")


def part_hashes(rows: "datasets.Dataset", store: Store) -> list[str]:
    """Return a hash of the rows of each part of a store.

    Args:
        rows: as `asked_of` returns them.
        store: of their answers.

    Raises:
        ValueError: if a premise or hypothesis is null.
    """
    spans = map(store.span, range(store.parts))
    return [content_hash([_with_texts(rows[first:end], first)], ASKED) for first, end in spans]


def _with_texts(table: "pa.Table", first: int) -> "pa.Table":
    """Return the rows from the row `first` on, refusing those without text."""
    for name in ("premise", "hypothesis"):
        if table.column(name).null_count:
            row = first + table.column(name).is_null().to_pylist().index(True)
            raise ValueError(f"expected text in every {name}, found none in row {row}; drop or fill that row")
    return table


def _answers(
    predictor: Predictor, table: "pa.Table", known: NDArray[np.bool_], piece: ChunkShard
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
    """Yield positions in a part and the probabilities there, batch by batch where the predictor can.

    Args:
        predictor: what to ask.
        table: the part's rows.
        known: which of them need no answer, shape (r,); it may change meanwhile.
        piece: which of the part's batches are wanted.
    """
    premises, hypotheses = table.column("premise").to_pylist(), table.column("hypothesis").to_pylist()
    if isinstance(predictor, BatchPredictor):
        some: dict[str, Any] = {"done": known.copy()} if known.any() else {}
        if piece.shares > 1:
            some["share"] = (piece.share, piece.shares)
        yield from predictor.batches(premises, hypotheses, **some)
    elif piece.shares == 1:
        if premises:
            yield np.arange(len(premises)), predictor.predict(premises, hypotheses)
    else:
        mine = np.array_split(np.arange(len(premises)), piece.shares)[piece.share]
        mine = mine[~known[mine]]
        if len(mine):
            yield mine, predictor.predict([premises[row] for row in mine], [hypotheses[row] for row in mine])


Progress = Callable[[int, int], None]
"""Takes how many rows are done and how many there are to do: once at the start, with the rows found in the store, then
after every batch. With several processes each counts the rows found and its own share."""


class RowCount:
    """How many rows are done, of how many.

    Args:
        done: rows, at the start.
        total: rows there are to do.
        progress: told now, and whenever more are done.
    """

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = done, total, progress
        self._tell()

    def reach(self, done: int) -> None:
        """Tell that so many rows are done, if that is news."""
        if done != self._done:
            self._done = done
            self._tell()

    @contextmanager
    def making(self, rows: int) -> Iterator[Callable[[int], None]]:
        """Give what counts further answers while so many rows are made; all of them are done at the end.

        Of a share it is known about how many rows it has, and not how many of them had answers before.
        """
        end = self._done + rows
        yield lambda further: self.reach(min(self._done + further, end))
        self.reach(end)

    def _tell(self) -> None:
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
) -> Predictions:
    """Predict all rows, but those whose predictions are in the folder already.

    Rows are predicted in parts by position and each part is stored as soon as it is done; while it is being made,
    what there is of it is stored every `save_every` seconds, where the predictor answers in batches (`BatchPredictor`;
    a function is asked a part at a time). So a killed run goes on where it stopped, and gives in the end what it would
    have given at once, bit for bit on the same machine: how a part is cut into batches depends on its rows alone, and
    a batch is asked whole or, if all its answers are there, not at all. Time decides what is saved when, and no number.
    No more than one part's rows are in memory at a time.

    Started by `torchrun` or `accelerate launch`, the processes share the missing parts, and where these are few the
    batches of each part. The folder must be one that they all see, which is tried first. Each returns when all are
    done. For processes that nothing connects there is `sharded.predict_shard`.

    Args:
        rows: a data set with the columns `id`, `source_id`, `premise` and `hypothesis`; others are ignored.
        predictor: what to ask.
        folder: where predictions are kept, of any number of predictors and data sets; a path or an address.
        chunk_rows: rows a part; a part of another size may round differently, so it is in the key.
        save_every: seconds between two savings of an unfinished part; no part of the key.
        progress: see `Progress`.

    Raises:
        ValueError: if a column is missing, a premise or hypothesis is null, `chunk_rows` is below 1, the predictor's
            answers are no probabilities, or processes were given different rows or predictors, or do not see the
            same folder.
    """
    group = process_group()
    work = PredictionJob.of(rows, predictor, folder, chunk_rows=chunk_rows)
    if group.broadcast(work.material) != work.material:
        raise ValueError(
            f"expected all processes to predict the same rows with the same predictor, process {group.rank} has "
            "another than process 0; give all the same model, data and options"
        )
    work = work.under(group.broadcast(work.store.key))  # drawn, where the predictor has no identity
    validate_shared_folder(work.store.folder, group)
    store, todo = work.store, list[int]()
    if group.rank == 0:
        store.describe(work.material)
        store.clean()
        todo = work.missing()
    # Agreed before anyone writes, or a slower process would leave out what a faster one has finished meanwhile.
    todo = group.broadcast(todo)
    reused = store.rows - sum(work.size(piece) for piece in store.pieces(todo))
    mine = store.pieces(todo, work.shares(group.world))[group.rank :: group.world]
    count = RowCount(reused, reused + sum(map(work.size, mine)), progress)

    def predict() -> None:
        for piece in mine:
            with count.making(work.size(piece)) as answered:
                work.make(piece, save_every=save_every, on_answers=answered)

    def join() -> None:
        for part in store.missing() if group.rank == 0 else ():  # whose shares were finished in the same moment
            work.join(part)

    group.run_on_all(predict)
    if group.world > 1:
        group.run_on_all(join)
    return Predictions(store, reused=reused)
