"""Atomic writes, and where files of ours are kept between runs."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from platformdirs import user_cache_path

from unbag.utils.safe_io import DataError, parsed_json, validate_file

_WINDOWS = os.name == "nt"
CACHE_VARIABLE: Final = "UNBAG_CACHE"
LARGEST_JSON: Final = 1 << 30
"""Bytes of a JSON file that is read whole; the largest of ours has the words of a lexical model, some MB."""


def cache_folder(name: str) -> Path:
    """Return the folder for one kind of thing that is worth keeping between runs; it need not exist.

    It is in the folder that the variable `UNBAG_CACHE` names, or else in the platform's for caches: `unbag` in
    `$XDG_CACHE_HOME` or `~/.cache` on Linux, in `~/Library/Caches` on macOS, `unbag/Cache` in `%LOCALAPPDATA%` on
    Windows.
    """
    own = os.environ.get(CACHE_VARIABLE)
    return (Path(own).expanduser() if own else user_cache_path("unbag", appauthor=False)) / name


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it becomes `path` in one step, on failure it is removed.

    Args:
        path: the file to make or replace; its folder is made where absent.

    Raises:
        ValueError: if a folder is there, or a device, which the new file would take the place of.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as tmp:
    ...         _ = tmp.write_text("all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: expected the name of a file to write, found a folder or a device")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The same folder, hence the same file system: only there is a rename one step. The name is taken by nobody else,
    # so two processes that write the same file do not mix their bytes: the later one wins, whole.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    tmp = Path(name)
    try:
        yield tmp
        _sync(tmp)  # or a power cut could leave the new name on an empty file
        umask = os.umask(0)
        os.umask(umask)
        tmp.chmod(0o666 & ~umask)  # mkstemp makes it private; others may read what a run leaves
        tmp.replace(path)
    finally:
        tmp.unlink(missing_ok=True)


def write_json(value: Any, path: Path) -> None:
    """Write a value as JSON that people can read too, whole or not at all.

    Raises:
        ValueError: if a number in it is infinite or NaN, which JSON does not have.
    """
    with atomic_write(path) as tmp:
        tmp.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_object(path: Path, *, what: str = "an object of JSON", largest: int = LARGEST_JSON) -> dict[str, Any]:
    """Return the object in a JSON file that anyone may have written.

    Args:
        path: the file.
        what: what is expected, in a few words.
        largest: bytes it may have.

    Raises:
        ValueError: if it is not there, too large, or no JSON object.
    """
    try:
        value = parsed_json(validate_file(path, largest=largest).read_text(encoding="utf-8"))
    except DataError as error:  # which names the file
        raise ValueError(f"{error}; expected {what}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: expected {what} ({_reason(error)})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected {what}, found {type(value).__name__}")
    return value


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


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


@contextmanager
def removed_on_failure(tmp: Path) -> Iterator[None]:
    """Make an empty folder to be filled within this block; where that fails, as on a full disk, leave nothing of it."""
    shutil.rmtree(tmp, ignore_errors=True)
    tmp.mkdir(parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(tmp, ignore_errors=True)
        raise


def _sync(path: Path) -> None:
    """Bring a file or folder to the disk."""
    if _WINDOWS and path.is_dir():  # which opens no folder; its file system looks after names itself
        return
    handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)  # it syncs nothing that was opened to be read
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
