"""Examples of Breaking NLI: the replaced word, and what the model makes of it."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from unbag.columns import column
from unbag.measures import Answers
from unbag.report.examples import PER_KIND, Line, Pairs, Shown, top
from unbag.report.examples.marks import marked

_OF_A_CATEGORY: Final = 2
RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, {_OF_A_CATEGORY} of a category at most, by the probability of the answer. "
    "Marked are the words that were replaced."
)


def choose(rows: Any, answers: Answers) -> Iterator[Shown]:
    """Yield the surest wrong and the surest right answers."""
    pairs = Pairs(rows, answers)
    categories = column(rows, "category").to_pylist()
    for kind, wanted in (("surest wrong", ~pairs.right), ("surest right", pairs.right)):
        for place in top(np.flatnonzero(wanted), pairs.sure, per_group=_OF_A_CATEGORY, groups=categories):
            row = pairs.row(place)
            words = {"premise": row["replaced"], "hypothesis": row["replacement"]}
            lines = [Line(side, row[side], marked(row[side], [word], "replaced")) for side, word in words.items()]
            yield pairs.shown(kind, place, lines, f"category {row['category']}")
