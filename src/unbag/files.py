"""Atomic writes, and where files of ours are kept between runs."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder(name: str) -> Path:
    """Return the folder for one kind of thing that is worth keeping between runs; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "unbag" / name


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it becomes `path` in one step, on failure it is removed.

    Args:
        path: the file to make or replace; its folder is made where absent.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as tmp:
    ...         _ = tmp.write_text("all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The same folder, hence the same file system: only there is a rename one step. The name is taken by nobody else,
    # so two processes that write the same file do not mix their bytes: the later one wins, whole.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    tmp = Path(name)
    try:
        yield tmp
        with tmp.open("rb") as file:
            os.fsync(file.fileno())  # or a power cut could leave the new name on an empty file
        umask = os.umask(0)
        os.umask(umask)
        tmp.chmod(0o666 & ~umask)  # mkstemp makes it private; others may read what a run leaves
        tmp.replace(path)
    finally:
        tmp.unlink(missing_ok=True)


def atomic_rename(tmp: Path, path: Path) -> None:
    """Give a finished folder its name in one step, once all that is in it is on the disk.

    Args:
        tmp: the folder as it was written; in the same folder as `path`, for only there is a rename one step.
        path: the name, which must be free.
    """
    for written in (*tmp.rglob("*"), tmp):
        _sync(written)
    tmp.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
