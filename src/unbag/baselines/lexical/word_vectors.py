"""Reader for word vectors in text files, in the format of GloVe, word2vec and fastText: one word per line."""

import zipfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.utils.safe_io import iter_limited_lines, iter_lines, validate_file

ENDINGS: Final = (".txt", ".vec")
"""Suffixes of word-vector files, optionally followed by `.gz` or `.zip`."""


def is_word_vector_file(path: Path) -> bool:
    """Check whether a file is a text file with word vectors, based on its name.

    >>> names = "glove.6B.50d.txt", "wiki.vec.gz", "glove.840B.300d.zip", "a.json"
    >>> [is_word_vector_file(Path(name)) for name in names]
    [True, True, True, False]
    """
    return path.suffix in (*ENDINGS, ".zip") or (path.suffix == ".gz" and path.with_suffix("").suffix in ENDINGS)


def read_word_vectors(path: Path) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Read the row of each word, and vectors, shape (rows, dimensions), from a text, gzip or zip file.

    A first line with two integers (words, dimensions) is a word2vec header. Words may contain spaces (some words in
    glove.840B do), so the numbers are split off from the right. For repeated words, the first vector is used.
    """
    try:
        if path.suffix != ".zip":
            return _parse(iter_lines(path), path)
        with zipfile.ZipFile(validate_file(path)) as archive:
            members = archive.infolist()
            if len(members) != 1:
                names = [member.filename for member in members[:5]]
                raise ValueError(
                    f"{path}: expected one file in the archive, got {names}; extract one and pass its path"
                )
            with archive.open(members[0]) as file:
                place = f"{path}, {members[0].filename}"
                return _parse(iter_limited_lines(file, place, path.stat().st_size), path)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, UnicodeError) as error:
        raise ValueError(f"{path}: expected a readable file of word vectors, got an error ({error})") from error


def _parse(lines: Iterator[tuple[int, bytes]], path: Path) -> tuple[dict[str, int], NDArray[np.float32]]:
    words: dict[str, int] = {}
    numbers, row, dimensions, expected = array("f"), 0, 0, None  # the array grows without a second copy of the table
    # Only newlines separate lines, because other white space, such as a no-break space, may be part of a word.
    for number, line in lines:
        if number == 1:
            fields = line.split()
            if len(fields) == 2 and len(line) < 20 and all(field.isdigit() for field in fields):
                expected, dimensions = map(int, fields)
                continue
            dimensions = _count_numbers(fields)
        word, *values = line.rstrip().rsplit(b" ", dimensions)
        try:
            vector = np.array(values, dtype=np.float32)
            is_vector = len(vector) == dimensions > 0 and np.isfinite(vector).all()
            words.setdefault(word.decode(), row)
        except ValueError:  # text instead of numbers, or bytes that are not UTF-8
            is_vector = False
        if not is_vector:
            count = f"{dimensions} finite numbers" if dimensions else "its numbers, separated by spaces"
            raise ValueError(f"{path}, line {number}: expected a word in UTF-8 and {count}, got {line[:60]!r}")
        numbers.frombytes(vector.tobytes())
        row += 1
    if expected not in (None, row):
        raise ValueError(
            f"{path}: expected {expected:,} words according to the first line, got {row:,}; check whether the file is "
            "complete"
        )
    if not row:
        raise ValueError(f"{path}, line 1: expected a word and its numbers, separated by spaces, got no words")
    return words, np.frombuffer(numbers, dtype=np.float32).reshape(row, dimensions)


def _count_numbers(fields: list[bytes]) -> int:
    """Count the numbers at the end of the first line."""
    for count, value in enumerate(reversed(fields[1:])):
        try:
            float(value)
        except ValueError:
            return count
    return max(len(fields) - 1, 0)
