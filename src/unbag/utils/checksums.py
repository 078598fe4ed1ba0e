"""Checksums of files that unbag writes and reads later: caches, checkpoints and predictions.

A complete folder contains `checksums.json`, with the hash of each of its files. A corrupted file is reported in a
warning, removed, and written again.

    folder/model.safetensors
    folder/checksums.json           {"model.safetensors": "9f5c…", "checksum": "of these"}

XXH3 detects accidental corruption at the speed of reading. It does not protect against attackers, who could also write
the checksums.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import xxhash

from unbag.utils.files import atomic_write

FILE: Final = "checksums.json"
_KEY: Final = "checksum"

logger = logging.getLogger(__name__)


def _compute_file_checksum(path: Path) -> str:
    """Compute the XXH3 hash of a file's bytes, as 32 hexadecimal digits."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def compute_cells_checksum(*cells: str | bytes) -> int:
    """Compute one hash of several text or bytes values and their boundaries, a 63-bit integer for SQLite.

    >>> compute_cells_checksum("a", "bc") == compute_cells_checksum("ab", "c")
    False
    """
    digest = xxhash.xxh3_64()
    for cell in cells:
        kind, content = (b"t", cell.encode("utf-8", "surrogatepass")) if isinstance(cell, str) else (b"b", cell)
        digest.update(kind + len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.intdigest() >> 1  # SQLite's integers are signed


def write_folder_checksums(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write the checksums of a folder's files to mark the folder as complete.

    `names` are paths relative to the folder (default: all files, including those in subfolders).
    """
    if names is None:
        names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    sums = {name: _compute_file_checksum(folder / name) for name in sorted(names) if name != FILE}
    with atomic_write(folder / FILE) as tmp:
        tmp.write_text(json.dumps({**sums, _KEY: _compute_record_checksum(sums)}, indent=1) + "\n", encoding="utf-8")


def has_checksums(folder: Path) -> bool:
    """Check whether a folder has a file with checksums."""
    return (folder / FILE).is_file()


def find_corruption(folder: Path) -> str | None:
    """Describe the first corrupted, missing or unreadable file of a folder with checksums. None if all are intact."""
    try:
        sums = _read_checksums(folder / FILE)
        if sums is None:
            return f"{folder / FILE} is corrupted: its checksum does not match"
        for name, expected in sums.items():
            path = folder / name
            if path.exists() and not path.is_file():  # reading a named pipe would block forever
                return f"{path} is corrupted: it is not a file"
            if _compute_file_checksum(path) != expected:
                return f"{path} is corrupted: its checksum does not match"
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except OSError as error:
        return f"{error.filename or folder} cannot be read ({error.strerror})"
    return None


def remove_damaged(path: Path, reason: str) -> None:
    """Remove a corrupted file or folder, and log a warning with the reason, a sentence without a full stop."""
    logger.warning("%s; building it again", reason)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # another process may remove it at the same time
    else:
        path.unlink(missing_ok=True)


def _read_checksums(path: Path) -> dict[str, str] | None:
    """Read the checksums of a folder. Return None if the file is corrupted."""
    try:
        sums: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        return sums if sums.pop(_KEY, None) == _compute_record_checksum(sums) else None
    except (ValueError, RecursionError, AttributeError, TypeError):  # no JSON object
        return None


def _compute_record_checksum(sums: Mapping[str, str]) -> str:
    return xxhash.xxh3_128(json.dumps(sums, sort_keys=True).encode()).hexdigest()
