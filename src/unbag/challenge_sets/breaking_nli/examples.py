"""Examples of Breaking NLI: the replaced word, and what the model makes of it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, marked, top
from unbag.data.columns import column
from unbag.data.predictions import SetPredictions

_OF_A_CATEGORY: Final = 2
RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, {_OF_A_CATEGORY} of a category at most, by the probability of the answer. "
    "Marked are the words that were replaced."
)
MARKS: Final[Mapping[str, str]] = {"replaced": "what was replaced"}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the surest wrong and the surest right answers."""
    pairs = Pairs(rows, answers)
    categories = column(rows, "category").to_pylist()
    for kind, wanted in (("surest wrong", ~pairs.right), ("surest right", pairs.right)):
        for index in top(np.flatnonzero(wanted), pairs.sure, per_group=_OF_A_CATEGORY, groups=categories):
            yield _example(pairs, kind, index)


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest pairs."""
    pairs = Pairs(rows, answers)
    for index in pairs.shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "one word replaced", index)


def _example(pairs: Pairs, kind: str, index: int) -> ReportExample:
    row = pairs.row(index)
    words = {"premise": row["replaced"], "hypothesis": row["replacement"]}
    lines = [Line(side, row[side], marked(row[side], [word], "replaced")) for side, word in words.items()]
    return pairs.example(kind, index, lines, f"category {row['category']}")
