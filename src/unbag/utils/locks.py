"""One process at a time: a lock on what is being written, and a line that says who holds it.

The lock is the operating system's, on a file beside what is written. It ends with the process that holds it, however
that ends; a file that a killed one left locks nothing.
"""

import json
import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

_held: Final[dict[Path, tuple[int, int]]] = {}  # by which process and thread: a forked one inherits this
logger = logging.getLogger(__name__)


class LockedError(ValueError):
    """Another process writes the same thing; the message says which."""


@contextmanager
def alone(path: Path, doing: str, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes from what is written within this block; they see who is at it.

    Whoever holds the lock of a path may take it again within.

    Args:
        path: the file or folder that is written; it need not exist, and its folder is made where absent.
        doing: what is done, in a word or two, for others to read: `training`.
        wait: where another process is at it, wait for its end instead of refusing.

    Raises:
        LockedError: if another process is at it, unless this one waits.
        OSError: if the lock cannot be written.
    """
    path = Path(os.path.abspath(path))
    file, thread = lock_file(path), (os.getpid(), threading.get_ident())
    if _held.get(path) == thread:
        yield
        return
    made = [folder for folder in file.parents if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file, is_singleton=False, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise LockedError(
                f"{path} is being written by {holder(path)}; wait for it, or name another place"
            ) from None
        logger.warning("waiting for %s to finish %s", holder(path), path.name)
        lock.acquire()
    try:
        _held[path] = thread
        _write_holder(file, doing)
        yield
    finally:
        _held.pop(path, None)
        with suppress(OSError):
            file.unlink()  # while it is held; who waits for it notices, and locks a new one
        lock.release()
        with suppress(OSError):  # what was written there stays, with its folder
            for folder in made:
                folder.rmdir()


def lock_file(path: Path) -> Path:
    """Return the file that is locked while a path is written.

    >>> lock_file(Path("runs/mine")).as_posix()
    'runs/.mine.lock'
    """
    return path.with_name(f".{path.name}.lock")


def holder(path: Path) -> str:
    """Return who holds the lock of a path, as far as it says so."""
    try:
        told = json.loads(lock_file(path).read_text(encoding="utf-8"))
        return f"process {int(told['pid'])} on {told['host']} ({told['doing']} since {told['since']})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"


def _write_holder(file: Path, doing: str) -> None:
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    told = {"host": socket.gethostname(), "pid": os.getpid(), "since": since, "doing": doing}
    with suppress(OSError):  # on a full disk it locks all the same
        file.write_text(json.dumps(told) + "\n", encoding="utf-8")
