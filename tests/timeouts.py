"""Waiting for other processes, with timeouts that suffice on a slow machine with other tests running."""

import time
from collections.abc import Callable
from typing import Any, Final

from tests.fork_server import Forked

SECONDS: Final = 600
"""After which something hangs."""


def wait_until(done: Callable[[], Any], *processes: Forked, every: float = 0.01) -> Any:
    """Return the result of a function once it is true. Fail if one of the processes ends before."""
    deadline = time.monotonic() + SECONDS
    while not (found := done()):
        for process in processes:
            assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"waited for {SECONDS} s"
        time.sleep(every)
    return found
