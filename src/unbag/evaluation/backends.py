"""Engines that load and run models: the processes of a launcher, or a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from unbag.evaluation.model_loading import Model, load_predictor
from unbag.inference.distributed import is_distributed
from unbag.inference.prediction_store import StoredPredictions
from unbag.inference.predictor import Predictor
from unbag.inference.runner import Progress, predict_rows

if TYPE_CHECKING:
    import datasets

    from unbag.inference.options import Dtype


RAY: Final = "ray"
"""Name of the Ray engine on the command line."""


class Engine(Protocol):
    """Interface of an engine that loads models and runs them on datasets."""

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Validate the dtype and device before the run starts. None selects the default.

        Raises:
            ValueError: If the dtype or device does not exist.
        """
        ...

    def load_predictor(self, model: Model, **options: Any) -> tuple[Predictor, str]:
        """Load a model, like `model_loading.load_predictor`. Returns the predictor and its display name."""
        ...

    def predict_rows(
        self, rows: "datasets.Dataset", predictor: Any, folder: str | Path, *, progress: Progress | None = None
    ) -> StoredPredictions:
        """Predict all rows with a predictor from `load_predictor`, like `inference.runner.predict_rows`."""
        ...


class InProcessEngine:
    """Engine that runs models in the current process, which may be started by a launcher such as `torchrun`."""

    def validate_device(self, dtype: "Dtype | None", device: str | None) -> None:
        """Validate the dtype and device on this machine."""
        if dtype is not None or device is not None:
            from unbag.inference.transformer import resolve_device  # imports torch, so only if needed

            resolve_device(dtype or "float32", device)

    def load_predictor(self, model: Model, **options: Any) -> tuple[Predictor, str]:
        """Load the model in the current process."""
        return load_predictor(model, **options)

    def predict_rows(
        self, rows: "datasets.Dataset", predictor: Any, folder: str | Path, *, progress: Progress | None = None
    ) -> StoredPredictions:
        """Run the model in the current process."""
        return predict_rows(rows, predictor, folder, progress=progress)


def validate_engine_options(name: str | None, num_gpus: float | None, shard: str | None = None) -> None:
    """Validate the engine name, and check that the engine can be combined with the other options.

    Raises:
        ValueError: If the engine does not exist, if `num_gpus` is given without an engine, or if a launcher or a
            shard already distributes the run.
    """
    if name not in (None, RAY):
        raise ValueError(f"--engine: expected {RAY!r} or no value, got {name!r}")
    if name is None and num_gpus is not None:
        raise ValueError(f"--num-gpus: expected --engine {RAY}, got no engine; use --device to choose a device")
    if name and shard is not None:
        raise ValueError(
            "--engine: cannot be combined with --shard, because both options distribute the run; omit one of them"
        )
    if name and is_distributed():
        raise ValueError(
            f"--engine {RAY}: expected a single process, got a launcher; run without torchrun or accelerate launch"
        )


@contextmanager
def open_backend(name: str | None, num_gpus: float | None = None) -> Iterator[Engine]:
    """Open an engine as a context manager. If `name` is None, models run in the current process.

    Raises:
        ImportError: If the engine is not installed.
    """
    if name is None:
        yield InProcessEngine()
        return
    from unbag.evaluation.ray.predicting import RayEngine

    with RayEngine(num_gpus) as engine:
        yield engine
