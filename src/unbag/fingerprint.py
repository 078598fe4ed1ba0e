"""What identifies data: a hash of the rows themselves, whatever file, cache or batch they came in."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_BETWEEN_CELLS = "\x1f"
_AFTER_ROW = "\x1e"


def file_hash(path: Path) -> str:
    """Return the sha256 of a file's bytes, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_hash(batches: Iterable[Any], columns: Sequence[str]) -> str:
    """Return the sha256 of the named columns' values, row by row.

    Args:
        batches: Arrow tables or record batches, in row order; how the rows are cut into batches does not matter.
        columns: the columns to read, whose names and order are part of the hash. Values are hashed as text, a missing
            one as nothing.

    Returns:
        64 hexadecimal digits.

    >>> table = pa.table({"premise": ["A man sleeps.", "A dog runs."], "label": [0, 2]})
    >>> content_hash([table], ["premise"]) == content_hash([table[:1], table[1:]], ["premise"])
    True
    """
    digest = hashlib.sha256(_BETWEEN_CELLS.join(columns).encode() + _AFTER_ROW.encode())
    for batch in batches:
        if len(batch) == 0:
            continue
        cells = [batch.column(name).cast(pa.string()) for name in columns]
        rows = pc.binary_join_element_wise(*cells, _BETWEEN_CELLS, null_handling="replace", null_replacement="")
        digest.update((_AFTER_ROW.join(rows.to_pylist()) + _AFTER_ROW).encode())
    return digest.hexdigest()


def text_hash(rows: Iterable[Iterable[str]]) -> str:
    """Return the sha256 of rows of text cells, cell by cell.

    >>> text_hash([("a", "b")]) == text_hash([("ab", "")])
    False
    """
    digest = hashlib.sha256()
    for row in rows:
        digest.update((_BETWEEN_CELLS.join(row) + _AFTER_ROW).encode())
    return digest.hexdigest()
