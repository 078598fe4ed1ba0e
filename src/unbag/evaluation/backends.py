"""Where models are loaded and asked: in this process and those that a launcher started beside it, or elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from unbag.evaluation.model_loading import Model, predictor_of
from unbag.inference.distributed import is_distributed
from unbag.inference.prediction_store import Predictions
from unbag.inference.predictor import Predictor
from unbag.inference.runner import Progress, predict_rows

if TYPE_CHECKING:
    import datasets

    from unbag.inference.transformer import Dtype


RAY: Final = "ray"
"""The name of the engine that is a Ray cluster."""


class Engine(Protocol):
    """What loads models, and has them answer all rows of a data set; `ray.predicting.RayEngine` is another one."""

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Refuse what this engine can tell not to be there, before anything is computed; None says nothing.

        Raises:
            ValueError: if there is no such dtype or device.
        """
        ...

    def predictor_of(self, model: Model, **options: Any) -> tuple[Predictor, str]:
        """Return a predictor and the name to show for it, as `predictors.predictor_of` does."""
        ...

    def predict_rows(
        self, rows: "datasets.Dataset", predictor: Any, folder: str | Path, *, progress: Progress | None = None
    ) -> Predictions:
        """Predict all rows with one of its predictors, as `inference.run.predict_rows` does."""
        ...


class InProcess:
    """The engine of one process, or of those of a launcher."""

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Try the device of this process."""
        if dtype is not None or device is not None:
            from unbag.inference.transformer import resolve_device  # torch, only where somebody names what is its own

            resolve_device(dtype or "float32", device)

    def predictor_of(self, model: Model, **options: Any) -> tuple[Predictor, str]:
        """Load the model here."""
        return predictor_of(model, **options)

    def predict_rows(
        self, rows: "datasets.Dataset", predictor: Any, folder: str | Path, *, progress: Progress | None = None
    ) -> Predictions:
        """Ask the model here."""
        return predict_rows(rows, predictor, folder, progress=progress)


def validate_backend(name: str | None, num_gpus: float | None, shard: str | None = None) -> None:
    """Refuse an engine that cannot be, or does not go with what else is asked for.

    Raises:
        ValueError: if there is no such engine, GPUs are asked for without one that could share them out, a launcher
            started this process, or shards share the work already.
    """
    if name not in (None, RAY):
        raise ValueError(f"expected the engine {RAY}, or none, found {name!r}")
    if name is None and num_gpus is not None:
        raise ValueError(f"num-gpus is for the engine {RAY}; without it see device")
    if name and shard is not None:
        raise ValueError("shard and engine both share the work; take one of them")
    if name and is_distributed():
        raise ValueError(f"the engine {RAY} starts processes itself; go without torchrun or accelerate launch")


@contextmanager
def open_backend(name: str | None, num_gpus: float | None = None) -> Iterator[Engine]:
    """Give an engine that `require_engine` lets pass, for as long as the block takes; without a name this process's.

    Raises:
        ImportError: if the engine is not installed.
    """
    if name is None:
        yield InProcess()
        return
    from unbag.evaluation.ray.predicting import RayEngine

    with RayEngine(num_gpus) as ready:
        yield ready
