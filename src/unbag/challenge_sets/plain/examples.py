"""Examples of a corpus itself: the surest mistakes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, top
from unbag.data.predictions import SetPredictions

RULE: Final = f"Up to {PER_KIND} mistakes for each gold label, by the probability of the answer."
MARKS: Final[Mapping[str, str]] = {}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the surest wrong answers by gold label."""
    pairs = Pairs(rows, answers)
    for number, label in enumerate(answers.label_space):
        for index in top(np.flatnonzero(~pairs.right & (pairs.gold == number)), pairs.sure):
            yield _example(pairs, f"surest wrong, {label}", index)


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest pairs."""
    pairs = Pairs(rows, answers)
    for index in pairs.shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "as it is", index)


def _example(pairs: Pairs, kind: str, index: int) -> ReportExample:
    row = pairs.row(index)
    return pairs.example(kind, index, [Line(side, row[side]) for side in ("premise", "hypothesis")])
