"""Ray Data engine, which builds sets and runs models on all machines of a Ray cluster.

The code here is a thin layer: the usual builders and predictors run in tasks and actors, which Ray schedules, retries
and scales. No other package imports ray.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final

from unbag.inference.distributed import is_distributed
from unbag.utils.options import OptionError

if TYPE_CHECKING:
    from unbag.evaluation.ray.predicting import RayEngine

RAY: Final = "ray"
"""Name of the Ray engine on the command line."""


def validate_engine_options(name: str | None, num_gpus: float | None, shard: str | None = None) -> None:
    """Validate the engine name, and check that the engine can be combined with the other options."""
    if name not in (None, RAY):
        raise OptionError(f"--engine: expected {RAY!r} or no value, got {name!r}")
    if name is None and num_gpus is not None:
        raise OptionError(f"--num-gpus: expected --engine {RAY}, got no engine; use --device to choose a device")
    if name and shard is not None:
        raise OptionError(
            "--engine: cannot be combined with --shard, because both options distribute the run; omit one of them"
        )
    if name and is_distributed():
        raise OptionError(
            f"--engine {RAY}: expected a single process, got a launcher; run without torchrun or accelerate launch"
        )


def open_engine(name: str | None, num_gpus: float | None = None) -> "AbstractContextManager[RayEngine | None]":
    """Open an engine as a context manager. If `name` is None, models run in the current process."""
    if name is None:
        return nullcontext()
    from unbag.evaluation.ray.predicting import RayEngine

    return RayEngine(num_gpus)
