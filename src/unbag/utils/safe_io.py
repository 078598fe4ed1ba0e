"""Safe reads of files that a user names: validated before the first read, and within the limits of SECURITY.md.

Every such file passes `validate_file` before it is read or hashed, because opening a named pipe would block.
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
"""Maximum bytes of a line of text, decompressed. A reader holds one line in memory at a time."""

MOST_COLUMNS: Final = 10_000
"""Maximum columns of a table."""

DEEPEST_JSON: Final = 100
"""Maximum depth of nested brackets in JSON."""

MOST_UNPACKED: Final = 200
"""Maximum compression ratio of a file that decompresses to more than a gigabyte; text has a tenth of it."""

GIGABYTE: Final = 1 << 30
"""Decompressed bytes up to which the compression ratio is not limited."""

_CHUNK: Final = 1 << 20
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.]+:/")  # `s3://…`; Path reduces the two slashes to one
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class DataError(ValueError):
    """Data that is absent or unreadable; the message names the file or data set and the row."""


def validate_file(path: Path, *, largest: int | None = None) -> Path:
    """Validate that a path is a readable file, and return it.

    Args:
        path: Path of a file, or of a link to one.
        largest: Maximum size in bytes (default: no limit).

    Raises:
        DataError: If the file is absent, too large, unreadable, or not a regular file (a folder, a named pipe, a
            device).
    """
    if _ADDRESS.match(str(path)):
        raise DataError(f"expected a file of this machine, got the address {path}; copy it to this machine first")
    try:
        status = path.stat()
        kind = stat.S_IFMT(status.st_mode)
        if kind != stat.S_IFREG:
            raise DataError(f"{path}: expected a file, got {_KINDS.get(kind, 'something else')}")
        if largest is not None and status.st_size > largest:
            raise DataError(f"{path}: expected at most {largest:,} bytes, got {status.st_size:,}")
        os.close(os.open(path, os.O_RDONLY))  # whether it is readable shows only when it is opened
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except DataError:
        raise
    except ValueError as error:  # an impossible name, for example one with a null byte
        raise DataError(f"{path}: cannot be read ({error})") from None
    return path


def lines(path: Path, *, start: int = 0, before: int = 0) -> Iterator[tuple[int, bytes]]:
    """Iterate over the lines of a text file, plain or with the suffix `.gz`, with their numbers from 1.

    Args:
        path: Text file.
        start: Bytes to skip, up to the start of a line (default: 0; always 0 for `.gz`).
        before: Number of lines in the skipped bytes (default: 0).

    Raises:
        DataError: If the file is absent, truncated or damaged, or a line is too long.
    """
    size = validate_file(path).stat().st_size
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        file.seek(start)
        yield from limited_lines(cast("IO[bytes]", file), path, size, before=before)


def limited_lines(file: IO[bytes], place: object, size: int, *, before: int = 0) -> Iterator[tuple[int, bytes]]:
    """Iterate over the lines of an open file, within the limits, with their numbers from 1.

    Args:
        file: File of bytes; it may decompress as it reads.
        place: Name of the file for error messages.
        size: Bytes of the stored file, compressed.
        before: Number of lines that were skipped (default: 0).

    Raises:
        DataError: If the file is truncated or damaged, a line is too long, or the compression ratio is too high.
    """
    number, done = before, 0
    try:
        # `readline` without a limit would read a file without line breaks into memory.
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            done += len(line)
            if len(line) > LONGEST_LINE:
                raise DataError(f"{place}, line {number}: expected at most {LONGEST_LINE:,} bytes per line, got more")
            if done > GIGABYTE and done > MOST_UNPACKED * size:
                raise _expands(place, number, MOST_UNPACKED, size)
            yield number, line
    except (EOFError, OSError, zlib.error) as error:
        raise _unreadable(error, place, number + 1, size) from None


def count_lines(file: IO[bytes], place: object, size: int, *, free: int, times: int) -> int:
    """Count the lines of an open file by chunks, much faster than line by line.

    Args:
        file: File of bytes; it may decompress as it reads.
        place: Name of the file for error messages.
        size: Bytes of the stored file, compressed.
        free: Decompressed bytes up to which the compression ratio is not limited.
        times: Maximum compression ratio beyond that.

    Raises:
        DataError: If the file is truncated or damaged, or the compression ratio is too high.
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
            f"{place}: ends in the middle of line {number}: it is cut short, after {size:,} bytes; download or copy it "
            "again"
        )
    return DataError(f"{place}, line {number}: cannot be read ({error})")


def parse_json(text: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Parse a JSON text from an untrusted source.

    Args:
        text: JSON text.
        decode: Parser (default: `json.loads`).

    Raises:
        ValueError: If the text is not JSON, or is nested too deeply.

    >>> parse_json("[" * 101 + "]" * 101)
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
    """Check whether lists and dictionaries are nested deeper than a number of levels."""
    # Level by level, not recursively: the input may be deeper than Python's stack.
    nodes = [value]
    for _ in range(levels + 1):
        containers = [node for node in nodes if isinstance(node, dict | list)]
        nodes = [child for node in containers for child in (node.values() if isinstance(node, dict) else node)]
    return bool(containers)


def validate_writable(path: Path, *, folder: bool) -> Path:
    """Validate that a path can be written to, and return it. Creates nothing.

    Args:
        path: File or folder to write. Neither it nor its parent folders need exist.
        folder: Whether the path is to be a folder.

    Raises:
        ValueError: If the path is of the other kind or an address, or its closest existing parent is not a folder or is
            not writable.
    """
    wanted = "a folder" if folder else "a file"
    if _ADDRESS.match(str(path)):
        raise ValueError(
            f"expected {wanted} of this machine to write, got the address {path}; only `unbag evaluate`, "
            "`unbag score` and `unbag build` write to an address (--output)"
        )
    try:
        if "\0" in str(path):
            raise ValueError(f"expected {wanted} to write, got the name {str(path)!r}")
        if path.exists() or path.is_symlink():
            kind = stat.S_IFMT(path.stat().st_mode)
            if kind != (stat.S_IFDIR if folder else stat.S_IFREG):
                actual = "a file" if kind == stat.S_IFREG else _KINDS.get(kind, "something else")
                raise ValueError(f"{path}: expected {wanted} to write, got {actual}")
        parent = path if folder else path.parent
        while not parent.exists():
            if parent.is_symlink():
                raise ValueError(f"{path}: expected {wanted} to write, but {parent} is a broken link")
            parent = parent.parent
        if not parent.is_dir():
            raise ValueError(f"{path}: expected {wanted} to write, but {parent} is not a folder")
        with TemporaryFile(dir=parent):  # `os.access` is wrong on network file systems and for root
            pass
    except OSError as error:
        raise ValueError(f"{path}: expected {wanted} to write ({error.strerror})") from None
    return path
