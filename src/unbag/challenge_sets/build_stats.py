"""Counts stored with the rows during a build. Each process writes separate files, one per range of rows."""

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import xxhash

from unbag.data.sources import Example, PairSource
from unbag.utils.files import atomic_write

READ: Final = "read"
"""Type of the numbers of rows that were read, excluded for each reason, labelled and annotated."""
LABELLED: Final = "labelled"
ANNOTATED: Final = "annotated"
"""Keys of the number of labelled examples, and of the labelled examples that also have each annotator's label."""

_IDS: Final = "ids"


def save_range_counts(folder: Path, count_type: str, range_id: int, counts: Mapping[str, int]) -> None:
    """Store named counts for one range of source rows. Earlier counts of this type and range are overwritten."""
    # One file per range: processes never write to the same file, so that no lock is needed.
    with atomic_write(folder / f"{count_type}-{range_id}.json") as tmp:
        tmp.write_text(json.dumps(dict(sorted(counts.items()))))


def load_total_counts(folder: Path, count_type: str) -> Counter[str]:
    """Load the stored counts of one type, summed over all ranges of source rows."""
    total: Counter[str] = Counter()
    for file in folder.glob(f"{count_type}-*.json"):
        total.update(json.loads(file.read_text()))
    return total


def iter_and_count_examples(source: PairSource, start: int, stop: int | None, folder: Path) -> Iterator[Example]:
    """Iterate over the labelled pairs of a range of rows. Stores row counts and digests of the ids in `folder`."""
    counts: Counter[str] = Counter()
    digests = array("Q")  # eight bytes per id
    for example in source.iter_examples(start, stop, counts=counts, check_ids=False):
        if source.has_ids:
            digests.append(xxhash.xxh3_64_intdigest(example.source_id.encode()))
        counts[LABELLED] += 1
        counts[ANNOTATED] += bool(example.annotators)
        yield example
    save_range_counts(folder, READ, start, counts)
    (folder / f"{_IDS}-{start}").write_bytes(digests.tobytes())


def validate_unique_ids(source: PairSource, folder: Path) -> None:
    """Validate that no id occurs twice in a source, even in different ranges of rows. All examples must have been read.

    The error contains the first id that occurs twice and its location.
    """
    files = [*folder.glob(f"{_IDS}-*")]
    digests = np.concatenate([np.empty(0, np.uint64), *(np.fromfile(file, np.uint64) for file in files)])
    if len(np.unique(digests)) < len(digests):
        # Equal digests may be a collision; `count_rows` compares the ids themselves and raises.
        source.count_rows()
    for file in files:
        file.unlink()
