"""Number of processes for building, tagging and fitting in parallel.

Results do not depend on it. It is therefore not an option of sets and models, nor part of records or cache keys.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from unbag.utils.options import PositiveInt, validate

_NUM_PROC: Final = ContextVar("num_proc", default=1)

START_METHOD: Final = "fork" if sys.platform == "linux" else None
"""How worker processes start; None for Python's default.

From Python 3.14, the default on Linux is `forkserver`, which runs the user's script again in every process. A script
without `if __name__ == "__main__":` would then start processes in its processes. `datasets` uses `fork`, too.
"""


@contextmanager
def set_num_proc(num_proc: int) -> Iterator[None]:
    """Set the number of processes until the `with` block ends."""
    validate("num_proc", PositiveInt, num_proc)
    token = _NUM_PROC.set(int(num_proc))
    try:
        yield
    finally:
        _NUM_PROC.reset(token)


def get_num_proc() -> int:
    """Get the number of processes set by `set_num_proc` (default: 1)."""
    return _NUM_PROC.get()
