"""What identifies data: a hash of the rows themselves, whatever file, cache or batch they came in; or of a file."""

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_MISSING = "-"
_STEP: Final = 4.0
"""Seconds, of more than which no file system counts the times of its files: FAT's two are the longest."""


def file_hash(path: Path) -> str:
    """Return the sha256 of a file's bytes, 64 hexadecimal digits; of one that is as it was, without reading it again.

    A file that was written just now is read each time: another change in the same moment would not show in its times.
    """
    with path.open("rb") as file:
        found = os.fstat(file.fileno())  # of the open file: a network's file system may remember what a name had
        if time.time() - max(found.st_mtime, found.st_ctime) < _STEP:
            return hashlib.file_digest(file, "sha256").hexdigest()
    identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return _unchanged(path.resolve(), identity)


@lru_cache(maxsize=4096)
def _unchanged(path: Path, identity: tuple[int, ...]) -> str:
    """Return the hash of a file that is still the one of this identity, as whoever wrote to it would have changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_hash(batches: Iterable[Any], columns: Sequence[str]) -> str:
    """Return the sha256 of the named columns' values, row by row.

    Each value stands behind its length (`7:A dog.`), so that no two tables are one text, whatever is in their cells.

    Args:
        batches: Arrow tables or record batches, in row order; how the rows are cut into batches does not matter.
        columns: the columns to read, whose names and order are part of the hash. Values are hashed as text; a missing
            one is none, and no empty text.

    Returns:
        64 hexadecimal digits.

    >>> table = pa.table({"premise": ["A man sleeps.", "A dog runs."], "label": [0, 2]})
    >>> content_hash([table], ["premise"]) == content_hash([table[:1], table[1:]], ["premise"])
    True
    >>> one, other = pa.table({"a": ["x:1"], "b": ["y"]}), pa.table({"a": ["x"], "b": ["1:y"]})
    >>> content_hash([one], ["a", "b"]) == content_hash([other], ["a", "b"])
    False
    """
    digest = hashlib.sha256(f"{len(columns)}:".encode())
    for name in columns:
        digest.update(_cell(name))
    for batch in batches:
        if len(batch) == 0:
            continue
        cells = [_cells(batch.column(name)) for name in columns]
        rows = pc.binary_join_element_wise(*cells, "")
        for chunk in rows.chunks if isinstance(rows, pa.ChunkedArray) else [rows]:
            # One text of all, as Arrow has it: no value of Python a row, of which there may be many millions.
            digest.update(pc.binary_join(pa.ListArray.from_arrays([0, len(chunk)], chunk), "")[0].as_buffer())
    return digest.hexdigest()


def text_hash(rows: Iterable[Iterable[str]]) -> str:
    """Return the sha256 of rows of text cells, cell by cell.

    >>> text_hash([("a", "b")]) == text_hash([("ab", "")])
    False
    >>> text_hash([("a", "b")]) == text_hash([("a",), ("b",)])
    False
    """
    digest = hashlib.sha256()
    for row in rows:
        cells = list(map(_cell, row))
        digest.update(b"%d;" % len(cells) + b"".join(cells))
    return digest.hexdigest()


def _cells(values: Any) -> Any:
    """Return texts behind their lengths in bytes, in an Arrow array."""
    texts = values.cast(pa.string())
    behind_lengths = pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":")
    return pc.fill_null(behind_lengths, _MISSING)


def _cell(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return b"%d:" % len(content) + content
