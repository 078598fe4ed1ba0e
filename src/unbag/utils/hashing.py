"""Hashes that identify rows (whatever files, caches or batches contain them) or the bytes of a file."""

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_MISSING = "-"
_STEP: Final = 4.0
"""Seconds; longer than the timestamp resolution of all file systems. FAT has the coarsest, with two seconds."""


def hash_file(path: Path) -> str:
    """Compute the sha256 of a file's bytes, as 64 hexadecimal digits. Unchanged files are not read again.

    A file written within the last seconds is read at every call, since another change within the resolution of the file
    system's timestamps would not change them.
    """
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())  # of the open file, since network file systems may cache attributes by name
        if time.time() - max(stat.st_mtime, stat.st_ctime) < _STEP:
            return hashlib.file_digest(file, "sha256").hexdigest()
    identity = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return _cached_file_hash(path.resolve(), identity)


@cache
def hash_package_code(*names: str) -> str:
    """Compute the sha256 of the code of unbag in the given files and folders, such as `data` and `utils/rng.py`."""
    digest, package = hashlib.sha256(), Path(__file__).parents[1]
    for name in names:
        for file in sorted((package / name).rglob("*.py")) or [package / name]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def hash_named_files(files: Sequence[tuple[str, Path]]) -> str:
    """Compute the sha256 of several files with their names; for a single file, the sha256 of its bytes."""
    if len(files) == 1:
        return hash_file(files[0][1])
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(f"{name}\0{hash_file(path)}\n".encode())
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def _cached_file_hash(path: Path, identity: tuple[int, ...]) -> str:
    """Compute the hash of a file. The result is cached by the file's identity, which changes with every write."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_columns(batches: Iterable[Any], columns: Sequence[str]) -> str:
    """Compute the sha256 of the values in the given columns, row by row, as 64 hexadecimal digits.

    Each value is prefixed with its length (`7:A dog.`), so that different tables never produce the same hashed text.
    Values are hashed as text; missing values differ from empty texts. The hash depends on names and order of the
    columns, but not on the division of the rows into Arrow tables or record batches.

    >>> table = pa.table({"premise": ["A man sleeps.", "A dog runs."], "label": [0, 2]})
    >>> hash_columns([table], ["premise"]) == hash_columns([table[:1], table[1:]], ["premise"])
    True
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
            # Arrow joins all rows in one buffer, since a Python object per row would be slow for millions of rows.
            digest.update(pc.binary_join(pa.ListArray.from_arrays([0, len(chunk)], chunk), "")[0].as_buffer())
    return digest.hexdigest()


def hash_texts(rows: Iterable[Iterable[str]]) -> str:
    """Compute the sha256 of a table of texts, row by row.

    >>> hash_texts([("ab",), ("c",)]) == hash_texts([("a", "bc")])
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
    return pc.fill_null(prefixed, _MISSING)  # no text has this form, since all start with a digit


def _cell(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")  # JSON escapes may contain lone surrogates
    return b"%d:" % len(content) + content
