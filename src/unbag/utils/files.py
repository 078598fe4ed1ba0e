"""Atomic writes, JSON files and the cache folder."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from platformdirs import user_cache_path

from unbag.utils.safe_io import DataError, parse_json, validate_file

_WINDOWS = os.name == "nt"
CACHE_VARIABLE: Final = "UNBAG_CACHE"
LARGEST_JSON: Final = 1 << 30
"""Maximum size of a JSON file in bytes. The largest file that unbag writes, for a lexical model, has some MB."""


def get_cache_folder(name: str) -> Path:
    """Build the path of a subfolder of unbag's cache folder. The folder may not exist yet.

    The parent is the folder in the environment variable `UNBAG_CACHE`, or the platform's cache folder: `unbag` in
    `$XDG_CACHE_HOME` or `~/.cache` on Linux, `unbag` in `~/Library/Caches` on macOS, `unbag/Cache` in `%LOCALAPPDATA%`
    on Windows.
    """
    configured = os.environ.get(CACHE_VARIABLE)
    return (Path(configured).expanduser() if configured else user_cache_path("unbag", appauthor=False)) / name


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` on success and removed on failure.

    The folder of `path` is created if necessary. An existing file is replaced.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: expected a file to write, got a folder or a device; pass another path")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renames are atomic only within a file system, so the temporary file is in the same folder. Its name is unique, so
    # that two processes that write the same file do not mix their bytes; the later one wins.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    tmp = Path(name)
    try:
        yield tmp
        _sync(tmp)  # otherwise the renamed file could be empty after a power failure
        umask = os.umask(0)  # the only way to read the umask is to set it
        os.umask(umask)
        tmp.chmod(0o666 & ~umask)  # mkstemp creates a private file; output files have the user's default permissions
        tmp.replace(path)
    finally:
        tmp.unlink(missing_ok=True)


def write_json(value: Any, path: Path) -> None:
    """Write a value to a file as indented JSON, atomically. Infinite numbers and NaN raise a `ValueError`."""
    # Python would write NaN and Infinity, which are not JSON and which other parsers reject.
    with atomic_write(path) as tmp:
        tmp.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_json_object(path: Path, *, expected: str = "an object of JSON") -> dict[str, Any]:
    """Load a JSON object from an untrusted file of at most `LARGEST_JSON` bytes.

    `expected` describes the content for the error message.
    """
    try:
        value = parse_json(validate_file(path, max_bytes=LARGEST_JSON).read_text(encoding="utf-8"))
    except DataError as error:  # its message names the file
        raise ValueError(f"{error}; expected {expected}") from None
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ValueError(f"{path}: expected {expected} ({reason})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected {expected}, got {type(value).__name__}")
    return value


def atomic_rename(folder: Path, path: Path) -> None:
    """Flush all files of a folder to disk, then rename the folder atomically. The new path must not exist.

    Renames are atomic only within a file system, so both paths have the same parent.
    """
    for entry in (*folder.rglob("*"), folder):
        _sync(entry)
    folder.rename(path)
    _sync(path.parent)


@contextmanager
def remove_on_failure(folder: Path) -> Iterator[None]:
    """Create an empty folder, and remove it if the `with` block raises an error."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    if _WINDOWS and path.is_dir():  # Windows cannot open a folder; NTFS keeps a journal of names
        return
    handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)  # Windows cannot sync files opened for reading only
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
