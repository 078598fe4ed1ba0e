"""Reader for word vectors in text files, in the format of GloVe, word2vec and fastText: one word per line."""

import gzip
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, cast

import numpy as np
from numpy.typing import NDArray

from unbag.utils import safe_io

ENDINGS: Final = (".txt", ".vec")
"""Suffixes of word-vector files, optionally followed by `.gz` or `.zip`."""

_MOST_DIMENSIONS: Final = 10_000  # common tables have a few hundred
_LONGEST_COUNT: Final = 16  # digits
_LISTED: Final = 5
_MOST_UNPACKED: Final = 50
"""Maximum expansion factor of a compressed file beyond `_FREE` bytes; numbers in text compress to about a third."""
_FREE: Final = 16 << 20  # bytes, which take a few seconds to read


def is_word_vector_file(path: Path) -> bool:
    """Check whether a file is a text file with word vectors, based on its name.

    >>> names = "glove.6B.50d.txt", "wiki.vec.gz", "glove.840B.300d.zip", "a.json"
    >>> [is_word_vector_file(Path(name)) for name in names]
    [True, True, True, False]
    """
    return path.suffix in (*ENDINGS, ".zip") or (path.suffix == ".gz" and path.with_suffix("").suffix in ENDINGS)


def read_word_vectors(path: Path) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Read word vectors from a text file, a gzip file, or a zip archive with one text file.

    A first line with two integers (words, dimensions) is a word2vec header. Words may contain spaces (some words in
    glove.840B do), so the numbers are split off from the right. For repeated words, the first vector is used. The lines
    are counted before they are parsed, so that only the table is in memory.

    Returns:
        Row of each word, and vectors, shape (rows, dimensions).
    """
    try:
        with _opened(path) as (file, place):
            first = next(_lines(file, place, path), b"")
        with _opened(path) as (file, place):
            lines = safe_io.count_lines(
                file, place, path.stat().st_size, unlimited_bytes=_FREE, max_ratio=_MOST_UNPACKED
            )
        with _opened(path) as (file, place):
            return _parse(_lines(file, place, path), path, first, lines)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, UnicodeError) as error:
        raise ValueError(f"{path}: expected a readable file of word vectors, got an error ({error})") from error


def _parse(read: Iterator[bytes], path: Path, first: bytes, lines: int) -> tuple[dict[str, int], NDArray[np.float32]]:
    header = _header(first)
    if header is not None:
        next(read)
        lines -= 1
        if lines != header[0]:
            raise ValueError(
                f"{path}: expected {header[0]:,} words according to the first line, got {lines:,}; check whether the "
                "file is complete"
            )
    dimensions = _dimensions(first) if header is None else header[1]
    if lines == 0 or dimensions == 0:
        raise ValueError(f"{path}, line 1: expected a word and its numbers, separated by spaces, got {first[:60]!r}")
    if dimensions > _MOST_DIMENSIONS:
        raise ValueError(f"{path}, line 1: expected at most {_MOST_DIMENSIONS:,} numbers per word, got {dimensions:,}")
    rows: dict[str, int] = {}
    try:
        vectors = np.empty((lines, dimensions), dtype=np.float32)
    except MemoryError as error:
        raise ValueError(
            f"{path}: expected a table that fits into memory, got {lines:,} lines with {dimensions:,} numbers each; "
            "use a smaller file"
        ) from error
    # Only newlines separate lines, because other white space, such as a no-break space, may be part of a word.
    for row, line in enumerate(read):
        word, *values = line.rstrip().rsplit(b" ", dimensions)
        location = f"{path}, line {row + (1 if header is None else 2)}"
        try:
            # The string raises a ValueError; a single number would be broadcast to the whole row.
            vectors[row] = values if len(values) == dimensions else b"too few"
        except ValueError:
            raise ValueError(f"{location}: expected a word and {dimensions} numbers, got {line[:60]!r}") from None
        if not np.isfinite(vectors[row]).all():
            raise ValueError(f"{location}: expected finite numbers, got NaN or infinity")
        try:
            rows.setdefault(word.decode(), row)
        except UnicodeDecodeError:
            raise ValueError(f"{location}: expected a word in UTF-8, got {word!r}") from None
    return rows, vectors


def _header(first: bytes) -> tuple[int, int] | None:
    fields = first.split()
    return (int(fields[0]), int(fields[1])) if len(fields) == 2 and all(map(_is_count, fields)) else None


def _is_count(field: bytes) -> bool:
    return field.isdigit() and len(field) < _LONGEST_COUNT


def _dimensions(first: bytes) -> int:
    """Count the numbers at the end of the first line."""
    count = 0
    for value in reversed(first.split()[1:]):
        try:
            float(value)
        except ValueError:
            break
        count += 1
    return count


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Open a file with decompression, and yield it with its name for error messages."""
    safe_io.validate_file(path)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) != 1:
                names = [member.filename for member in members[:_LISTED]]
                raise ValueError(
                    f"{path}: expected one file in the archive, got {names}; extract one and pass its path"
                )
            with archive.open(members[0]) as file:
                yield file, f"{path}, {members[0].filename}"
    else:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast("IO[bytes]", file), str(path)


def _lines(file: IO[bytes], place: str, path: Path) -> Iterator[bytes]:
    return (line for _, line in safe_io.iter_limited_lines(file, place, path.stat().st_size))
