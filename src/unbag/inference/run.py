"""Predict every row of a data set once, in any number of processes, killed and started again any number of times."""

from pathlib import Path
from typing import TYPE_CHECKING

from unbag.inference.predictions import Predictions
from unbag.inference.predictor import Predictor
from unbag.inference.process_group import process_group
from unbag.inference.row_count import Progress, RowCount
from unbag.inference.shared_folder import require_shared
from unbag.inference.store import CHUNK_ROWS
from unbag.inference.work import SAVE_EVERY, Work

if TYPE_CHECKING:
    import datasets


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
        progress: see `row_count.Progress`.

    Raises:
        ValueError: if a column is missing, a premise or hypothesis is null, `chunk_rows` is below 1, the predictor's
            answers are no probabilities, or processes were given different rows or predictors, or do not see the
            same folder.
    """
    group = process_group()
    work = Work.of(rows, predictor, folder, chunk_rows=chunk_rows)
    if group.broadcast(work.material) != work.material:
        raise ValueError(
            f"expected all processes to predict the same rows with the same predictor, process {group.rank} has "
            "another than process 0; give all the same model, data and options"
        )
    work = work.under(group.broadcast(work.store.key))  # drawn, where the predictor has no identity
    require_shared(work.store.folder, group)
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
