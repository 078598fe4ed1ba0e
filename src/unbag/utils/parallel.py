"""How many processes may build, tag and fit at a time: said once by whoever asks, for all that is done on the way.

Nothing that comes out depends on it, so it is no option of sets and models, and no part of a record or a cache key.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from unbag.utils.options import check_int

_NUM_PROC: Final = ContextVar("num_proc", default=1)


@contextmanager
def worker_count(num_proc: int) -> Iterator[None]:
    """Let so many processes work at a time, for as long as the block takes.

    Raises:
        ValueError: if it is no whole number of at least 1.

    >>> with worker_count(2):
    ...     num_proc()
    2
    >>> num_proc()
    1
    """
    check_int("the number of processes (num_proc)", num_proc, least=1)
    token = _NUM_PROC.set(int(num_proc))
    try:
        yield
    finally:
        _NUM_PROC.reset(token)


def num_proc() -> int:
    """Return how many processes may work at a time; 1 where nobody said."""
    return _NUM_PROC.get()
