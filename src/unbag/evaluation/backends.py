"""Engines that load and run models: this process with its launcher's other processes, or a Ray cluster."""

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
"""Name of the Ray engine."""


class Engine(Protocol):
    """An engine loads models and predicts all rows of a data set: `InProcess` or `ray.predicting.RayEngine`."""

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Validate dtype and device before anything is computed, as far as the engine can; None is the default.

        Raises:
            ValueError: If the dtype or device does not exist.
        """
        ...

    def predictor_of(self, model: Model, **options: Any) -> tuple[Predictor, str]:
        """Load a predictor and its display name, as `model_loading.predictor_of` does."""
        ...

    def predict_rows(
        self, rows: "datasets.Dataset", predictor: Any, folder: str | Path, *, progress: Progress | None = None
    ) -> Predictions:
        """Predict all rows with a predictor of this engine, as `inference.runner.predict_rows` does."""
        ...


class InProcess:
    """The engine of one process, or of the processes of a launcher."""

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Validate dtype and device in this process."""
        if dtype is not None or device is not None:
            from unbag.inference.transformer import resolve_device  # imports torch, so only if an option needs it

            resolve_device(dtype or "float32", device)

    def predictor_of(self, model: Model, **options: Any) -> tuple[Predictor, str]:
        """Load the model in this process."""
        return predictor_of(model, **options)

    def predict_rows(
        self, rows: "datasets.Dataset", predictor: Any, folder: str | Path, *, progress: Progress | None = None
    ) -> Predictions:
        """Run the model in this process."""
        return predict_rows(rows, predictor, folder, progress=progress)


def validate_backend(name: str | None, num_gpus: float | None, shard: str | None = None) -> None:
    """Validate the engine and the options that exclude it.

    Raises:
        ValueError: If the engine does not exist, `num_gpus` is given without an engine, a launcher started this
            process, or the run is a shard.
    """
    if name not in (None, RAY):
        raise ValueError(f"--engine: expected {RAY}, or none, got {name!r}")
    if name is None and num_gpus is not None:
        raise ValueError(f"--num-gpus: expected --engine {RAY}, got none; choose a device with --device instead")
    if name and shard is not None:
        raise ValueError("--engine and --shard both distribute the work; use one of them")
    if name and is_distributed():
        raise ValueError(
            f"--engine {RAY}: expected a single process, got a launcher; run without torchrun or accelerate launch"
        )


@contextmanager
def open_backend(name: str | None, num_gpus: float | None = None) -> Iterator[Engine]:
    """Open an engine that `validate_backend` accepts, within a block. Without a name, it is this process.

    Raises:
        ImportError: If the engine is not installed.
    """
    if name is None:
        yield InProcess()
        return
    from unbag.evaluation.ray.predicting import RayEngine

    with RayEngine(num_gpus) as engine:
        yield engine
