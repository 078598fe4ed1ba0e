"""What a machine does to a training, as one line that says what to set: no memory, no disk, a worker that died."""

import errno
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from unbag.inference.memory import OutOfMemoryError, is_out_of_memory
from unbag.training.config import TrainConfig
from unbag.utils.errors import is_disk_full
from unbag.utils.redaction import first_line

_LOADER = "torch.utils.data.dataloader"
_SIGNAL_SECONDS = 1.0
_GOES_ON = "give the same command again, and it goes on from its last checkpoint"


class WorkerError(ValueError):
    """A process that prepared batches died."""


@contextmanager
def explain_errors(config: TrainConfig) -> Iterator[None]:
    """Turn what libraries raise within this block into one line.

    Nothing is changed by itself to make a step fit: what a step learns from is the user's to say.

    Raises:
        OutOfMemoryError: where there is no memory for a step.
        WorkerError: where a worker died.
        OSError: where a disk is full, with its number.
    """
    try:
        with _signal_awaited(config):
            yield
    except OutOfMemoryError:  # which says it
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise OutOfMemoryError(_no_memory(config, error)) from error
        if (death := _death_of_worker(error, config)) is not None:
            raise WorkerError(
                f"a process that prepares batches died ({first_line(death)}), killed for want of memory perhaps; take "
                f"fewer of them (--dataloader-num-workers, got {config.dataloader_num_workers}; with 0 there are "
                f"none), and {_GOES_ON}"
            ) from error
        if is_disk_full(error) and not isinstance(error, OSError):
            raise OSError(errno.ENOSPC, first_line(error)) from error
        raise


@contextmanager
def _signal_awaited(config: TrainConfig) -> Iterator[None]:
    """Give the signal of a worker's death time to arrive within this block, where its broken pipe was seen before.

    When it arrives torch raises, wherever this process is by then: here, and not while a lock is released.
    """
    try:
        yield
    except Exception as error:
        if _left_without_end(error, config):
            time.sleep(_SIGNAL_SECONDS)
        raise


def _death_of_worker(error: Exception, config: TrainConfig) -> Exception | None:
    """Return what says that a worker died; None where an error is of something else."""
    if isinstance(error, RuntimeError):
        return error if "DataLoader worker" in str(error) else None
    return error if _left_without_end(error, config) else None


def _left_without_end(error: Exception, config: TrainConfig) -> bool:
    """Tell whether an error is of a pipe or socket without an end: a worker died while its batch was on its way."""
    return (
        isinstance(error, ConnectionError | EOFError | FileNotFoundError)
        and config.dataloader_num_workers > 0
        and any(frame.f_globals.get("__name__") == _LOADER for frame, _ in traceback.walk_tb(error.__traceback__))
    )


def _no_memory(config: TrainConfig, error: Exception) -> str:
    more = min(2 * config.gradient_accumulation_steps, config.batch_size)
    parts = (
        f"compute the same pairs in more parts (--gradient-accumulation-steps {more}), "
        if more > config.gradient_accumulation_steps
        else ""
    )
    return (
        f"no memory for a step ({first_line(error, longest=200)}); {parts}let the model read less (--max-length), or "
        f"take --precision bf16. A smaller --batch-size than {config.batch_size} fits too, but a step learns from so "
        "many pairs"
    )
