"""Examples of the permuted set: orders that the model accepts as if nothing had happened."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from unbag.answers import Answers
from unbag.columns import column, numbers
from unbag.scoring.permutation_acceptance import ORIGINAL
from unbag.views.examples import PER_KIND, Line, Pairs, ReportExample, top
from unbag.views.marks import kept_together

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind. Most accepted: right in order, by the share of orders accepted, then by "
    "the mean probability of the gold label; shown is the accepted order with the highest. Flipped: wrong in order, "
    "right in some other, likewise. Most refused: right in order, by the share of orders refused; shown is the order "
    "refused with the highest probability. Marked are words that still stand beside each other."
)
MARKS: Final[Mapping[str, str]] = {"together": "words still side by side"}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: Answers) -> Iterator[ReportExample]:
    """Yield examples, each with one of its orders."""
    pairs = Pairs(rows, answers)
    source: NDArray[Any] = pc.dictionary_encode(column(rows, "source_id")).indices.to_numpy()
    is_original = numbers(rows, "permutation") == ORIGINAL
    original_rows, permuted = np.flatnonzero(is_original), np.flatnonzero(~is_original)
    original_of = np.empty(len(original_rows), dtype=np.int64)
    original_of[source[original_rows]] = original_rows
    gold = answers.probabilities[np.arange(len(pairs.gold)), pairs.gold].astype(np.float64)

    def mean(values: NDArray[Any]) -> NDArray[np.float64]:
        total = np.bincount(source[permuted], weights=values[permuted], minlength=len(original_rows))
        means: NDArray[np.float64] = total / np.bincount(source[permuted], minlength=len(original_rows))
        return means

    share, sure = mean(pairs.right), mean(gold)
    correct = pairs.right[original_of]
    kinds = (
        ("most accepted", correct & (share > 0), share + sure / 1_000, True),
        ("flipped to right", ~correct & (share > 0), share + sure / 1_000, True),
        ("most refused", correct & (share < 1), -share - sure / 1_000, False),
    )
    for kind, wanted, key, accepted in kinds:
        for example in top(np.flatnonzero(wanted), key):
            candidates = permuted[(source[permuted] == example) & (pairs.right[permuted] == accepted)]
            index = int(candidates[pairs.sure[candidates].argmax()])
            first, row = pairs.row(int(original_of[example])), pairs.row(index)
            lines = [Line(name, first[name]) for name in ("premise", "hypothesis")]
            for name in ("premise", "hypothesis"):
                if row[name] != first[name]:
                    lines.append(Line(f"{name} permuted", row[name], kept_together(first[name], row[name])))
            orders = int((source[permuted] == example).sum())
            note = f"{round(share[example] * orders)} of {orders} orders accepted"
            yield pairs.example(kind, index, lines, note)
