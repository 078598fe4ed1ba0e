"""Selection of permuted examples: permutations that the model accepts or rejects."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    mark_unchanged_sequences,
    round_probability,
    select_top_rows,
)
from unbag.data.columns import read_column, read_numbers
from unbag.data.predictions import SetPredictions
from unbag.scoring.permutation_acceptance import ORIGINAL

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind. Most accepted: right in order, sorted by the share of accepted "
    "permutations, then by the mean probability of the gold label. The accepted permutation with the most confident "
    "prediction is shown. Flipped: wrong in order and accepted in some permutation, with the same sorting. Most "
    "refused: right in order, sorted by the share of refused permutations. The permutation refused with the highest "
    "probability is shown. Words that are still adjacent are marked."
)
MARKS: Final[Mapping[str, str]] = {"together": "words that are still adjacent"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select example pairs. Each is shown with one of its permutations."""
    orders = _Orders(rows, predictions)
    pairs, share = orders.pairs, orders.accepted
    gold = predictions.probabilities[np.arange(len(pairs.gold)), pairs.gold].astype(np.float64)
    confidence = round_probability(orders.mean(gold))
    correct = pairs.right[orders.original_of]
    kinds = (
        ("most accepted", correct & (share > 0), (share, confidence), True),
        ("flipped", ~correct & (share > 0), (share, confidence), True),
        ("most refused", correct & (share < 1), (-share, -confidence), False),
    )
    for kind, wanted, keys, accepted in kinds:
        for source in select_top_rows(np.flatnonzero(wanted), *keys):
            candidates = orders.permutations_of(source)
            candidates = candidates[pairs.right[candidates] == accepted]
            yield orders.example(kind, source, int(candidates[pairs.confidence[candidates].argmax()]))


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs. Each is shown with its first permutation."""
    orders = _Orders(rows, predictions)
    for index in orders.pairs.select_shortest(orders.original_of):
        source = int(orders.source[index])
        yield orders.example("permuted", source, int(orders.permutations_of(source)[0]))


class _Orders:
    """The original pairs, numbered by first occurrence, and the permutations of each."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        self.pairs = PredictedPairs(rows, predictions)
        self.source: NDArray[Any] = pc.dictionary_encode(read_column(rows, "source_id")).indices.to_numpy()
        is_original = read_numbers(rows, "permutation") == ORIGINAL
        originals, self._permuted = np.flatnonzero(is_original), np.flatnonzero(~is_original)
        self.original_of = np.empty(len(originals), dtype=np.int64)
        self.original_of[self.source[originals]] = originals
        self._source_of_permuted = self.source[self._permuted]
        self._q = np.bincount(self._source_of_permuted, minlength=len(originals))
        self.accepted = self.mean(self.pairs.right)

    def mean(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Compute the mean over the permutations of each pair, shape (pairs,)."""
        total = np.bincount(self._source_of_permuted, weights=values[self._permuted], minlength=len(self._q))
        means: NDArray[np.float64] = total / self._q
        return means

    def permutations_of(self, source: int) -> NDArray[np.int64]:
        """Find the row indices of the permutations of a pair."""
        rows: NDArray[np.int64] = self._permuted[self._source_of_permuted == source]
        return rows

    def example(self, kind: str, source: int, index: int) -> ReportExample:
        """Build an example that shows the original pair and one of its permutations."""
        original = int(self.original_of[source])
        first, row = self.pairs.get_row(original), self.pairs.get_row(index)
        lines = [ExampleLine(name, first[name]) for name in ("premise", "hypothesis")]
        for name in ("premise", "hypothesis"):
            if row[name] != first[name]:
                lines.append(
                    ExampleLine(f"{name} permuted", row[name], mark_unchanged_sequences(first[name], row[name]))
                )
        note = f"{round(self.accepted[source] * self._q[source])} of {self._q[source]} permutations accepted"
        before = self.pairs.get_prediction(original, "in order")
        return self.pairs.build_example(kind, index, lines, note, before=before, where="permuted", has_order=False)
