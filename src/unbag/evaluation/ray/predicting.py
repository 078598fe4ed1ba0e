"""Prediction on a Ray cluster: actors load the model, and each predicts chunks of the rows."""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.evaluation.model_loading import ENDPOINT, Model, find_model_type, load_predictor, validate_model
from unbag.evaluation.ray.cluster import (
    connect_to_cluster,
    run_and_pickle_outcome,
    translate_ray_errors,
    unpickle_outcome,
    validate_ray,
)
from unbag.inference.prediction_store import MANIFEST, PredictionStore, StoredPredictions
from unbag.inference.predictor import Predictor
from unbag.inference.runner import Progress, predict_chunk, predict_chunks, predict_rows

if TYPE_CHECKING:
    import datasets

_ATTRIBUTES: Final = (
    *("label_space", "identity", "has_probabilities", "threshold", "n_outputs", "order"),
    *("may_abstain", "is_order_invariant", "label_source", "version"),
)
"""Predictor attributes that other code accesses."""


class RemotePredictor:
    """Predictor whose model is loaded only on the nodes of a Ray cluster, with the attributes of the model's predictor.

    `num_gpus` is the number of GPUs for each process that loads the model.
    """

    label_space: tuple[str, ...]
    identity: Mapping[str, str] | None

    def __init__(self, ray: Any, model: str, options: Mapping[str, Any], num_gpus: float) -> None:
        self.ray, self.model, self.options, self.num_gpus = ray, model, options, num_gpus
        vars(self).update(
            self._run_remotely(lambda each: {name: getattr(each, name) for name in _ATTRIBUTES if hasattr(each, name)})
        )

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict n pairs in a remote task, shape (n, labels). Each call loads the model again."""
        probabilities: NDArray[np.float32] = self._run_remotely(lambda model: model.predict(premises, hypotheses))
        return probabilities

    def _run_remotely(self, work: Callable[[Predictor], Any]) -> Any:
        """Load the model in a remote task, and run a function with it."""
        name, options, folder = self.model, dict(self.options), os.getcwd()

        def run() -> bytes:
            return run_and_pickle_outcome(lambda: work(load_predictor(name, **options)[0]), folder)

        with translate_ray_errors():
            return unpickle_outcome(self.ray.get(self.ray.remote(num_cpus=1, num_gpus=self.num_gpus)(run).remote()))


class RayEngine:
    """Engine and context manager that runs models on a Ray cluster. Loading the first model connects to the cluster.

    Args:
        num_gpus: GPUs per actor, may be a fraction. Default: one if the cluster has GPUs, otherwise none.
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

    def load_predictor(self, model: Model, **options: Any) -> tuple[RemotePredictor, str]:
        """Build a predictor whose model is loaded by Ray actors. Returns the predictor and its display name."""
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
        return RemotePredictor(self.ray, str(model), options, gpus), str(model)

    def predict_rows(
        self,
        rows: "datasets.Dataset",
        predictor: Any,
        folder: str | Path,
        *,
        progress: Progress | None = None,
    ) -> StoredPredictions:
        """Predict all rows with Ray actors, like `inference.runner.predict_rows`.

        Ray starts and stops actors as the cluster grows and shrinks. Work of a lost actor is repeated by another one.

        All nodes must access the folder: a shared path or a URL.
        """
        return predict_rows(rows, predictor, folder, progress=progress, predict_missing=self._predict_chunks)

    def _predict_chunks(
        self,
        predictor: Any,
        rows: "datasets.Dataset",
        store: PredictionStore,
        chunks: Sequence[int],
        on_rows: Callable[[int], None],
    ) -> dict[int, StoredPredictions]:
        """Predict and store some chunks, as `runner.predict_chunks`. The actors return nothing but chunk numbers."""
        if not store.rows or not chunks:  # a table without rows gives no blocks
            return predict_chunks(predictor, rows, store, chunks, on_rows)
        blocks = []
        for chunk in chunks:
            block = rows[store.get_span(chunk)]
            numbers = pa.array([chunk] * len(block), pa.int64())
            blocks.append(self.ray.put(block.append_column(_CHUNK, numbers)))
        outcomes = self.ray.data.from_arrow_refs(blocks).map_batches(
            _ChunkPredictor,
            fn_constructor_args=(predictor.model, predictor.options, predictor.identity, store, os.getcwd()),
            batch_size=None,  # a batch is a block, and a block is a chunk
            batch_format="pyarrow",
            compute=self.ray.data.ActorPoolStrategy(min_size=1),  # without a maximum, it grows with the cluster
            num_cpus=1,
            num_gpus=predictor.num_gpus,
        )
        with translate_ray_errors():
            for each in outcomes.iter_rows():
                on_rows(store.count_rows([unpickle_outcome(each["outcome"])]))
        return {}


_CHUNK: Final = "chunk"  # column with the number of the chunk, since Ray does not pass on metadata


class _ChunkPredictor:
    """Actor that predicts and stores chunks."""

    def __init__(
        self,
        model: str,
        options: Mapping[str, Any],
        identity: Mapping[str, str] | None,
        store: PredictionStore,
        folder: str,
    ) -> None:
        # The model is loaded with the first chunk, so that loading errors reach the driver as an outcome. Ray would
        # retry an actor whose constructor fails.
        self._model, self._options, self._identity = model, options, identity
        self._store, self._folder = store, folder

    def __call__(self, rows: pa.Table) -> pa.Table:
        return pa.table({"outcome": [run_and_pickle_outcome(lambda: self._predict(rows), self._folder)]})

    def _predict(self, rows: pa.Table) -> int:
        """Predict and store the rows of a chunk. Returns the number of the chunk."""
        chunk: int = rows.column(_CHUNK)[0].as_py()
        self._store.write(chunk, predict_chunk(self._predictor, rows.drop_columns(_CHUNK)))
        return chunk

    @cached_property
    def _predictor(self) -> Predictor:
        if not self._store.folder.exists(MANIFEST):
            raise ValueError(
                f"--output-dir: expected a folder that all nodes can access, got {self._store.folder}, but the node "
                f"{socket.gethostname()} cannot find the files that the driver process wrote; use a shared folder or "
                "a URL such as s3://…"
            )
        predictor, _ = load_predictor(self._model, **self._options)
        expected, actual = dict(self._identity or {}), dict(predictor.identity or {})
        if differing := sorted(name for name in {**expected, **actual} if expected.get(name) != actual.get(name)):
            raise ValueError(
                f"{self._model}: expected the same predictor on all nodes, got a different predictor on "
                f"{socket.gethostname()} ({', '.join(differing)}); use the same packages and devices on all nodes"
            )
        return predictor
