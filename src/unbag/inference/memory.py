"""Batches that do not fit into memory: asked in halves, so that a run goes on where it would have ended."""

import gc
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from accelerate.utils.memory import should_reduce_batch_size
from numpy.typing import NDArray

from unbag.utils.advice import all_fitting

T = TypeVar("T")

logger = logging.getLogger(__name__)


class OutOfMemoryError(ValueError):
    """No memory for what cannot be made smaller; the message says what can be done."""


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error means that a GPU or the machine has no memory left."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, Exception) and bool(should_reduce_batch_size(error))


def free_memory() -> None:
    """Give back what nobody uses, a GPU's memory too; not before the error that tells is gone: it holds tensors."""
    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


class Halving:
    """Asks a model batch by batch, in halves where a batch does not fit, and no more so much at once from then on.

    A pair's answer depends on the pairs beside it within rounding, as ever (see `TransformerPredictor`).
    """

    def __init__(self) -> None:
        self._too_many: float = math.inf  # tokens, padding included

    def ask(
        self, rows: NDArray[np.intp], lengths: Sequence[int] | NDArray[Any], answer: Callable[[NDArray[np.intp]], T]
    ) -> Iterator[tuple[NDArray[np.intp], T]]:
        """Yield some rows and their answers, until all of a batch are answered.

        Args:
            rows: the positions of a batch's rows, shape (b,).
            lengths: tokens of every row, whether in this batch or not.
            answer: asks the model.

        Raises:
            OutOfMemoryError: if one row by itself does not fit.
        """
        waiting = [rows]
        while waiting:
            some = waiting.pop()
            longest = max(int(lengths[row]) for row in some.tolist())
            if len(some) * longest < self._too_many or len(some) == 1:
                fits, answers = _tried(answer, some, longest)
                if fits:
                    yield some, answers  # type: ignore[misc]  # as `fits` says
                    continue
                free_memory()
                self._tell_once(len(some), longest)
                self._too_many = len(some) * longest
            middle = len(some) // 2
            waiting += [some[middle:], some[:middle]]

    def _tell_once(self, pairs: int, longest: int) -> None:
        if self._too_many == math.inf:
            logger.warning(
                "no memory for a batch of %d pairs of up to %d tokens; going on with half as many at once, and fewer "
                "where that is too many",
                pairs,
                longest,
            )


def _tried(answer: Callable[[NDArray[np.intp]], T], rows: NDArray[np.intp], longest: int) -> tuple[bool, T | None]:
    """Return whether some rows fit, and their answers; the error is gone by then, and what it held."""
    try:
        return True, answer(rows)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if len(rows) > 1:
            return False, None
        raise OutOfMemoryError(
            f"no memory for a single pair of {longest} tokens; "
            + all_fitting(
                "let the model read less (--max-length)",
                "compute in half precision (--dtype bfloat16)",
                "take a device with more",
            )
        ) from error
