"""Examples of a corpus itself: the surest mistakes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.answers import Answers
from unbag.views.examples import PER_KIND, Line, Pairs, ReportExample, top

RULE: Final = f"Up to {PER_KIND} mistakes for each gold label, by the probability of the answer."
MARKS: Final[Mapping[str, str]] = {}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: Answers) -> Iterator[ReportExample]:
    """Yield the surest wrong answers by gold label."""
    pairs = Pairs(rows, answers)
    for number, label in enumerate(answers.label_space):
        for index in top(np.flatnonzero(~pairs.right & (pairs.gold == number)), pairs.sure):
            row = pairs.row(index)
            lines = [Line(side, row[side]) for side in ("premise", "hypothesis")]
            yield pairs.example(f"surest wrong, {label}", index, lines)
