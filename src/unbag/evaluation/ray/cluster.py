"""The Ray cluster: the one that is there, or else this machine as one."""

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
    """Refuse to begin where Ray Data is not installed, without the seconds that its import takes.

    Raises:
        ImportError: naming the extra.
    """
    if find_spec("ray") is None:
        raise ImportError("the engine ray needs Ray Data: pip install 'unbag[ray]'", name="ray")


@contextmanager
def cluster() -> Iterator[Any]:
    """Give the module `ray`, connected to a cluster within this block; who was connected before stays so.

    It is the cluster that `RAY_ADDRESS` names or that `ray start` began on this machine, else this machine itself.

    Raises:
        ImportError: without the extra `ray`.
        ValueError: if the cluster cannot be reached, or a task on it came to an end that Ray could not mend.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # or Ray would report each cluster to its makers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what it prints beside, past Python's logging
    validate_ray()
    import ray
    import ray.data

    connected = ray.is_initialized()
    if not connected:
        _connect(ray)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False  # there is one of our own
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        with explained():
            yield ray
    finally:
        if not connected and ray.is_initialized():
            ray.shutdown()


@contextmanager
def explained() -> Iterator[None]:
    """Turn what Ray raises of itself into one line.

    Raises:
        ValueError: instead of it.
    """
    from ray.data.exceptions import SystemException
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, SystemException) as error:
        reason = first_line(error.__cause__ or error)
        raise ValueError(
            f"Ray gave up ({type(error).__name__}: {reason}); what is done is kept: run it again"
        ) from error


def _connect(ray: Any) -> None:
    try:
        with signals_kept():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # of no type of its own, where this machine is too busy to start in half a minute
        raise ValueError(
            f"no Ray cluster could be reached or started ({first_line(error)}); is RAY_ADDRESS right?"
        ) from error


@contextmanager
def signals_kept() -> Iterator[None]:
    """Keep what SIGTERM does: Ray's own handler, set within this block, would be that of forked workers too."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def slots(ray: Any, num_gpus: float) -> int:
    """Return how many workers the cluster has room for as it is now: of so many GPUs each, or else of a processor."""
    resources = ray.cluster_resources()
    room = resources.get("GPU", 0) / num_gpus if num_gpus else resources.get("CPU", 1)
    return max(1, int(room))


def caught(work: Callable[[], T], folder: str) -> bytes:
    """Return what some work gives in a folder, or what it raised, for `told` in another process.

    Ray wraps what a task raises into errors of its own, with a traceback for a message; and has its processes where it
    was started itself.

    Args:
        work: the work.
        folder: of whoever gave the command, which relative paths and modules of the user's are seen from; where a node
            does not have it, they are not to be had there.
    """
    with suppress(OSError):
        os.chdir(folder)
    try:
        return pickle.dumps((work(), None))
    except (ValueError, ImportError, OSError) as error:  # what a command tells in a line
        try:
            return pickle.dumps((None, error))
        except Exception:  # of a type that cannot be pickled
            return pickle.dumps((None, ValueError(f"{type(error).__name__}: {error}")))


def unpack_outcome(outcome: bytes) -> Any:
    """Return what the work gave, or raise what it raised."""
    value, error = pickle.loads(outcome)
    if error is not None:
        raise error
    return value
