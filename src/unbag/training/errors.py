"""One-line messages for out-of-memory errors, full disks, and data loading processes that died."""

import errno
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from unbag.inference.memory import OutOfMemoryError, is_out_of_memory
from unbag.training.config import TrainConfig
from unbag.utils.errors import is_disk_full
from unbag.utils.redaction import extract_first_line

_LOADER = "torch.utils.data.dataloader"
_SIGNAL_SECONDS = 1.0
_RESUME = "rerun the same command to resume from the last checkpoint"


class WorkerError(ValueError):
    """Error for a data loading process that died."""


@contextmanager
def explain_training_errors(config: TrainConfig) -> Iterator[None]:
    """Convert library errors in the `with` block to one-line messages that name the options to change.

    Batch size and precision are never changed automatically, since they determine the weights.

    Raises:
        OutOfMemoryError: If a step does not fit into memory.
        WorkerError: If a data loading process died.
        OSError: If the disk is full, with its error number.
    """
    try:
        with _wait_for_signal(config):
            yield
    except OutOfMemoryError:  # has a one-line message already
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise OutOfMemoryError(_no_memory(config, error)) from error
        if (death := _worker_death(error, config)) is not None:
            raise WorkerError(
                f"a data loading process died ({extract_first_line(death)}), perhaps due to a lack of memory; use "
                f"fewer processes (--dataloader-num-workers, got {config.dataloader_num_workers}; 0 for none), and "
                f"{_RESUME}"
            ) from error
        # Libraries report a full disk by errors of their own types. Callers expect the error number.
        if is_disk_full(error) and not isinstance(error, OSError):
            raise OSError(errno.ENOSPC, extract_first_line(error)) from error
        raise


@contextmanager
def _wait_for_signal(config: TrainConfig) -> Iterator[None]:
    """Wait briefly when the pipe of a dead worker breaks within this block, until the signal of its death arrives."""
    try:
        yield
    except Exception as error:
        # torch's signal handler raises an exception wherever this process is at that moment. It should be here, and not
        # while a lock is released.
        if _is_broken_pipe(error, config):
            time.sleep(_SIGNAL_SECONDS)
        raise


def _worker_death(error: Exception, config: TrainConfig) -> Exception | None:
    """Find the error that reports the death of a worker. Return None for other errors."""
    if isinstance(error, RuntimeError):
        return error if "DataLoader worker" in str(error) else None
    return error if _is_broken_pipe(error, config) else None


def _is_broken_pipe(error: Exception, config: TrainConfig) -> bool:
    """Check whether an error is a broken pipe or socket of the data loader: a worker died while sending a batch."""
    return (
        isinstance(error, ConnectionError | EOFError | FileNotFoundError)
        and config.dataloader_num_workers > 0
        and any(frame.f_globals.get("__name__") == _LOADER for frame, _ in traceback.walk_tb(error.__traceback__))
    )


def _no_memory(config: TrainConfig, error: Exception) -> str:
    more = min(2 * config.gradient_accumulation_steps, config.batch_size)
    parts = (
        f"use --gradient-accumulation-steps {more} for the same pairs in more passes, "
        if more > config.gradient_accumulation_steps
        else ""
    )
    return (
        f"out of memory in a training step ({extract_first_line(error, max_length=200)}); {parts}a lower --max-length, "
        f"or --precision bf16. A --batch-size below {config.batch_size} also needs less memory, but changes the "
        "training"
    )
