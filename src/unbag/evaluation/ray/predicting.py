"""Prediction on a Ray cluster: actors load the model, and each predicts a part of the rows of a `PredictionJob`."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.evaluation.model_loading import ENDPOINT, Model, find_model_type, load_predictor, validate_model
from unbag.evaluation.ray.cluster import (
    connect_to_cluster,
    count_workers,
    run_and_pickle_outcome,
    translate_ray_errors,
    unpickle_outcome,
    validate_ray,
)
from unbag.inference.prediction_store import ChunkRows, ChunkShard, PredictionStore, StoredPredictions
from unbag.inference.predictor import Predictor
from unbag.inference.runner import PredictionJob, Progress, predict_chunk_shard
from unbag.utils.storage import StorageFolder

if TYPE_CHECKING:
    import datasets

    from unbag.inference.options import Dtype

_ATTRIBUTES: Final = (
    *("label_space", "identity", "has_probabilities", "threshold", "n_outputs", "order"),
    *("may_abstain", "is_order_invariant", "label_source", "version"),
)
"""Predictor attributes that other code accesses."""


@dataclass(frozen=True)
class RemotePredictor:
    """Predictor whose model is loaded only on the nodes of a Ray cluster.

    Attributes:
        ray: The connected `ray` module.
        model: Name of the model.
        options: Options of the model.
        num_gpus: GPUs for each process that loads the model.
    """

    ray: Any
    model: str
    options: Mapping[str, Any]
    num_gpus: float

    @property
    def label_space(self) -> tuple[str, ...]:
        """Label of each column of the probabilities."""
        return tuple(self._attributes["label_space"])

    @property
    def identity(self) -> Mapping[str, str] | None:
        """Identity of the model as loaded on the cluster."""
        identity: Mapping[str, str] | None = self._attributes["identity"]
        return identity

    def __getattr__(self, name: str) -> Any:
        if name in _ATTRIBUTES and name in self._attributes:
            return self._attributes[name]
        raise AttributeError(name)

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict n pairs in a remote task. Each call loads the model again.

        Returns:
            Probabilities, shape (n, labels).

        Raises:
            ValueError: As in the model's `predict`.
        """
        probabilities: NDArray[np.float32] = self._run_remotely(_predict, list(premises), list(hypotheses))
        return probabilities

    @cached_property
    def _attributes(self) -> dict[str, Any]:
        attributes: dict[str, Any] = self._run_remotely(_read_attributes)
        return attributes

    def _run_remotely(self, work: Any, *arguments: Any) -> Any:
        task = self.ray.remote(num_cpus=1, num_gpus=self.num_gpus)(_run_with_model)
        with translate_ray_errors():
            return unpickle_outcome(
                self.ray.get(task.remote(work, os.getcwd(), self.model, dict(self.options), *arguments))
            )


class RayEngine:
    """Engine and context manager that runs models on a Ray cluster. Loading the first model connects to the cluster.

    Args:
        num_gpus: GPUs per actor, may be a fraction. Default: one if the cluster has GPUs, otherwise none.

    Raises:
        ImportError: If the extra `ray` is not installed.
    """

    def __init__(self, num_gpus: float | None = None) -> None:
        validate_ray()
        self._num_gpus = num_gpus
        self._stack = ExitStack()

    def __enter__(self) -> "RayEngine":
        return self

    def __exit__(self, *raised: Any) -> None:
        self._stack.__exit__(*raised)

    @cached_property
    def ray(self) -> Any:
        """The `ray` module. The first access connects to the cluster.

        The connection is delayed because building sets may fork, which is unsafe with Ray's threads.
        """
        return self._stack.enter_context(connect_to_cluster())

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Accept any device. Each node validates the device when it loads the model."""

    def load_predictor(self, model: Model, **options: Any) -> tuple[RemotePredictor, str]:
        """Build a predictor whose model is loaded by Ray actors. Returns the predictor and its display name.

        Raises:
            ValueError: If other processes cannot load the model.
        """
        if not isinstance(model, str | Path):
            raise ValueError(
                f"--engine ray: expected the name of a model, got an object of type {type(model).__qualname__}; pass a "
                "Hub id, a folder or module:function"
            )
        if find_model_type(model) is ENDPOINT:
            raise ValueError(f"--engine ray: expected a local model, got {model}; omit --engine and use --concurrency")
        validate_model(model)
        options = {name: value for name, value in options.items() if value is not None}
        has_gpus = self.ray.cluster_resources().get("GPU", 0) > 0
        gpus = float(has_gpus) if self._num_gpus is None else self._num_gpus
        predictor = RemotePredictor(self.ray, str(model), options, gpus)
        _ = predictor.identity  # loads the model, so that errors are raised before sets are built
        return predictor, str(model)

    def predict_rows(
        self,
        rows: "datasets.Dataset",
        predictor: RemotePredictor,
        folder: str | Path,
        *,
        progress: Progress | None = None,
    ) -> StoredPredictions:
        """Predict all rows with Ray actors, like `inference.runner.predict_rows`.

        All actors read and write the same folder.

        Ray starts and stops actors as the cluster grows and shrinks. Work of a lost actor is repeated by another one.

        Args:
            rows: Rows as for `predict_rows`. Their chunks are sent through Ray's object store.
            predictor: Predictor from `load_predictor`.
            folder: Folder that all nodes can access: a shared path or a URL.
            progress: Called after each chunk shard with (rows done, total rows).

        Raises:
            ValueError: As in `predict_rows`, or if a node cannot access the folder or loads another model.
        """
        ray = self.ray
        job = PredictionJob.from_rows(rows, predictor, folder)
        store = job.store
        store.write_manifest(job.key_fields)
        store.clean()
        todo = job.list_missing_chunks()
        chunk_shards = store.list_chunk_shards(
            todo, job.choose_shards_per_chunk(count_workers(ray, predictor.num_gpus))
        )
        reused = done = store.rows - sum(job.estimate_rows(each) for each in store.list_chunk_shards(todo))
        if progress is not None:
            progress(done, store.rows)
        if chunk_shards:
            # Actors check for this file, so that a node with a different folder at the same path fails.
            marker = f"seen-{uuid4().hex}"
            store.folder.write(marker, b"")
            try:
                task = _ActorTask(predictor.model, predictor.options, predictor.identity, store, marker, os.getcwd())
                outcomes = ray.data.from_arrow_refs([ray.put(_pack(job, each)) for each in chunk_shards]).map(
                    _PredictionActor,
                    fn_constructor_args=(task,),
                    compute=ray.data.ActorPoolStrategy(min_size=1),
                    num_cpus=1,
                    num_gpus=predictor.num_gpus,
                )
                with translate_ray_errors():
                    for each in outcomes.iter_rows():
                        done = min(done + job.estimate_rows(unpickle_outcome(each["outcome"])), store.rows)
                        if progress is not None:
                            progress(done, store.rows)
            finally:
                store.folder.remove(marker)
            # If actors finish the shards of a chunk at the same time, none of them finds all shards and joins them.
            for chunk in store.list_missing_chunks():
                job.join_shards(chunk)
        return StoredPredictions(store, reused=reused)


def _pack(job: PredictionJob, chunk_shard: ChunkShard) -> pa.Table:
    """Pack a chunk shard and the rows of its chunk into one row for Ray to send to an actor."""
    rows = job.load_chunk(chunk_shard.chunk)
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, rows.table.schema) as stream:
        stream.write_table(rows.table)
    return pa.Table.from_pylist(
        [{**chunk_shard._asdict(), "sha256": rows.sha256, "rows": buffer.getvalue().to_pybytes()}]
    )


class _ActorTask(NamedTuple):
    """Task of an actor.

    Attributes:
        model: Name of the model.
        options: Options of the model.
        identity: Identity of the model where it was first loaded.
        store: Store of the predictions.
        marker: Name of a file that the driver wrote to the store's folder.
        folder: Working folder of the driver.
    """

    model: str
    options: Mapping[str, Any]
    identity: Mapping[str, str] | None
    store: PredictionStore
    marker: str
    folder: str


class _PredictionActor:
    """Actor that predicts chunk shards.

    The model is loaded with the first chunk shard, so that loading errors reach the driver as an outcome. Ray would
    retry an actor whose constructor fails.
    """

    def __init__(self, task: _ActorTask) -> None:
        self._task = task

    def __call__(self, row: Mapping[str, Any]) -> dict[str, bytes]:
        chunk_shard = ChunkShard(int(row["chunk"]), int(row["shard"]), int(row["shards"]))
        return {
            "outcome": run_and_pickle_outcome(
                lambda: self._predict(chunk_shard, row["rows"], row["sha256"]), self._task.folder
            )
        }

    def _predict(self, chunk_shard: ChunkShard, rows: bytes, sha256: str) -> ChunkShard:
        predict_chunk_shard(
            self._predictor, self._task.store, chunk_shard, ChunkRows(pa.ipc.open_stream(rows).read_all(), sha256)
        )
        return chunk_shard

    @cached_property
    def _predictor(self) -> Predictor:
        task = self._task
        _validate_shared_folder(task.store.folder, task.marker)
        predictor, _ = load_predictor(task.model, **task.options)
        expected, actual = dict(task.identity or {}), dict(predictor.identity or {})
        if differing := sorted(name for name in {**expected, **actual} if expected.get(name) != actual.get(name)):
            raise ValueError(
                f"{task.model}: expected the same predictor on all nodes, got a different predictor on "
                f"{socket.gethostname()} "
                f"({', '.join(differing)}); use the same packages and devices on all nodes"
            )
        return predictor


def _validate_shared_folder(folder: StorageFolder, name: str) -> None:
    try:
        folder.read(name)
    except FileNotFoundError:
        raise ValueError(
            f"--output-dir: expected a folder that all nodes can access, got {folder}, but the node "
            f"{socket.gethostname()} cannot find the files that the driver process wrote; use a shared folder or a URL "
            "such as s3://…"
        ) from None


def _run_with_model(work: Any, folder: str, model: str, options: Mapping[str, Any], *arguments: Any) -> bytes:
    """Load a model in a remote task, and run a function with it."""
    return run_and_pickle_outcome(lambda: work(load_predictor(model, **options)[0], *arguments), folder)


def _read_attributes(predictor: Predictor) -> dict[str, Any]:
    return {name: getattr(predictor, name) for name in _ATTRIBUTES if hasattr(predictor, name)}


def _predict(predictor: Predictor, premises: list[str], hypotheses: list[str]) -> NDArray[np.float32]:
    return predictor.predict(premises, hypotheses)
