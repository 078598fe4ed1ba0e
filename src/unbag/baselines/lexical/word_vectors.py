"""Word vectors in text files, as GloVe, word2vec and fastText write them: a word and its numbers a line."""

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
"""What such a file's name ends in; `.gz` or `.zip` may follow."""

_MOST_DIMENSIONS: Final = 10_000  # tables in use have some hundred
_LONGEST_COUNT: Final = 16  # digits
_LISTED: Final = 5
_MOST_UNPACKED: Final = 50
"""How many times its size a packed file may come to beyond `_FREE`: numbers as text are packed to a third or so."""
_FREE: Final = 16 << 20  # bytes, some seconds of reading


def is_word_vectors(path: Path) -> bool:
    """Tell by its name whether a file holds word vectors as text.

    >>> [is_word_vectors(Path(name)) for name in ("glove.6B.50d.txt", "wiki.vec.gz", "glove.840B.300d.zip", "a.json")]
    [True, True, True, False]
    """
    return path.suffix in (*ENDINGS, ".zip") or (path.suffix == ".gz" and path.with_suffix("").suffix in ENDINGS)


def read_word_vectors(path: Path) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Read word vectors.

    A first line of two whole numbers (words, dimensions) is word2vec's header. Words may have spaces in them (some of
    glove.840B do): the numbers are taken from the right. Of a word that occurs twice the first vector counts. The lines
    are counted first, so that no more than the table is held in memory.

    Args:
        path: a text file, or one compressed with gzip, or alone in a zip archive.

    Returns:
        The row of each word, and the vectors, shape (rows, dimensions).

    Raises:
        ValueError: if the file is something else, naming the line, or unpacks to far more than numbers do.
    """
    try:
        with _opened(path) as (file, place):
            first = next(_lines(file, place, path), b"")
        with _opened(path) as (file, place):
            lines = safe_io.count_lines(file, place, path.stat().st_size, free=_FREE, times=_MOST_UNPACKED)
        with _opened(path) as (file, place):
            return _parse(_lines(file, place, path), path, first, lines)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, UnicodeError) as error:
        raise ValueError(f"{path}: cannot be read ({error})") from error


def _parse(read: Iterator[bytes], path: Path, first: bytes, lines: int) -> tuple[dict[str, int], NDArray[np.float32]]:
    header = _header(first)
    if header is not None:
        next(read)
        lines -= 1
        if lines != header[0]:
            raise ValueError(f"{path}: its first line promises {header[0]:,} words, found {lines:,}; is it all there?")
    dimensions = _dimensions(first) if header is None else header[1]
    if lines == 0 or dimensions == 0:
        raise ValueError(f"{path}, line 1: expected a word and its numbers, separated by spaces, found {first[:60]!r}")
    if dimensions > _MOST_DIMENSIONS:
        raise ValueError(f"{path}, line 1: expected at most {_MOST_DIMENSIONS:,} numbers a word, found {dimensions:,}")
    rows: dict[str, int] = {}
    try:
        vectors = np.empty((lines, dimensions), dtype=np.float32)
    except MemoryError as error:
        raise ValueError(f"{path}: {lines:,} lines of {dimensions:,} numbers are more than memory holds") from error
    # Only a newline ends a line: other white space may be part of a word.
    for row, line in enumerate(read):
        word, *values = line.rstrip().rsplit(b" ", dimensions)
        location = f"{path}, line {row + (1 if header is None else 2)}"
        try:
            vectors[row] = values if len(values) == dimensions else b"too few"  # a single one would fill the row
        except ValueError:
            raise ValueError(f"{location}: expected a word and {dimensions} numbers, found {line[:60]!r}") from None
        if not np.isfinite(vectors[row]).all():
            raise ValueError(f"{location}: expected finite numbers, found some that are not")
        try:
            rows.setdefault(word.decode(), row)
        except UnicodeDecodeError:
            raise ValueError(f"{location}: expected a word in UTF-8, found {word!r}") from None
    return rows, vectors


def _header(first: bytes) -> tuple[int, int] | None:
    fields = first.split()
    return (int(fields[0]), int(fields[1])) if len(fields) == 2 and all(map(_is_count, fields)) else None


def _is_count(field: bytes) -> bool:
    return field.isdigit() and len(field) < _LONGEST_COUNT


def _dimensions(first: bytes) -> int:
    """Return how many numbers the first line ends in."""
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
    """Give a file to read, unpacked where it is packed, and what to call it."""
    safe_io.validate_file(path)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) != 1:
                names = [member.filename for member in members[:_LISTED]]
                raise ValueError(f"{path}: expected one file in the archive, found {names}; unpack the one you mean")
            with archive.open(members[0]) as file:
                yield file, f"{path}, {members[0].filename}"
    else:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast("IO[bytes]", file), str(path)


def _lines(file: IO[bytes], place: str, path: Path) -> Iterator[bytes]:
    return (line for _, line in safe_io.limited_lines(file, place, path.stat().st_size))
