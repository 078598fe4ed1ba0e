"""Hashes that identify data: of rows, independent of file, cache and batches; or of a file's bytes."""

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
"""Seconds. No file system has timestamps as coarse as this: the coarsest, FAT's, have a step of two seconds."""


def file_hash(path: Path) -> str:
    """Compute the sha256 of a file's bytes, 64 hexadecimal digits. An unchanged file is not read again.

    A file that was written in the last seconds is read at every call: a second change within the step of the file
    system's clock would leave its timestamps as they are.
    """
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())  # of the open file: a network file system may cache the attributes of a name
        if time.time() - max(stat.st_mtime, stat.st_ctime) < _STEP:
            return hashlib.file_digest(file, "sha256").hexdigest()
    identity = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return _cached_file_hash(path.resolve(), identity)


@lru_cache(maxsize=4096)
def _cached_file_hash(path: Path, identity: tuple[int, ...]) -> str:
    """Compute the hash of a file; cached by its identity, which every write changes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_hash(batches: Iterable[Any], columns: Sequence[str]) -> str:
    """Compute the sha256 of the values of some columns, row by row.

    Each value is prefixed with its length (`7:A dog.`), so different tables never give the same hashed text.

    Args:
        batches: Arrow tables or record batches, in row order. The split into batches does not change the hash.
        columns: Names of the columns. Names and order are part of the hash. Values are hashed as text; a missing value
            differs from an empty text.

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
            # Arrow joins all rows to one buffer: a Python object per row would be slow for millions of rows.
            digest.update(pc.binary_join(pa.ListArray.from_arrays([0, len(chunk)], chunk), "")[0].as_buffer())
    return digest.hexdigest()


def text_hash(rows: Iterable[Iterable[str]]) -> str:
    """Compute the sha256 of rows of text cells, cell by cell.

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
    """Prefix texts with their lengths in bytes, in an Arrow array."""
    texts = values.cast(pa.string())
    prefixed = pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":")
    return pc.fill_null(prefixed, _MISSING)


def _cell(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return b"%d:" % len(content) + content
