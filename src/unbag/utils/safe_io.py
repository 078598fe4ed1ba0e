"""Safe reads of user-provided files, which are validated first and limited in size (see SECURITY.md).

`validate_file` is called before such a file is read or hashed, because opening a named pipe would block. The readers
raise `DataError` for a missing, truncated or damaged file, and for one that exceeds a limit.
"""

import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, AnyStr, Final, cast

LONGEST_LINE: Final = 16 << 20  # decompressed bytes; readers keep one line in memory at a time
MOST_COLUMNS: Final = 10_000  # of a table
DEEPEST_JSON: Final = 100  # levels of nested brackets
MOST_UNPACKED: Final = 200  # compression ratio of a file of more than a gigabyte; ten times the ratio of usual text
GIGABYTE: Final = 1 << 30  # decompressed bytes up to which the compression ratio is not limited

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.]+:/")  # `s3://…`; Path reduces the two slashes to one
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a broken symbolic link",
}


class DataError(ValueError):
    """Error for missing or unreadable data. The message contains the file or dataset and the row."""


def validate_column_count(n: int, location: object) -> None:
    """Validate that a file has at most `MOST_COLUMNS` columns (see SECURITY.md)."""
    if n > MOST_COLUMNS:
        raise DataError(f"{location}: expected at most {MOST_COLUMNS:,} columns, got {n:,}; remove columns")


def validate_file(path: Path, *, max_bytes: int | None = None) -> Path:
    """Validate that a path is a readable file of at most `max_bytes` (default: no limit), and return it.

    Links to files are valid. Folders, named pipes and devices are not.
    """
    if _ADDRESS.match(str(path)):
        raise DataError(f"expected a local file, got the URL {path}; download it first")
    try:
        status = path.stat()
        if stat.S_ISREG(status.st_mode):
            os.close(os.open(path, os.O_RDONLY))  # whether it is readable is known only after opening it
    except FileNotFoundError:
        raise DataError(f"{path}: expected a file, got no such file; check the path") from None
    except (OSError, ValueError) as error:  # ValueError: an invalid name, such as one with a null byte
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: expected a readable file, got an error ({reason})") from None
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise DataError(f"{path}: expected a file, got {kind}")
    if max_bytes is not None and status.st_size > max_bytes:
        raise DataError(f"{path}: expected at most {max_bytes:,} bytes, got {status.st_size:,}")
    return path


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the line number (from 1) and content of each line in a text file, which may be compressed (`.gz`)."""
    size = validate_file(path).stat().st_size
    with _open(path) as file:
        yield from iter_limited_lines(file, path, size)


def iter_text_lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    r"""Yield the line number (from 1) and content of each line of a text file. Lines end with \\n, \\r\\n or \\r.

    Unlike `iter_lines`, decodes the file before it is split into lines, as UTF-16 and old line ends require. Text in
    another encoding raises a `UnicodeError`.
    """
    size = validate_file(path).stat().st_size
    with TextIOWrapper(_open(path), encoding, newline="") as text:
        yield from iter_limited_lines(text, path, size)


def read_limited_bytes(path: Path, limit: int) -> bytes | None:
    """Read a whole file, which may be compressed (`.gz`). Return None if it has more bytes than the limit."""
    size = validate_file(path).stat().st_size
    try:
        with _open(path) as file:
            content = file.read(limit + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(error, path, 1, size) from None
    return content if len(content) <= limit else None


def iter_limited_lines(file: IO[AnyStr], name: object, stored_bytes: int) -> Iterator[tuple[int, AnyStr]]:
    """Yield the number (from 1) and content of each line in an open file, which may decompress as it reads.

    `name` is for error messages, and `stored_bytes` is the size of the stored file, which limits the decompressed size.
    """
    number, done = 0, 0
    try:
        # `readline` without a limit would load a file without line breaks into memory.
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            done += len(line)
            if len(line) > LONGEST_LINE:
                raise DataError(f"{name}, line {number}: expected at most {LONGEST_LINE:,} bytes per line, got more")
            if done > GIGABYTE and done > MOST_UNPACKED * stored_bytes:
                raise DataError(
                    f"{name}, line {number}: expected at most {MOST_UNPACKED} times the file size of {stored_bytes:,} "
                    "bytes, got more; decompress the file yourself if you trust it"
                )
            yield number, line
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(error, name, number + 1, stored_bytes) from None


def _unreadable(error: Exception, place: object, number: int, size: int) -> DataError:
    if isinstance(error, EOFError):
        return DataError(
            f"{place}, line {number}: expected the rest of the line, got the end of the truncated file after {size:,} "
            "bytes; download or copy it again"
        )
    return DataError(f"{place}, line {number}: expected a readable line, got an error ({error})")


def parse_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Parse JSON text from an untrusted source with `decode` (default: `json.loads`). Limits the depth of brackets.

    >>> parse_json("[" * 101 + "]" * 101)
    Traceback (most recent call last):
        ...
    ValueError: expected at most 100 levels of nested brackets, got more; flatten the file
    """
    try:
        value = decode(text)
        nodes = [value] if text.count("[") + text.count("{") > DEEPEST_JSON else []
        # Level by level instead of recursively, since the input may be nested deeper than Python's stack allows.
        for _ in range(DEEPEST_JSON + 1):
            containers = [node for node in nodes if isinstance(node, dict | list)]
            if not containers:
                return value
            nodes = [child for node in containers for child in (node.values() if isinstance(node, dict) else node)]
    except RecursionError:
        pass
    raise ValueError(f"expected at most {DEEPEST_JSON} levels of nested brackets, got more; flatten the file")


def validate_writable(path: Path, *, folder: bool) -> Path:
    """Validate that a path is writable, as a folder or as a file, and return it. Nothing is created.

    The path and its parent folders need not exist. The closest existing parent must be a writable folder.
    """
    wanted = "a folder" if folder else "a file"
    if _ADDRESS.match(str(path)):
        raise ValueError(
            f"expected a local path for {wanted} to write, got the URL {path}; only `unbag evaluate`, "
            "`unbag score` and `unbag build` write to a URL"
        )
    try:
        if "\0" in str(path):
            raise OSError(0, "null characters in the path")
        parents = [*([path] if folder else []), *path.absolute().parents]
        parent = next(each for each in parents if each.exists() or each.is_symlink())
        for place, is_right in ((path, path.is_dir() if folder else path.is_file()), (parent, parent.is_dir())):
            if (place.exists() or place.is_symlink()) and not is_right:
                kind = stat.S_IFMT(place.stat().st_mode) if place.exists() else stat.S_IFLNK
                raise ValueError(
                    f"{path}: expected {wanted} to write, got {_KINDS.get(kind, 'a file')} at {place}; pass another "
                    "path"
                )
        with TemporaryFile(dir=parent):  # `os.access` is unreliable on network file systems and for root
            pass
    except OSError as error:
        raise ValueError(f"{path}: expected {wanted} to write, got an error ({error.strerror})") from None
    return path
