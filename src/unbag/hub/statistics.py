"""What the rows of a split are like, counted while they are written: labels, unique pairs, lengths."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from unbag.data.labels import LABELS

SIDES: Final = ("premise", "hypothesis")
_UNSPACED: Final = ("zh",)  # whose words stand without spaces


class Statistics:
    """Counts the rows of a split, table by table, in memory for a number a row.

    Args:
        names: of the labels, by their ids.
        language: of the sentences; lengths are in words between spaces, or in characters where there are no spaces.
    """

    def __init__(self, names: Sequence[str], language: str) -> None:
        self._names = names
        self._unit = "characters" if language in _UNSPACED else "words"
        self._labels: Counter[str] = Counter()
        self._sources: set[str] = set()
        self._pairs: list[NDArray[np.uint64]] = []
        self._lengths: dict[str, Counter[int]] = {side: Counter() for side in SIDES}

    def add(self, table: pa.Table) -> None:
        """Count some more rows."""
        for value, n in _counted(table.column("label")):
            self._labels[self._names[value]] += n
        self._sources.update(pc.unique(table.column("source_id")).to_pylist())
        sides = [table.column(side) for side in SIDES]
        pairs = zip(*(side.to_pylist() for side in sides), strict=True)
        hashes = (_hash(f"{len(premise)}:{premise}{hypothesis}") for premise, hypothesis in pairs)
        self._pairs.append(np.fromiter(hashes, dtype=np.uint64, count=len(table)))
        for side, column in zip(SIDES, sides, strict=True):
            for length, n in _counted(self._length(column)):
                self._lengths[side][length] += n

    def record(self) -> dict[str, Any]:
        """Return `rows`, `examples` (sources), `labels`, `unique_pairs`, and `lengths`: least, mean and most a side.

        Pairs are told apart by hashes of 64 bits: of ten million any two are alike with a chance below 1 in 300,000.
        """
        pairs = np.concatenate([np.empty(0, dtype=np.uint64), *self._pairs])
        return {
            "rows": len(pairs),
            "examples": len(self._sources),
            "labels": {label: self._labels[label] for label in LABELS},
            "unique_pairs": len(np.unique(pairs)),
            "lengths": {"unit": self._unit} | {side: _summary(counts) for side, counts in self._lengths.items()},
        }

    def _length(self, texts: Any) -> Any:
        if self._unit == "characters":
            return pc.utf8_length(texts)
        return pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(texts)))


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def _counted(column: Any) -> list[tuple[int, int]]:
    return [(entry["values"], entry["counts"]) for entry in pc.value_counts(column).to_pylist()]


def _summary(counts: Counter[int]) -> list[float]:
    """Return the least, the mean to one digit, and the most; zeros of no rows.

    >>> _summary(Counter({3: 2, 10: 1}))
    [3, 5.3, 10]
    """
    n = sum(counts.values())
    mean = round(sum(length * each for length, each in counts.items()) / n, 1) if n else 0.0
    return [min(counts, default=0), mean, max(counts, default=0)]
