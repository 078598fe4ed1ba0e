"""Checksums of the files that we write and believe later: caches, checkpoints, answers.

A folder is sealed when all is in it: `checksums.json` has the hash of each of its files. What no longer is what was
written is named, set aside under another name, and made anew by whoever wrote it.

    folder/model.safetensors
    folder/checksums.json           {"model.safetensors": "9f5c…", "checksum": "of these"}
    folder.damaged/                 what was set aside, the latest only

XXH3 notices every accident of a disk at the speed of reading. It is no defence against a person who means harm: who may
write to the user's caches may write the checksums too.
"""

import json
import logging
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import xxhash

from unbag.utils.files import atomic_write

FILE: Final = "checksums.json"
_KEY: Final = "checksum"
_DAMAGED: Final = ".damaged"
_CHUNK: Final = 1 << 20

logger = logging.getLogger(__name__)


def of_file(path: Path) -> str:
    """Return the XXH3 hash of a file's bytes, 32 hexadecimal digits."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def of_cells(*cells: str | bytes) -> int:
    """Return a hash of some texts or bytes, each for itself, as a number that SQLite can hold.

    >>> of_cells("a", "bc") == of_cells("ab", "c")
    False
    """
    digest = xxhash.xxh3_64()
    for cell in cells:
        kind, content = (b"t", cell.encode("utf-8", "surrogatepass")) if isinstance(cell, str) else (b"b", cell)
        digest.update(kind + len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.intdigest() >> 1


def seal(folder: Path, names: Iterable[str] | None = None) -> None:
    """Write the checksums of a folder's files, which are all written by now; a folder with them is complete.

    Args:
        folder: the folder.
        names: which of its files, where others are not ours; all of them by default, in folders below too.
    """
    if names is None:
        names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    sums = {name: of_file(folder / name) for name in sorted(names) if name != FILE}
    with atomic_write(folder / FILE) as tmp:
        tmp.write_text(json.dumps(signed(sums), indent=1) + "\n", encoding="utf-8")


def is_sealed(folder: Path) -> bool:
    """Tell whether a folder has checksums."""
    return (folder / FILE).is_file()


def damage(folder: Path) -> str | None:
    """Return what is wrong with a sealed folder, naming the file; None if all is as it was written."""
    try:
        sums = verified(folder / FILE)
        if sums is None:
            return f"{folder / FILE} is damaged: it is not what was written there"
        for name, expected in sums.items():
            path = folder / name
            if path.exists() and not path.is_file():  # a named pipe would be waited for
                return f"{path} is damaged: it is no file"
            if of_file(path) != expected:
                return f"{path} is damaged: it is not what was written there"
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except OSError as error:
        return f"{error.filename or folder} cannot be read ({error.strerror})"
    return None


def set_aside(path: Path, why: str) -> None:
    """Give a damaged file or folder another name, and say so; what was set aside before under that name goes."""
    aside = path.with_name(path.name + _DAMAGED)
    if aside.is_dir():
        shutil.rmtree(aside, ignore_errors=True)
    try:
        path.rename(aside)
    except FileNotFoundError:  # another process was faster
        return
    logger.warning("%s; set aside as %s and made anew", why, aside.name)


def is_set_aside(path: Path) -> bool:
    """Tell whether a file or folder is one that was set aside."""
    return path.name.endswith(_DAMAGED)


def signed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its checksum, to be written as JSON."""
    return {**record, _KEY: _of_record(record)}


def verified(path: Path) -> dict[str, Any] | None:
    """Return the record in a JSON file that `signed` made, without the checksum; None where it is not what was written.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        checksum = record.pop(_KEY)
    except FileNotFoundError:
        raise
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return record if checksum == _of_record(record) else None


def _of_record(record: Mapping[str, Any]) -> str:
    # Through JSON and back, or a tuple and a list of the same would differ.
    plain = json.loads(json.dumps(record))
    return xxhash.xxh3_128(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
