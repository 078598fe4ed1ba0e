"""Waiting for what other processes do, for as long as it may take on a slow machine where other tests are running."""

import time
from collections.abc import Callable
from typing import Any, Final

from tests.fork_server import Forked

SECONDS: Final = 600
"""After which something hangs."""


def wait_until(done: Callable[[], Any], *processes: Forked, every: float = 0.01) -> Any:
    """Return what a function gives once that is true; fail where a process, which was to make it so, ends before."""
    deadline = time.monotonic() + SECONDS
    while not (found := done()):
        for process in processes:
            assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"waited for {SECONDS} s"
        time.sleep(every)
    return found
