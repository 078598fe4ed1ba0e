"""Files that a user names: refused at once where they are none, and read within limits that SECURITY.md states.

Whoever reads such a file passes here before a byte of it is read, hashed or waited for.
"""

import gzip
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, cast

LONGEST_LINE: Final = 16 << 20
"""Bytes of a line of text, once unpacked: what is in memory at a time."""

MOST_COLUMNS: Final = 10_000
"""Columns of a table."""

DEEPEST_JSON: Final = 100
"""Brackets within brackets."""

MOST_UNPACKED: Final = 200
"""How many times its size a compressed file may come to, where that is more than a gigabyte; text is a tenth of it."""

GIGABYTE: Final = 1 << 30
"""Bytes up to which nobody asks how they were packed."""

_CHUNK: Final = 1 << 20
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.]+:/")  # s3://…, of which a path has one slash left
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class DataError(ValueError):
    """Data that cannot be found or read; the message names the file or data set and the row."""


def validate_file(path: Path, *, largest: int | None = None) -> Path:
    """Return the path of a file that is there and can be read.

    Args:
        path: of a file, or of a link to one.
        largest: the bytes it may have.

    Raises:
        DataError: if it is not there, no file (a folder, a named pipe, a device), too large, or not to be read.
    """
    if _ADDRESS.match(str(path)):
        raise DataError(f"expected a file of this machine, found the address {path}; copy it here first")
    try:
        found = path.stat()
        kind = stat.S_IFMT(found.st_mode)
        if kind != stat.S_IFREG:
            raise DataError(f"{path}: expected a file, found {_KINDS.get(kind, 'something else')}")
        if largest is not None and found.st_size > largest:
            raise DataError(f"{path}: expected at most {largest:,} bytes, found {found.st_size:,}")
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except DataError:
        raise
    except ValueError as error:  # a name that no file can have
        raise DataError(f"{path}: cannot be read ({error})") from None
    return path


def lines(path: Path, *, start: int = 0, before: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a text file, plain or with `.gz`, with their numbers from 1.

    Args:
        path: the file.
        start: how many bytes to skip, up to where a line begins; of one with `.gz` none.
        before: how many lines these are.

    Raises:
        DataError: if there is no such file, it is cut short or damaged, or a line is too long.
    """
    size = validate_file(path).stat().st_size
    opened = gzip.open(path) if path.suffix == ".gz" else path.open("rb")
    with opened as file:
        file.seek(start)
        yield from limited_lines(cast("IO[bytes]", file), path, size, before=before)


def limited_lines(file: IO[bytes], place: object, size: int, *, before: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an open file with their numbers from 1.

    Args:
        file: to be read as bytes; maybe unpacked as it is read.
        place: what to call it.
        size: its bytes as they are stored.
        before: how many of its lines were skipped.

    Raises:
        DataError: see `lines`.
    """
    number, done = before, 0
    try:
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            done += len(line)
            if len(line) > LONGEST_LINE:
                raise DataError(f"{place}, line {number}: expected at most {LONGEST_LINE:,} bytes a line, found more")
            if done > GIGABYTE and done > MOST_UNPACKED * size:
                raise _expands(place, number, MOST_UNPACKED, size)
            yield number, line
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(error, place, number + 1, size) from None


def count_lines(file: IO[bytes], place: object, size: int, *, free: int, times: int) -> int:
    """Count the lines of an open file, far faster than they are read one by one.

    Args:
        file: to be read as bytes; maybe unpacked as it is read.
        place: what to call it.
        size: its bytes as they are stored.
        free: bytes up to which it may unpack, however small it is.
        times: how many times its size it may unpack to beyond that.

    Raises:
        DataError: if it is cut short or damaged, or unpacks to more.
    """
    count, done, last = 0, 0, b"\n"
    try:
        while chunk := file.read(_CHUNK):
            count += chunk.count(b"\n")
            done += len(chunk)
            last = chunk[-1:]
            if done > free and done > times * size:
                raise _expands(place, count + 1, times, size)
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(error, place, count + 1, size) from None
    return count + (last != b"\n")


def _expands(place: object, number: int, times: int, size: int) -> DataError:
    return DataError(
        f"{place}, line {number}: unpacks to more than {times} times its {size:,} bytes, as no text does; unpack it "
        "yourself if you trust it"
    )


def _unreadable(error: Exception, place: object, number: int, size: int) -> DataError:
    if isinstance(error, EOFError):
        return DataError(
            f"{place}: ends in the middle of line {number}: it is cut short, after {size:,} bytes; get it again"
        )
    return DataError(f"{place}, line {number}: cannot be read ({error})")


def parsed_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Return the value of a JSON text that anyone may have written.

    Raises:
        ValueError: if it is none, or too deep.

    >>> parsed_json("[" * 101 + "]" * 101)
    Traceback (most recent call last):
        ...
    ValueError: brackets within brackets, more than 100 deep
    """
    too_deep = ValueError(f"brackets within brackets, more than {DEEPEST_JSON} deep")
    try:
        value = decode(text)
    except RecursionError:
        raise too_deep from None
    if text.count("[") + text.count("{") > DEEPEST_JSON and _is_deeper(value, DEEPEST_JSON):
        raise too_deep
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    """Tell whether lists and dictionaries are within each other more than so many levels deep."""
    within = [value]
    for _ in range(levels + 1):
        inner = [part for part in within if isinstance(part, dict | list)]
        within = [each for part in inner for each in (part.values() if isinstance(part, dict) else part)]
    return bool(inner)


def validate_writable(path: Path, *, folder: bool) -> Path:
    """Return a path that can be written to, before what shall stand there is worked out; nothing is made yet.

    Args:
        path: a file or a folder, which need not be there, nor what it lies in.
        folder: whether it shall be a folder.

    Raises:
        ValueError: if it is of the other kind or an address, lies in what is no folder, or in one that may not be
            written to.
    """
    wanted = "a folder" if folder else "a file"
    if _ADDRESS.match(str(path)):
        raise ValueError(
            f"expected {wanted} of this machine to write, found the address {path}; what `unbag evaluate`, "
            "`unbag score` and `unbag build` write (--output) may go to one"
        )
    try:
        if "\0" in str(path):
            raise ValueError(f"expected {wanted} to write, found the name {str(path)!r}")
        if path.exists() or path.is_symlink():
            kind = stat.S_IFMT(path.stat().st_mode)
            if kind != (stat.S_IFDIR if folder else stat.S_IFREG):
                found = "a file" if kind == stat.S_IFREG else _KINDS.get(kind, "something else")
                raise ValueError(f"{path}: expected {wanted} to write, found {found}")
        above = path if folder else path.parent
        while not above.exists():
            if above.is_symlink():
                raise ValueError(f"{path}: expected {wanted} to write, but {above} is a link that leads nowhere")
            above = above.parent
        if not above.is_dir():
            raise ValueError(f"{path}: expected {wanted} to write, but {above} is no folder")
        with TemporaryFile(dir=above):  # what may be written, only writing tells
            pass
    except OSError as error:
        raise ValueError(f"{path}: expected {wanted} to write ({error.strerror})") from None
    return path
