"""Counts stored beside a set's rows during a build. Each process writes its own files, one per span of rows."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from unbag.data.sources import Example, PairSource
from unbag.utils.duplicates import DigestFile, has_possible_duplicates
from unbag.utils.files import atomic_write

LABELLED: Final = "labelled"
ANNOTATED: Final = "annotated"
"""Keys of the number of labelled examples, and of the labelled examples that also have each annotator's label."""

_IDS: Final = "ids"
_READ: Final = "read"


def save_counts(folder: Path, kind: str, span: int, counts: Mapping[str, int]) -> None:
    """Store the counts of one kind for one span of rows. Overwrites earlier counts of the same span."""
    # One file per span: processes never write to the same file, so that no lock is needed.
    with atomic_write(folder / f"{kind}-{span}.json") as tmp:
        tmp.write_text(json.dumps(dict(sorted(counts.items()))))


def load_counts(folder: Path, kind: str) -> Counter[str]:
    """Load the counts of one kind, summed over all spans."""
    total: Counter[str] = Counter()
    for file in folder.glob(f"{kind}-*.json"):
        total.update(json.loads(file.read_text()))
    return total


def iter_examples(source: PairSource, start: int, stop: int | None, folder: Path) -> Iterator[Example]:
    """Iterate over the labelled pairs of a span of rows, and store the row counts and the digests of the ids."""
    counts: Counter[str] = Counter()
    with DigestFile(_ids(folder, start)) if source.has_ids else nullcontext() as ids:
        for example in source.iter_examples(start, stop, counts=counts, id_callback=None if ids is None else ids.add):
            counts[LABELLED] += 1
            counts[ANNOTATED] += bool(example.annotators)
            yield example
    save_read_counts(folder, start, counts)


def save_read_counts(folder: Path, span: int, counts: Mapping[str, int]) -> None:
    """Store the counts of the rows read: `rows`, excluded rows by reason, `LABELLED`, `ANNOTATED`."""
    save_counts(folder, _READ, span, counts)


def load_read_counts(folder: Path) -> Counter[str]:
    """Load the counts of the rows that a set was built from."""
    return load_counts(folder, _READ)


def validate_unique_ids(source: PairSource, folder: Path) -> None:
    """Validate that no id occurs twice in a source, also across spans. Call this after all examples were read.

    Raises:
        DataError: If an id occurs twice. The message names the first such id and its place.
    """
    files = [*folder.glob(_ids(folder, "*").name)]
    if has_possible_duplicates(files):
        # Equal digests may be a collision; `count_rows` compares the ids themselves and raises.
        source.count_rows()
    for file in files:
        file.unlink()


def _ids(folder: Path, span: object) -> Path:
    return folder / f"{_IDS}-{span}"
