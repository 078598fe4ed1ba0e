"""What is noted beside a set's rows while they are made, by each process in files of its own, for the part it makes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from unbag.data.sources import Example, Source
from unbag.utils.duplicates import DigestFile, may_repeat
from unbag.utils.files import atomic_write

LABELLED: Final = "labelled"
ANNOTATED: Final = "annotated"
"""How many examples have a label, and how many of these have the labels of each annotator too."""

_IDS: Final = "ids"
_READ: Final = "read"


def keep(folder: Path, kind: str, part: int, counts: Mapping[str, int]) -> None:
    """Keep what was counted of a kind while a part of the rows was made, in the place of what is there."""
    with atomic_write(folder / f"{kind}-{part}.json") as tmp:
        tmp.write_text(json.dumps(dict(sorted(counts.items()))))


def kept(folder: Path, kind: str) -> Counter[str]:
    """Return what was kept of a kind, summed up over all parts."""
    total: Counter[str] = Counter()
    for file in folder.glob(f"{kind}-*.json"):
        total.update(json.loads(file.read_text()))
    return total


def examples(source: Source, start: int, stop: int | None, folder: Path) -> Iterator[Example]:
    """Yield the labelled pairs of a range of rows, and keep how many rows there are, and the digests of their ids."""
    counts: Counter[str] = Counter()
    with DigestFile(_ids(folder, start)) if source.has_ids else nullcontext() as ids:
        for example in source.examples(start, stop, counts=counts, id_callback=None if ids is None else ids.add):
            counts[LABELLED] += 1
            counts[ANNOTATED] += bool(example.annotators)
            yield example
    keep_read(folder, start, counts)


def keep_read(folder: Path, part: int, counts: Mapping[str, int]) -> None:
    """Keep what was counted of the rows that were read: `rows`, those left out by reason, `LABELLED`, `ANNOTATED`."""
    keep(folder, _READ, part, counts)


def read(folder: Path) -> Counter[str]:
    """Return what was counted of the rows that a set was made from."""
    return kept(folder, _READ)


def validate_unique_ids(source: Source, folder: Path) -> None:
    """Refuse a source of which an id comes twice, whichever parts the two are in, once all its examples were read.

    Raises:
        DataError: naming the first that comes again, and where.
    """
    files = [*folder.glob(_ids(folder, "*").name)]
    if may_repeat(files):
        source.count()  # looks at the ids themselves
    for file in files:
        file.unlink()


def _ids(folder: Path, part: object) -> Path:
    return folder / f"{_IDS}-{part}"
