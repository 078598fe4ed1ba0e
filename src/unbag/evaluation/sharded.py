"""An evaluation that processes share which nothing connects: what they predict, and the scores at the end.

    <predictions>/tasks/000-001.json   what was asked of the first model on the second set, and where the answers are
    <predictions>/claims/scoring.json  who scores
    <predictions>/<key>/…              the answers (`inference.prediction_store`), claimed in pieces
    (`inference.shards`)

Each process makes what is left of each task, waits until all is there, and one of them scores. With the tasks written
down, `score_tasks` does that without the model.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.challenge_sets import results
from unbag.challenge_sets.failures import Failure
from unbag.challenge_sets.request import BuiltSet, Request, build
from unbag.challenge_sets.results import Result
from unbag.evaluation.label_check import LabelCheckedModel
from unbag.evaluation.lexical_baseline import BaselinePredictions, LexicalBaseline
from unbag.evaluation.scoring import Scored, score_predictions, write
from unbag.inference.leases import LeaseManager
from unbag.inference.prediction_store import PREDICTIONS, Predictions, Store, StoreError
from unbag.inference.runner import PredictionJob, chunk_hashes, select_model_columns
from unbag.inference.shards import CLAIMS, Shard, build_shared_job, predict_shard
from unbag.inference.single_output import Threshold
from unbag.utils.progress import OnProgress
from unbag.utils.storage import Folder

_TASKS: Final = "tasks"
_SCORING: Final = "scoring"
_MOST_NAMED: Final = 10  # parts that a message names
_SCHEMA: Final = 2
_KEY: Final = re.compile(r"[0-9a-f]{64}")


class _Turn(NamedTuple):
    """One model on one set, as this process began it."""

    file: str  # of the task
    name: str  # the set's
    model: str
    works: tuple[PredictionJob, ...]  # the rows, and those with shuffled words
    progress: Callable[[int, int], None] | None


class ShardedEvaluation:
    """The part of one process in a shared evaluation.

    Args:
        shard: which of the processes this is.
        predictions: the folder of the answers, which all of them see; a path or an address.
        places: of all tasks: the number of a model and of a set, which the results are in the order of.
        fitted_to: what the lexical model is fitted to (`LexicalBaseline`); None where none is asked.
    """

    def __init__(
        self,
        shard: Shard,
        predictions: str | Path,
        places: Sequence[tuple[int, int]],
        fitted_to: Mapping[str, Any] | None,
    ) -> None:
        self._shard, self._folder, self._fitted_to = shard, Folder(predictions), fitted_to
        self._turns: list[_Turn] = []
        self._built: dict[str, BuiltSet] = {}
        tasks = self._folder / _TASKS
        for name in set(tasks.names()) - {_file(place) for place in places}:  # of another command
            tasks.remove(name)

    def begin(
        self,
        place: tuple[int, int],
        item: BuiltSet,
        model: LabelCheckedModel,
        known: Mapping[str, Any],
        progress: Callable[[int, int], None] | None,
        control: Any = None,
        *,
        is_own_control: bool = False,
    ) -> None:
        """Write a task down and predict what of it nobody else does, without waiting for them.

        Args:
            place: of the task.
            item: the set.
            model: the model.
            known: its record.
            progress: told how far it is.
            control: the rows with shuffled words (`BuiltSet.control`); None where these are not asked.
            is_own_control: whether the answers to the rows stand for those to shuffled words too.

        Raises:
            ValueError: if the answers are no probabilities, or nothing says what decides them.
        """
        asked = (item.rows,) if control is None else (item.rows, control)
        works = tuple(build_shared_job(rows, model.predictor, str(self._folder)) for rows in asked)
        task = Task(
            request=_plain(asdict(item.request)),
            model=dict(known),
            threshold=getattr(model.predictor, "threshold", None),
            key=works[0].store.key,
            control_key=works[-1].store.key if control is not None or is_own_control else None,
            fitted_to=_plain(self._fitted_to),
        )
        self._built[_known_by(task)] = item
        (self._folder / _TASKS).write(_file(place), (json.dumps(asdict(task), ensure_ascii=False) + "\n").encode())
        for work in works:
            predict_shard(work, self._shard, wait=False, progress=progress)
        self._turns.append(_Turn(_file(place), item.request.name, model.name, works, progress))

    def finish(
        self,
        output_dir: Path,
        failures: Sequence[Failure],
        *,
        progress_callback: OnProgress | None,
        on_result: Callable[[Result], None] | None,
        on_failure: Callable[[str, Exception, str | None], None],
    ) -> list[Result]:
        """Wait until all that was begun is there, do what others leave undone, and score if nobody else does.

        Args:
            output_dir: the folder for the results.
            failures: the sets that have none.
            progress_callback: see `utils.progress.OnProgress`.
            on_result: see `evaluation.evaluator.OnResult`.
            on_failure: told of a set, what went wrong with it, and with which model.

        Returns:
            The results; none where another process scores.
        """
        if not self._turns:  # of no set: why, the failures say
            return []
        predicted = []
        for turn in self._turns:
            try:
                for work in turn.works:
                    predict_shard(work, self._shard, progress=turn.progress)
            except Exception as error:
                on_failure(turn.name, error, turn.model)
            else:
                predicted.append(turn)
        with LeaseManager(self._folder / CLAIMS, f"shard {self._shard}", self._shard.lease) as claims:
            if not claims.take(_SCORING):
                return []
            for work in (work for turn in predicted for work in turn.works):
                for part in work.missing():  # damaged since
                    work.predict(*work.store.chunk_shards([part]))
            return score_tasks(
                self._folder,
                output_dir=output_dir,
                skipped=failures,
                only={turn.file for turn in predicted},
                built=self._built,
                progress_callback=progress_callback,
                on_result=on_result,
                on_failure=lambda failure: on_failure(failure.set, failure.error, failure.model),
            )


@dataclass(frozen=True)
class Task:
    """What is asked of one model on one set, as it is written down.

    Attributes:
        request: the fields of the set's `Request`.
        model: the model's record.
        threshold: of a model of one output.
        key: of the store of its answers.
        fitted_to: what the lexical model is fitted to; None where none is asked.
        control_key: of the store of its answers to the rows with shuffled words, which is `key` where the model is
            blind to word order; None where these are not asked.
        schema: the version of this record.
    """

    request: dict[str, Any]
    model: dict[str, Any]
    threshold: Threshold | None
    key: str
    fitted_to: dict[str, Any] | None
    control_key: str | None = None
    schema: int = _SCHEMA

    @classmethod
    def read(cls, folder: Folder, name: str) -> "Task":
        """Read one.

        Raises:
            ValueError: if it is none.
        """
        what = f"{folder.where(name)}: expected a task of `unbag evaluate --shard`"
        try:
            record = json.loads(folder.read(name))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{what} ({error})") from None
        checked = results.validate_record(record, results.TaskRecord, what)
        if checked["schema"] != _SCHEMA:
            raise ValueError(
                f"{what} of version {_SCHEMA}, found version {checked['schema']}; start the shards again with this "
                "version of unbag"
            )
        task = cls(**{**_known(cls, checked), "request": _known(Request, checked["request"])})
        for key in (task.key, task.control_key):
            if key is not None and not _KEY.fullmatch(key):  # it becomes the name of a folder
                raise ValueError(f"{what}, found the key {key!r:.80}")
        return task


def score_tasks(
    predictions: Folder,
    *,
    output_dir: Path,
    skipped: Sequence[Failure] = (),
    only: Collection[str] | None = None,
    built: Mapping[str, BuiltSet] | None = None,
    progress_callback: OnProgress | None = None,
    on_result: Callable[[Result], None] | None = None,
    on_failure: Callable[[Failure], None] | None = None,
) -> list[Result]:
    """Score what shards have predicted, without the models; leave `results.json` and the examples in a folder.

    Args:
        predictions: the folder of the answers.
        output_dir: the folder to write to.
        skipped: what has no result, for the record.
        only: the names of the tasks that are scored; all by default. Of the others it is known why not, or they are an
            earlier command's.
        built: sets that are built already.
        progress_callback: see `utils.progress.OnProgress`; of the lexical model.
        on_result: see `evaluation.evaluator.OnResult`.
        on_failure: told of each model and set of which answers are missing; without it the first ends it.

    Raises:
        ValueError: if no shard was at work there, or answers are missing.
    """
    names = (predictions / _TASKS).names()
    if not names:
        raise ValueError(
            f"{predictions}: expected what `unbag evaluate --shard` leaves in the {PREDICTIONS} of its --output-dir, "
            "found no tasks"
        )
    done: list[Scored] = []
    failures = list(skipped)
    items = dict(built or {})
    counters: dict[str, LexicalBaseline] = {}
    words: dict[tuple[str, str], BaselinePredictions] = {}
    for task in (Task.read(predictions / _TASKS, name) for name in names if only is None or name in only):
        asked, fitted_to = _known_by(task), json.dumps(task.fitted_to)
        try:
            found = Predictions.open(predictions / task.key)
            if asked not in items:
                items[asked] = build(Request(**task.request))
            item = items[asked]
            _require_whole(found.store, item.rows)
            control = None
            if task.control_key == task.key:
                control = found
            elif task.control_key is not None:
                control = Predictions.open(predictions / task.control_key)
                _require_whole(control.store, item.control)
            if (asked, fitted_to) not in words:
                counter = counters.setdefault(fitted_to, LexicalBaseline(task.fitted_to or {}, progress_callback))
                words[asked, fitted_to] = (
                    BaselinePredictions() if task.fitted_to is None else counter.of(item, str(predictions))
                )
            each = score_predictions(
                item, found, task.model, threshold=task.threshold, words=words[asked, fitted_to], control=control
            )
        except Exception as error:
            if on_failure is None:
                raise
            failures.append(Failure(task.request["name"], error, task.model["name"]))
            on_failure(failures[-1])
            continue
        done.append(each)
        if on_result is not None:
            on_result(each[0])
    return write(done, output_dir, failures)


def _require_whole(store: Store, rows: Any) -> None:
    """Refuse to score what is not all there.

    Raises:
        StoreError: naming the parts that are missing or of other rows, and who is at work on them.
    """
    if len(rows) != store.rows:
        raise StoreError(
            f"{store.folder} has the answers to {store.rows:,} rows, the set has {len(rows):,}: is it made of the "
            "same pairs here?"
        )
    hashes = chunk_hashes(select_model_columns(rows), store)
    missing = [part for part, sha256 in enumerate(hashes) if not store.has_chunk(part, sha256)]
    if missing:
        named = ", ".join(map(str, missing[:_MOST_NAMED])) + (", …" if len(missing) > _MOST_NAMED else "")
        raise StoreError(
            f"{len(missing):,} of {store.n_chunks:,} parts are missing in {store.folder}: {named}; start a shard again "
            "(unbag evaluate … --shard 0/1), or wait for those at work"
        )


def _file(place: tuple[int, int]) -> str:
    model, of_set = place
    return f"{model:03}-{of_set:03}.json"


def _known_by(task: Task) -> str:
    """Return what a task's set is known by."""
    return json.dumps(task.request, sort_keys=True)


def _known(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says of the fields of a dataclass; a later version may have put more in it."""
    return {field.name: record[field.name] for field in fields(kind)}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, with paths as text."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value
