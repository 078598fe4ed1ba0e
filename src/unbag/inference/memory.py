"""Recovery from out-of-memory errors: a batch that does not fit is split into halves, so that the run continues."""

import gc
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from accelerate.utils.memory import should_reduce_batch_size
from numpy.typing import NDArray

T = TypeVar("T")

logger = logging.getLogger(__name__)


class OutOfMemoryError(ValueError):
    """Error for a batch that cannot be split further. The message lists options that save memory."""


def is_out_of_memory(error: BaseException) -> bool:
    """Check whether an error means that the GPU or CPU is out of memory."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, Exception) and bool(should_reduce_batch_size(error))


def free_memory() -> None:
    """Free unused CPU and GPU memory. Call this after the `except` block, because the error keeps tensors alive."""
    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


class BatchSplitter:
    """Batch runner that halves batches that do not fit into memory, and remembers the limit for later batches.

    The predictions of a pair depend on the other pairs of its batch only up to rounding (see `TransformerPredictor`).
    """

    def __init__(self) -> None:
        self._too_many: float = math.inf  # tokens of the smallest batch that did not fit, padding included

    def run_in_parts(
        self, rows: NDArray[np.intp], lengths: Sequence[int] | NDArray[Any], run: Callable[[NDArray[np.intp]], T]
    ) -> Iterator[tuple[NDArray[np.intp], T]]:
        """Run a batch, split into parts that fit into memory. Yields the rows and outputs of each part.

        `rows` are the positions of the batch's rows, shape (b,), and `lengths` the tokens of all rows, shape (n,). If a
        single row does not fit, raises `OutOfMemoryError`.
        """
        waiting = [rows]  # a stack, so that the halves of a batch come before the rest
        while waiting:
            batch = waiting.pop()
            longest = max(int(lengths[row]) for row in batch.tolist())
            if len(batch) * longest < self._too_many or len(batch) == 1:
                try:
                    predictions = run(batch)
                except Exception as error:
                    if not is_out_of_memory(error):
                        raise
                    if len(batch) == 1:
                        raise OutOfMemoryError(
                            f"not enough memory for a single pair with {longest} tokens; shorten the pairs "
                            "(--max-length), compute in half precision (--dtype bfloat16), or use a device with more "
                            "memory"
                        ) from error
                else:
                    yield batch, predictions
                    continue
                free_memory()  # the error, whose traceback holds tensors, ends with the `except` block
                if self._too_many == math.inf:
                    logger.warning(
                        "not enough memory for a batch of %d pairs with up to %d tokens; continuing with at most half "
                        "as many pairs per batch",
                        len(batch),
                        longest,
                    )
                self._too_many = len(batch) * longest
            middle = len(batch) // 2
            waiting += [batch[middle:], batch[:middle]]
