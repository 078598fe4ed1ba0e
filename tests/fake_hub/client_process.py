"""Run tests in a process where the client libraries believe that the test Hub is the Hub.

The libraries read HF_ENDPOINT and HF_HOME at import, so the environment must be set before. Importing them
takes seconds, so one process serves many tests. A test names its process:

    @runs_in("hub_client")
    def test_a_pushed_dataset_comes_back(repo_id: str, tmp_path: Path) -> None:
        Dataset.from_dict({"a": [1]}).push_to_hub(repo_id)

Fixtures are created in the test process and sent to the client process, so they must be picklable. `hub` is.
"""

import faulthandler
import functools
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

import pytest

from tests.fork_server import list_import_path

# Ends a test that hangs, and with it all later tests of the process. Longer than any test takes on a busy machine, and
# less than the `faulthandler_timeout` of pytest, so that the stack of this process is printed.
_SECONDS_PER_TEST = 1_000


class ClientProcess(ProcessPoolExecutor):
    """A client process with its own environment, started on first use."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        spawn = get_context("spawn")  # a forked process would inherit the imported modules
        super().__init__(1, spawn, initializer=_replace_environment, initargs=(dict(environment),))


def runs_in(client_fixture: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test in the process that the named fixture returns. Fail with its traceback if it raises."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(test)

        @functools.wraps(test)
        def in_test_process(**fixtures: Any) -> None:
            arguments = {name: fixtures[name] for name in own.parameters}
            # Send the name, since this wrapper replaces the function here, and get the traceback as text, since some
            # exceptions cannot be pickled.
            try:
                call = fixtures[client_fixture].submit(_call, test.__module__, test.__qualname__, arguments)
                failure = call.result()
            except BrokenProcessPool:
                failure = "the client process died; if it hung, its stack is in the output"
            if failure is not None:
                pytest.fail(failure, pytrace=False)

        # pytest reads the required fixtures from the signature.
        needed = inspect.Parameter(client_fixture, inspect.Parameter.KEYWORD_ONLY)
        in_test_process.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*own.parameters.values(), needed]
        )
        return in_test_process

    return decorate


def _replace_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = list_import_path()  # the client process receives the path of the test process


def _call(module: str, name: str, arguments: Mapping[str, Any]) -> str | None:
    """Call the function that `runs_in` wrapped, in the client process. Return the traceback if it raises."""
    function = inspect.unwrap(getattr(importlib.import_module(module), name))
    faulthandler.dump_traceback_later(_SECONDS_PER_TEST, exit=True)
    try:
        function(**arguments)
    except BaseException:  # includes the outcomes of pytest, which do not derive from Exception
        return traceback.format_exc()
    finally:
        faulthandler.cancel_dump_traceback_later()
    return None
