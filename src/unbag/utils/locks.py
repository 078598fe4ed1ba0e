"""File locks, so that one process at a time writes a file or folder, with a record of the process that holds the lock.

The lock is the operating system's, on a file beside the written one. It ends with the process that holds it, even if
that process is killed; a lock file that a killed process left behind does not lock anything.
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

# The process and thread that hold each lock. The process id is needed because a forked process inherits the table.
_held: Final[dict[Path, tuple[int, int]]] = {}
logger = logging.getLogger(__name__)


class LockedError(ValueError):
    """A lock that another process holds; the message names that process."""


@contextmanager
def exclusive_lock(path: Path, doing: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a path within this block. The thread that holds a lock may take it again.

    Args:
        path: File or folder that is written. It need not exist; its parent folder is created if absent.
        doing: Activity in one or two words, for the messages of other processes: `training`.
        wait: Whether to wait for another process that holds the lock (default: no, fail).

    Raises:
        LockedError: If another process holds the lock and `wait` is not set.
        OSError: If the lock file cannot be written.
    """
    path = Path(os.path.abspath(path))
    file, thread = lock_file(path), (os.getpid(), threading.get_ident())
    if _held.get(path) == thread:
        yield
        return
    created = [folder for folder in file.parents if not folder.exists()]
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file, is_singleton=False, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise LockedError(
                f"{path} is being written by {lock_holder(path)}; wait for it, or name another path"
            ) from None
        logger.warning("waiting for %s to finish %s", lock_holder(path), path.name)
        lock.acquire()
    try:
        _held[path] = thread
        _write_holder(file, doing)
        yield
    finally:
        _held.pop(path, None)
        with suppress(OSError):
            file.unlink()  # before the release; a waiting process notices, and locks a new file
        lock.release()
        with suppress(OSError):  # rmdir fails for a folder with files, which stays
            for folder in created:
                folder.rmdir()


def lock_file(path: Path) -> Path:
    """Build the path of the file that is locked while a path is written.

    >>> lock_file(Path("runs/mine")).as_posix()
    'runs/.mine.lock'
    """
    return path.with_name(f".{path.name}.lock")


def lock_holder(path: Path) -> str:
    """Describe the process that holds the lock of a path, as far as the lock file is readable."""
    try:
        record = json.loads(lock_file(path).read_text(encoding="utf-8"))
        return f"process {int(record['pid'])} on {record['host']} ({record['doing']} since {record['since']})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"


def _write_holder(file: Path, doing: str) -> None:
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    record = {"host": socket.gethostname(), "pid": os.getpid(), "since": since, "doing": doing}
    with suppress(OSError):  # on a full disk the lock holds without its record
        file.write_text(json.dumps(record) + "\n", encoding="utf-8")
