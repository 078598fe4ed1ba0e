"""Connection to an existing Ray cluster or a new local one."""

import logging
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, TypeVar

from unbag.utils.redaction import extract_first_line

T = TypeVar("T")


def validate_ray() -> None:
    """Validate that Ray Data is installed, without importing it."""
    if find_spec("ray") is None:
        raise ImportError(
            "--engine ray: expected the package ray[data], got none; install it: pip install 'unbag[ray]'", name="ray"
        )


@contextmanager
def connect_to_cluster() -> Iterator[Any]:
    """Connect to a Ray cluster as a context manager that yields `ray`. An existing connection stays open afterwards.

    The cluster is the one at `RAY_ADDRESS`, the one that `ray start` started on this machine, or otherwise a new local
    one.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise Ray reports each cluster to its developers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # for its C++ processes, which bypass Python's logging
    validate_ray()
    import ray
    import ray.data

    connected = ray.is_initialized()
    if not connected:
        try:
            with restore_sigterm_handler():
                ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:  # Ray raises a plain Exception if starting takes over half a minute
            raise ValueError(
                f"--engine ray: expected a reachable Ray cluster, got an error ({extract_first_line(error)}); "
                "check RAY_ADDRESS"
            ) from error
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False  # unbag shows its own progress bars
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        with translate_ray_errors():
            yield ray
    finally:
        if not connected and ray.is_initialized():
            ray.shutdown()


@contextmanager
def translate_ray_errors() -> Iterator[None]:
    """Convert Ray errors that occur in this context to a `ValueError` with a one-line message."""
    from ray.data.exceptions import SystemException
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, SystemException) as error:
        reason = extract_first_line(error.__cause__ or error)
        raise ValueError(
            f"--engine ray: Ray stopped with {type(error).__name__} ({reason}); rerun the command to resume from "
            "stored results"
        ) from error


@contextmanager
def restore_sigterm_handler() -> Iterator[None]:
    """Restore the SIGTERM handler at the end of this context. Otherwise, forked workers would inherit Ray's handler."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():  # Python allows signal.signal only in the main thread
            signal.signal(signal.SIGTERM, before)


def run_and_pickle_outcome(function: Callable[[], T], folder: str) -> bytes:
    """Run a function in a working directory, and pickle its return value or exception for `unpickle_outcome`.

    Ray would wrap the exception of a task in its own error, with a traceback as the message. Ray also starts worker
    processes in the folder where the cluster was started, not in that of the command.

    `folder` is the working folder of the command, to which relative paths and the user's modules refer. They are not
    available on nodes without this folder.
    """
    with suppress(OSError):
        os.chdir(folder)
    try:
        return pickle.dumps((function(), None))
    except (ValueError, ImportError, OSError) as error:  # errors that commands print in one line
        try:
            return pickle.dumps((None, error))
        except Exception:  # the type of the error cannot be pickled
            return pickle.dumps((None, ValueError(f"{type(error).__name__}: {error}")))


def unpickle_outcome(outcome: bytes) -> Any:
    """Unpickle the outcome of `run_and_pickle_outcome`: return the value or raise the exception."""
    value, error = pickle.loads(outcome)
    if error is not None:
        raise error
    return value
