"""Sharded evaluation: independent processes each predict a part of the rows, and one process computes the scores.

    <predictions>/tasks/000-001.json   task of the first model on the second set, with the keys of its predictions
    <predictions>/claims/scoring.json  lease of the process that scores
    <predictions>/<key>/…              predictions (`inference.prediction_store`), leased in chunk shards
                                       (`inference.shards`)

Each process predicts the remaining chunk shards of each task and waits until all are stored. One process scores. Since
the tasks are stored, `score_sharded_predictions` can score them without the models.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.challenge_sets import results
from unbag.challenge_sets.request import BuiltSet, SetRequest, build_requested_set
from unbag.challenge_sets.results import Result
from unbag.evaluation.label_check import LabelCheckedModel
from unbag.evaluation.lexical_baseline import BaselinePredictions, LexicalBaseline
from unbag.evaluation.outcome import EvaluationCallbacks, EvaluationOutcome, FailureLog
from unbag.evaluation.scoring import ScoredModel, ScoredResult, score_predictions, write_scored_results
from unbag.inference.prediction_store import PREDICTIONS, PredictionStore, StoredPredictions, StoreError
from unbag.inference.runner import PredictionJob, compute_chunk_hashes, select_model_columns
from unbag.inference.shards import CLAIMS, LeaseManager, Shard, build_shared_job, predict_shard
from unbag.inference.single_output import Threshold
from unbag.utils.storage import StorageFolder

_TASKS: Final = "tasks"
_SCORING: Final = "scoring"
_MOST_NAMED: Final = 10  # maximum number of chunks listed in a message
_SCHEMA: Final = 3
_KEY: Final = re.compile(r"[0-9a-f]{64}")


class _Turn(NamedTuple):
    """Prediction jobs of one model on one set, as started by this process."""

    file: str  # name of the task's file
    name: str  # name of the set
    model: str
    jobs: tuple[PredictionJob, ...]  # the rows, and the rows with shuffled words
    progress: Callable[[int, int], None] | None


class ShardedEvaluation:
    """Evaluation that is divided among several processes. Each process uses its own instance.

    Args:
        shard: Index of this process and number of processes.
        predictions: Path or URL of the predictions folder, which all processes can access.
        places: Indices of model and set of all tasks, in the order of the results.
        fitted_to: Training options of the lexical baseline (`LexicalBaseline`); None without the baseline.
    """

    def __init__(
        self,
        shard: Shard,
        predictions: str | Path,
        places: Sequence[tuple[int, int]],
        fitted_to: Mapping[str, Any] | None,
    ) -> None:
        self._shard, self._folder, self._fitted_to = shard, StorageFolder(predictions), fitted_to
        self._turns: list[_Turn] = []
        self._built: dict[str, BuiltSet] = {}
        tasks = self._folder / _TASKS
        for name in set(tasks.list_names()) - {_file(place) for place in places}:  # tasks of an earlier command
            tasks.remove(name)

    def begin(
        self,
        position: tuple[int, int],
        built_set: BuiltSet,
        model: LabelCheckedModel,
        record: Mapping[str, Any],
        progress: Callable[[int, int], None] | None,
        control: Any = None,
        *,
        is_own_control: bool = False,
    ) -> None:
        """Store the task of one model and set, then predict the rows that no other process has predicted or leased.

        Does not wait for other processes.

        Args:
            position: Indices of model and set.
            built_set: The set.
            model: The model.
            record: Record of the model.
            progress: Called after each chunk shard with (rows done, total rows).
            control: Rows with shuffled words (`BuiltSet.control`); None without the control.
            is_own_control: Whether the predictions of the rows are also used for shuffled words.

        Raises:
            ValueError: If the outputs are not probabilities, or the model has no identity.
        """
        tables = (built_set.rows,) if control is None else (built_set.rows, control)
        jobs = tuple(build_shared_job(rows, model.predictor, str(self._folder)) for rows in tables)
        scored_model = ScoredModel.from_predictor(model.predictor, record)
        task = StoredTask(
            request=_to_json(asdict(built_set.request)),
            model=dict(record),
            threshold=scored_model.threshold,
            may_abstain=scored_model.may_abstain,
            key=jobs[0].store.key,
            control_key=jobs[-1].store.key if control is not None or is_own_control else None,
            fitted_to=_to_json(self._fitted_to),
        )
        self._built[_request_key(task)] = built_set
        (self._folder / _TASKS).write(_file(position), (json.dumps(asdict(task), ensure_ascii=False) + "\n").encode())
        for job in jobs:
            predict_shard(job, self._shard, wait=False, progress=progress)
        self._turns.append(_Turn(_file(position), built_set.request.name, model.name, jobs, progress))

    def finish(self, output_dir: Path, failures: FailureLog, callbacks: EvaluationCallbacks) -> list[Result]:
        """Wait until all rows are predicted, take over the rows of stopped processes, and score the predictions.

        Only one process scores.

        Args:
            output_dir: Folder for the results.
            failures: Sets without a result, to which further failures are added.
            callbacks: Callbacks of the evaluation.

        Returns:
            The results; empty if another process scores.
        """
        if not self._turns:  # all sets failed; `failures` contains the reasons
            return []
        predicted = []
        for turn in self._turns:
            try:
                for job in turn.jobs:
                    predict_shard(job, self._shard, progress=turn.progress)
            except Exception as error:
                failures.add(turn.name, error, turn.model)
            else:
                predicted.append(turn)
        with LeaseManager(self._folder / CLAIMS, f"shard {self._shard}", self._shard.lease) as claims:
            if not claims.take(_SCORING):
                return []
            for job in (job for turn in predicted for job in turn.jobs):
                for chunk in job.list_missing_chunks():  # corrupted after it was stored
                    job.predict(*job.store.list_chunk_shards([chunk]))
            files = {turn.file for turn in predicted}
            return _score_tasks(self._folder, output_dir, failures, callbacks, files=files, built_sets=self._built)


@dataclass(frozen=True)
class StoredTask:
    """Stored description of a task, which is the evaluation of one model on one challenge set.

    Attributes:
        request: Fields of the set's `SetRequest`.
        model: Record of the model.
        threshold: Minimum probability of entailment; None for the most probable label.
        may_abstain: Whether equal probabilities of all labels mean that the model made no prediction.
        key: Key of the prediction store.
        fitted_to: Training options of the lexical baseline; None without the baseline.
        control_key: Key of the prediction store for shuffled words. Equal to `key` for a model that is invariant to
            word order; None without the control.
        schema: Version of this record.
    """

    request: dict[str, Any]
    model: dict[str, Any]
    threshold: Threshold | None
    may_abstain: bool
    key: str
    fitted_to: dict[str, Any] | None
    control_key: str | None = None
    schema: int = _SCHEMA

    @classmethod
    def read(cls, folder: StorageFolder, name: str) -> "StoredTask":
        """Read a task from its file.

        Raises:
            ValueError: If the file does not contain a task of this version.
        """
        expected = f"{folder.get_location(name)}: expected a task file written by `unbag evaluate --shard`"
        try:
            record = json.loads(folder.read(name))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{expected}, got an error ({error})") from None
        if isinstance(record, dict) and record.get("schema", _SCHEMA) != _SCHEMA:
            raise ValueError(
                f"{expected} with version {_SCHEMA}, got version {record['schema']!r:.80}; rerun the shards with this "
                "version of unbag"
            )
        checked = results.validate_record(record, results.TaskRecord, expected)
        task = cls(**{**_select_fields(cls, checked), "request": _select_fields(SetRequest, checked["request"])})
        for key in (task.key, task.control_key):
            if key is not None and not _KEY.fullmatch(key):  # a key is the name of a folder, so it must be safe
                raise ValueError(f"{expected}, got the invalid key {key!r:.80}")
        return task


def score_sharded_predictions(
    predictions: StorageFolder, output_dir: Path, *, keep_going: bool = False
) -> EvaluationOutcome:
    """Score the stored predictions of all shards, without loading models. Writes `results.json` and the examples.

    Args:
        predictions: Folder of the predictions.
        output_dir: Folder to write to.
        keep_going: Whether to score the other tasks after one has failed, for example because predictions are missing.

    Raises:
        ValueError: If the folder has no tasks, or predictions are missing.
    """
    failures = FailureLog((), keep_going=keep_going)
    results = _score_tasks(predictions, output_dir, failures, EvaluationCallbacks())
    return EvaluationOutcome(results, failures.failures)


def _score_tasks(
    predictions: StorageFolder,
    output_dir: Path,
    failures: FailureLog,
    callbacks: EvaluationCallbacks,
    *,
    files: Collection[str] | None = None,
    built_sets: Mapping[str, BuiltSet] | None = None,
) -> list[Result]:
    """Score tasks, given by the names of their files (default: all), and write the results."""
    names = (predictions / _TASKS).list_names()
    if not names:
        raise ValueError(
            f"{predictions}: expected the {PREDICTIONS} folder of `unbag evaluate --shard`, got a folder without "
            "task files; pass the --output-dir of `unbag evaluate`"
        )
    done: list[ScoredResult] = []
    items = dict(built_sets or {})
    baselines: dict[str, LexicalBaseline] = {}
    words: dict[tuple[str, str], BaselinePredictions] = {}
    for task in (StoredTask.read(predictions / _TASKS, name) for name in names if files is None or name in files):
        request, fitted_to = _request_key(task), json.dumps(task.fitted_to)
        try:
            predicted = StoredPredictions.from_folder(predictions / task.key)
            if request not in items:
                items[request] = build_requested_set(SetRequest(**task.request))
            item = items[request]
            _validate_complete(predicted.store, item.rows)
            control = None
            if task.control_key == task.key:
                control = predicted
            elif task.control_key is not None:
                control = StoredPredictions.from_folder(predictions / task.control_key)
                _validate_complete(control.store, item.control)
            if (request, fitted_to) not in words:
                new = LexicalBaseline(task.fitted_to or {}, callbacks.on_progress)
                baseline = baselines.setdefault(fitted_to, new)
                words[request, fitted_to] = (
                    BaselinePredictions() if task.fitted_to is None else baseline.predict(item, str(predictions))
                )
            model = ScoredModel(task.model, task.threshold, task.may_abstain)
            each = score_predictions(item, predicted, model, baseline=words[request, fitted_to], control=control)
        except Exception as error:
            failures.add(task.request["name"], error, task.model["name"])
            continue
        done.append(each)
        if callbacks.on_result is not None:
            callbacks.on_result(each.result)
    return write_scored_results(done, output_dir, failures.failures)


def _validate_complete(store: PredictionStore, rows: Any) -> None:
    """Validate that a store contains the predictions of all rows.

    Raises:
        StoreError: If chunks are missing or belong to other rows; the message lists missing chunks.
    """
    if len(rows) != store.rows:
        raise StoreError(
            f"{store.folder}: expected predictions for the {len(rows):,} rows of the set, got {store.rows:,} rows; "
            "build the set from the same pairs"
        )
    hashes = compute_chunk_hashes(select_model_columns(rows), store)
    missing = [chunk for chunk, sha256 in enumerate(hashes) if not store.has_chunk(chunk, sha256)]
    if missing:
        named = ", ".join(map(str, missing[:_MOST_NAMED])) + (", …" if len(missing) > _MOST_NAMED else "")
        raise StoreError(
            f"{store.folder}: expected all {store.n_chunks:,} chunks, got {len(missing):,} missing ({named}); rerun a "
            "shard (unbag evaluate … --shard 0/1), or wait for the running shards"
        )


def _file(place: tuple[int, int]) -> str:
    model, of_set = place
    return f"{model:03}-{of_set:03}.json"


def _request_key(task: StoredTask) -> str:
    """Build the key of a task's set."""
    return json.dumps(task.request, sort_keys=True)


def _select_fields(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """Select the fields of a dataclass from a record, which may have fields of a later version."""
    return {field.name: record[field.name] for field in fields(kind)}


def _to_json(value: Any) -> Any:
    """Convert a value to JSON types. Paths become text."""
    if isinstance(value, Mapping):
        return {name: _to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return str(value) if isinstance(value, Path) else value
