"""Number of processes that build, tag and fit in parallel, set once for everything that a call does.

No result depends on it. It is therefore not an option of sets and models, and not part of a record or a cache key.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from unbag.utils.options import check_int

_NUM_PROC: Final = ContextVar("num_proc", default=1)


@contextmanager
def worker_count(num_proc: int) -> Iterator[None]:
    """Set the number of processes within this block.

    Raises:
        ValueError: If it is not a whole number of at least 1.

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
    """Get the number of processes of the current `worker_count` block (default: 1)."""
    return _NUM_PROC.get()
