"""One-line messages for out-of-memory errors, full disks, and data loading processes that died."""

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from unbag.inference.memory import OutOfMemoryError, is_out_of_memory
from unbag.training.config import TrainConfig
from unbag.utils.errors import is_disk_full
from unbag.utils.redaction import extract_first_line


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
        yield
    except OutOfMemoryError:  # has a one-line message already
        raise
    except Exception as error:
        if is_out_of_memory(error):
            steps = min(2 * config.gradient_accumulation_steps, config.batch_size)
            more = f"use --gradient-accumulation-steps {steps} for the same pairs in more passes, "
            raise OutOfMemoryError(
                f"out of memory in a training step ({extract_first_line(error, max_length=200)}); "
                f"{more if steps > config.gradient_accumulation_steps else ''}a lower --max-length, or --precision "
                f"bf16. A --batch-size below {config.batch_size} also needs less memory, but changes the training"
            ) from error
        # A process that dies while it sends a batch breaks the connection before torch reports its death.
        # Other connections, such as those of trackers, break outside the loader.
        is_broken = (
            isinstance(error, ConnectionError | EOFError)
            and config.dataloader_num_workers > 0
            and any(
                frame.f_globals.get("__name__") == "torch.utils.data.dataloader"
                for frame, _ in traceback.walk_tb(error.__traceback__)
            )
        )
        if is_broken or (isinstance(error, RuntimeError) and "DataLoader worker" in str(error)):
            raise WorkerError(
                f"a data loading process died ({extract_first_line(error)}), perhaps due to a lack of memory; use "
                f"fewer processes (--dataloader-num-workers, got {config.dataloader_num_workers}; 0 for none), and "
                "rerun the same command to resume from the last checkpoint"
            ) from error
        # Libraries report a full disk by errors of their own types. Callers expect the error number.
        if is_disk_full(error) and not isinstance(error, OSError):
            raise OSError(errno.ENOSPC, extract_first_line(error)) from error
        raise
