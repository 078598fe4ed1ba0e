"""Models asked on a Ray cluster: actors load the model and make the pieces of a `Work`, as any process may."""

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

from unbag.evaluation.model_loading import ENDPOINT, Model, kind_of, predictor_of, validate_model
from unbag.evaluation.ray.cluster import caught, cluster, explained, slots, unpack_outcome, validate_ray
from unbag.inference.prediction_store import ChunkRows, ChunkShard, Predictions, Store
from unbag.inference.predictor import Predictor
from unbag.inference.runner import PredictionJob, Progress, predict_chunk_shard
from unbag.utils.storage import Folder

if TYPE_CHECKING:
    import datasets

    from unbag.inference.transformer import Dtype

_TOLD: Final = ("label_space", "identity", "has_probabilities", "threshold", "order")
"""What of a predictor others than its `predict` read."""


@dataclass(frozen=True)
class RemotePredictor:
    """A model that is loaded on the cluster alone, never in this process.

    Attributes:
        ray: the module, connected.
        model: as it is named.
        options: the model's.
        num_gpus: GPUs that whoever loads it takes.
    """

    ray: Any
    model: str
    options: Mapping[str, Any]
    num_gpus: float

    @property
    def label_space(self) -> tuple[str, ...]:
        """As the model has it."""
        return tuple(self._about["label_space"])

    @property
    def identity(self) -> Mapping[str, str] | None:
        """As the model has it, there."""
        identity: Mapping[str, str] | None = self._about["identity"]
        return identity

    def __getattr__(self, name: str) -> Any:
        if name in _TOLD and name in self._about:
            return self._about[name]
        raise AttributeError(name)

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of a few pairs, shape (n, labels), for which the model is loaded once more.

        Raises:
            ValueError: as the model's own.
        """
        answers: NDArray[np.float32] = self._elsewhere(_answers, list(premises), list(hypotheses))
        return answers

    @cached_property
    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = self._elsewhere(_about)
        return about

    def _elsewhere(self, work: Any, *arguments: Any) -> Any:
        task = self.ray.remote(num_cpus=1, num_gpus=self.num_gpus)(_caught_there)
        with explained():
            return unpack_outcome(
                self.ray.get(task.remote(work, os.getcwd(), self.model, dict(self.options), *arguments))
            )


class RayEngine:
    """Evaluates on a Ray cluster (`backends.Engine`), within its context; it connects when the first model is named.

    Args:
        num_gpus: GPUs an actor, of which a share is one too; None for one where the cluster has any, else none.

    Raises:
        ImportError: without the extra `ray`.
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
        """The module, connected: not before, since sets may be built by forks of this process, which threads hinder."""
        return self._stack.enter_context(cluster())

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Leave it to whoever loads the model: the nodes have other devices than this process, which may lack torch."""

    def predictor_of(self, model: Model, **options: Any) -> tuple[RemotePredictor, str]:
        """Return a model that actors will load, and the name to show for it.

        Raises:
            ValueError: if it is none that another process can load, or cannot be loaded there.
        """
        if not isinstance(model, str | Path):
            raise ValueError(
                f"the engine ray asks models by their names, found an object of {type(model).__qualname__}"
            )
        if kind_of(model) is ENDPOINT:
            raise ValueError(f"{model} is asked over the network: leave out --engine ray, and see --concurrency")
        validate_model(model)
        given = {name: value for name, value in options.items() if value is not None}
        has_gpus = self.ray.cluster_resources().get("GPU", 0) > 0
        gpus = float(has_gpus) if self._num_gpus is None else self._num_gpus
        predictor = RemotePredictor(self.ray, str(model), given, gpus)
        _ = predictor.identity  # loads it: what is wrong with it is told now
        return predictor, str(model)

    def predict_rows(
        self,
        rows: "datasets.Dataset",
        predictor: RemotePredictor,
        folder: str | Path,
        *,
        progress: Progress | None = None,
    ) -> Predictions:
        """Predict all rows as `inference.run.predict_rows` does, by actors that write to the same folder.

        Ray begins and ends actors as the cluster grows and shrinks, and has another one make what a lost one began.

        Args:
            rows: as `predict_rows` takes them; their parts travel by Ray's object store.
            predictor: from `predictor_of`.
            folder: one that all nodes see: a shared path, or an address.
            progress: told after each piece.

        Raises:
            ValueError: as `predict_rows`; if a node does not see the folder, or its model is another one.
        """
        ray = self.ray
        work = PredictionJob.of(rows, predictor, folder)
        store = work.store
        store.describe(work.material)
        store.clean()
        todo = work.missing()
        pieces = store.chunk_shards(todo, work.shards_per_chunk(slots(ray, predictor.num_gpus)))
        reused = done = store.rows - sum(work.size(piece) for piece in store.chunk_shards(todo))
        if progress is not None:
            progress(done, store.rows)
        if pieces:
            seen = f"seen-{uuid4().hex}"
            store.folder.write(seen, b"")
            try:
                order = _Order(predictor.model, predictor.options, predictor.identity, store, seen, os.getcwd())
                asked = ray.data.from_arrow_refs([ray.put(_packed(work, piece)) for piece in pieces]).map(
                    _Asked,
                    fn_constructor_args=(order,),
                    compute=ray.data.ActorPoolStrategy(min_size=1),
                    num_cpus=1,
                    num_gpus=predictor.num_gpus,
                )
                with explained():
                    for each in asked.iter_rows():
                        done = min(done + work.size(unpack_outcome(each["outcome"])), store.rows)
                        if progress is not None:
                            progress(done, store.rows)
            finally:
                store.folder.remove(seen)
            for part in store.missing():  # whose shares were finished in the same moment
                work.join_shards(part)
        return Predictions(store, reused=reused)


def _packed(work: PredictionJob, piece: ChunkShard) -> pa.Table:
    """Return a piece with the rows of its part as a row that goes to whoever makes it."""
    rows = work.chunk(piece.chunk)
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, rows.table.schema) as stream:
        stream.write_table(rows.table)
    return pa.Table.from_pylist([{**piece._asdict(), "sha256": rows.sha256, "rows": buffer.getvalue().to_pybytes()}])


class _Order(NamedTuple):
    """What an actor is to do.

    Attributes:
        model: as it is named.
        options: the model's.
        identity: of the model, as it was where it was first loaded.
        store: where its answers go.
        seen: a file that the driver wrote there.
        folder: the driver's.
    """

    model: str
    options: Mapping[str, Any]
    identity: Mapping[str, str] | None
    store: Store
    seen: str
    folder: str


class _Asked:
    """An actor. It loads the model when it makes its first piece: what is wrong with it is told as with any piece."""

    def __init__(self, order: _Order) -> None:
        self._order = order

    def __call__(self, row: Mapping[str, Any]) -> dict[str, bytes]:
        piece = ChunkShard(int(row["chunk"]), int(row["shard"]), int(row["shards"]))
        return {"outcome": caught(lambda: self._make(piece, row["rows"], row["sha256"]), self._order.folder)}

    def _make(self, piece: ChunkShard, rows: bytes, sha256: str) -> ChunkShard:
        predict_chunk_shard(
            self._predictor, self._order.store, piece, ChunkRows(pa.ipc.open_stream(rows).read_all(), sha256)
        )
        return piece

    @cached_property
    def _predictor(self) -> Predictor:
        order = self._order
        _require_seen(order.store.folder, order.seen)
        predictor, _ = predictor_of(order.model, **order.options)
        expected, found = dict(order.identity or {}), dict(predictor.identity or {})
        if differing := sorted(name for name in {**expected, **found} if expected.get(name) != found.get(name)):
            raise ValueError(
                f"{order.model} is another predictor on {socket.gethostname()} than where it was first loaded (in "
                f"{', '.join(differing)}); give all nodes of the cluster the same packages and devices"
            )
        return predictor


def _require_seen(folder: Folder, name: str) -> None:
    try:
        folder.read(name)
    except FileNotFoundError:
        raise ValueError(
            f"{socket.gethostname()}, a node of the cluster, does not see what the driver writes to {folder}; name a "
            "folder that all nodes see, or an address such as s3://… (--output-dir)"
        ) from None


def _caught_there(work: Any, folder: str, model: str, options: Mapping[str, Any], *arguments: Any) -> bytes:
    """Do some work with a model, in a task."""
    return caught(lambda: work(predictor_of(model, **options)[0], *arguments), folder)


def _about(predictor: Predictor) -> dict[str, Any]:
    return {name: getattr(predictor, name) for name in _TOLD if hasattr(predictor, name)}


def _answers(predictor: Predictor, premises: list[str], hypotheses: list[str]) -> NDArray[np.float32]:
    return predictor.predict(premises, hypotheses)
