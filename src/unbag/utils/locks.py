"""File locks, so that only one process at a time writes a file or folder, with a record of the lock's holder.

The lock is a lock of the operating system on a separate file. It is released when the process that holds it ends, even
if the process is killed. The lock file of a killed process does not lock anything.
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

# Process and thread that hold each lock. The process id is needed because forked processes inherit the table.
_held: Final[dict[Path, tuple[int, int]]] = {}
logger = logging.getLogger(__name__)


class LockedError(ValueError):
    """Error for a lock that another process holds. The message describes the process."""


@contextmanager
def hold_lock(path: Path, activity: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a path until the `with` block ends. A thread can acquire the same lock again.

    `path` is a file or folder to write, which need not exist. Its parent folder is created if necessary. `activity`, in
    one or two words such as `training`, is for the messages of other processes. If another process holds the lock,
    raises `LockedError`, or waits if `wait` is set.
    """
    path = Path(os.path.abspath(path))
    file, thread = get_lock_file(path), (os.getpid(), threading.get_ident())
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
                f"{path}: expected no other process that writes to this path, got {describe_lock_holder(path)}; wait "
                "until this process finishes, or use another path"
            ) from None
        logger.warning("waiting for %s to finish %s", describe_lock_holder(path), path.name)
        lock.acquire()
    try:
        _held[path] = thread
        since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
        record = {"host": socket.gethostname(), "pid": os.getpid(), "since": since, "doing": activity}
        with suppress(OSError):  # on a full disk the lock is valid without its record
            file.write_text(json.dumps(record) + "\n", encoding="utf-8")
        yield
    finally:
        _held.pop(path, None)
        with suppress(OSError):
            file.unlink()  # before the release, so that a waiting process locks a new file
        lock.release()
        with suppress(OSError):  # rmdir fails for a folder with files, which is kept
            for folder in created:
                folder.rmdir()


def get_lock_file(path: Path) -> Path:
    """Build the path of the lock file for a path.

    >>> get_lock_file(Path("runs/mine")).as_posix()
    'runs/.mine.lock'
    """
    return path.with_name(f".{path.name}.lock")


def describe_lock_holder(path: Path) -> str:
    """Describe the process that holds the lock of a path."""
    try:
        record = json.loads(get_lock_file(path).read_text(encoding="utf-8"))
        return f"process {int(record['pid'])} on {record['host']} ({record['doing']} since {record['since']})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
