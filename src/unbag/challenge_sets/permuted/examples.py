"""Examples of the permuted set: orders that the model accepts as if nothing had happened."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from unbag.challenge_sets.views.examples import (
    PER_KIND,
    Line,
    Pairs,
    ReportExample,
    kept_together,
    rounded_probability,
    top,
)
from unbag.data.columns import column, numbers
from unbag.data.predictions import SetPredictions
from unbag.scoring.permutation_acceptance import ORIGINAL

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind. Most accepted: right in order, by the share of orders accepted, then by "
    "the mean probability of the gold label; shown is the accepted order with the highest. Flipped: wrong in order, "
    "accepted in some other, likewise. Most refused: right in order, by the share of orders refused; shown is the "
    "order refused with the highest probability. Marked are words that still stand beside each other."
)
MARKS: Final[Mapping[str, str]] = {"together": "words still side by side"}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield examples, each with one of its orders."""
    orders = _Orders(rows, answers)
    pairs, share = orders.pairs, orders.accepted
    gold = answers.probabilities[np.arange(len(pairs.gold)), pairs.gold].astype(np.float64)
    sure = rounded_probability(orders.mean(gold))
    correct = pairs.right[orders.original_of]
    kinds = (
        ("most accepted", correct & (share > 0), (share, sure), True),
        ("flipped", ~correct & (share > 0), (share, sure), True),
        ("most refused", correct & (share < 1), (-share, -sure), False),
    )
    for kind, wanted, keys, accepted in kinds:
        for source in top(np.flatnonzero(wanted), *keys):
            candidates = orders.of(source)
            candidates = candidates[pairs.right[candidates] == accepted]
            yield orders.example(kind, source, int(candidates[pairs.sure[candidates].argmax()]))


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest pairs, each in the first of its orders."""
    orders = _Orders(rows, answers)
    for index in orders.pairs.shortest(orders.original_of):
        source = int(orders.source[index])
        yield orders.example("in no order", source, int(orders.of(source)[0]))


class _Orders:
    """The pairs in order, by number, and the orders of each."""

    def __init__(self, rows: Any, answers: SetPredictions) -> None:
        self.pairs = Pairs(rows, answers)
        self.source: NDArray[Any] = pc.dictionary_encode(column(rows, "source_id")).indices.to_numpy()
        is_original = numbers(rows, "permutation") == ORIGINAL
        originals, self._permuted = np.flatnonzero(is_original), np.flatnonzero(~is_original)
        self.original_of = np.empty(len(originals), dtype=np.int64)
        self.original_of[self.source[originals]] = originals
        self._source_of_permuted = self.source[self._permuted]
        self._q = np.bincount(self._source_of_permuted, minlength=len(originals))
        self.accepted = self.mean(self.pairs.right)

    def mean(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean of a value over the orders of each pair, shape (pairs,)."""
        total = np.bincount(self._source_of_permuted, weights=values[self._permuted], minlength=len(self._q))
        means: NDArray[np.float64] = total / self._q
        return means

    def of(self, source: int) -> NDArray[np.int64]:
        """Return the rows of a pair's orders."""
        rows: NDArray[np.int64] = self._permuted[self._source_of_permuted == source]
        return rows

    def example(self, kind: str, source: int, index: int) -> ReportExample:
        """Return a pair in one of its orders, below the pair in order."""
        original = int(self.original_of[source])
        first, row = self.pairs.row(original), self.pairs.row(index)
        lines = [Line(name, first[name]) for name in ("premise", "hypothesis")]
        for name in ("premise", "hypothesis"):
            if row[name] != first[name]:
                lines.append(Line(f"{name} permuted", row[name], kept_together(first[name], row[name])))
        note = f"{round(self.accepted[source] * self._q[source])} of {self._q[source]} orders accepted"
        before = self.pairs.said(original, "in order")
        return self.pairs.example(kind, index, lines, note, before=before, where="permuted", has_order=False)
