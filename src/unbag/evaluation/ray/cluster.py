"""Connection to a Ray cluster: an existing one, or otherwise a local one on this machine."""

import logging
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, TypeVar

from unbag.utils.redaction import first_line

T = TypeVar("T")


def validate_ray() -> None:
    """Validate that Ray Data is installed, without its slow import.

    Raises:
        ImportError: Names the extra.
    """
    if find_spec("ray") is None:
        raise ImportError("the engine ray needs Ray Data: pip install 'unbag[ray]'", name="ray")


@contextmanager
def cluster() -> Iterator[Any]:
    """Provide the module `ray`, connected to a cluster within this block. An existing connection stays open after it.

    The cluster is the one of `RAY_ADDRESS`, or the one that `ray start` started on this machine, or otherwise a local
    one.

    Raises:
        ImportError: Without the extra `ray`.
        ValueError: If the cluster cannot be reached, or a task fails for good.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise Ray reports each cluster to its developers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # of its C++ processes, past Python's logging
    validate_ray()
    import ray
    import ray.data

    connected = ray.is_initialized()
    if not connected:
        _connect(ray)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False  # unbag shows its own
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        with translate_ray_errors():
            yield ray
    finally:
        if not connected and ray.is_initialized():
            ray.shutdown()


@contextmanager
def translate_ray_errors() -> Iterator[None]:
    """Convert Ray's own errors, whose messages are long tracebacks, to a one-line error.

    Raises:
        ValueError: In place of an error of Ray.
    """
    from ray.data.exceptions import SystemException
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, SystemException) as error:
        reason = first_line(error.__cause__ or error)
        raise ValueError(
            f"Ray gave up ({type(error).__name__}: {reason}); run the command again to continue from stored results"
        ) from error


def _connect(ray: Any) -> None:
    try:
        with preserve_sigterm():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises a plain Exception if a busy machine takes over half a minute
        raise ValueError(
            f"no Ray cluster could be reached or started ({first_line(error)}); check RAY_ADDRESS"
        ) from error


@contextmanager
def preserve_sigterm() -> Iterator[None]:
    """Restore the SIGTERM handler after the block, since forked workers would inherit the one that Ray installs."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():  # Python allows signal.signal in no other thread
            signal.signal(signal.SIGTERM, before)


def count_workers(ray: Any, num_gpus: float) -> int:
    """Count the workers that fit the cluster's current resources.

    Args:
        ray: The module, connected.
        num_gpus: GPUs per worker; 0 for one CPU per worker.
    """
    resources = ray.cluster_resources()
    room = resources.get("GPU", 0) / num_gpus if num_gpus else resources.get("CPU", 1)
    return max(1, int(room))


def pack_outcome(work: Callable[[], T], folder: str) -> bytes:
    """Run a function in a folder, and pickle its return value or exception for `unpack_outcome` in another process.

    Ray would wrap the exception of a task in an error of its own, with a traceback as the message. Ray also starts
    worker processes in the folder where the cluster was started, not in that of the command.

    Args:
        work: Function to run.
        folder: Working folder of the command, which relative paths and the user's modules refer to. If a node does not
            have this folder, they cannot be used there.
    """
    with suppress(OSError):
        os.chdir(folder)
    try:
        return pickle.dumps((work(), None))
    except (ValueError, ImportError, OSError) as error:  # the errors that commands print in one line
        try:
            return pickle.dumps((None, error))
        except Exception:  # the type of the error cannot be pickled
            return pickle.dumps((None, ValueError(f"{type(error).__name__}: {error}")))


def unpack_outcome(outcome: bytes) -> Any:
    """Return the value that `pack_outcome` pickled, or raise the exception."""
    value, error = pickle.loads(outcome)
    if error is not None:
        raise error
    return value
