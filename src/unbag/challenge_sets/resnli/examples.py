"""Examples of ReSNLI: the pairs whose words give the label away least."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.answers import Answers
from unbag.columns import numbers
from unbag.views.examples import PER_KIND, Line, Pairs, ReportExample, top

RULE: Final = f"Up to {PER_KIND} examples of each kind, by how little the words give the label away (u')."
MARKS: Final[Mapping[str, str]] = {}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: Answers) -> Iterator[ReportExample]:
    """Yield the hardest pairs, wrong and right."""
    pairs = Pairs(rows, answers)
    uncertainty = numbers(rows, "uncertainty").astype(np.float64)
    for kind, wanted in (("hardest, wrong", ~pairs.right), ("hardest, right", pairs.right)):
        for index in top(np.flatnonzero(wanted), uncertainty):
            row = pairs.row(index)
            lines = [Line(side, row[side]) for side in ("premise", "hypothesis")]
            yield pairs.example(kind, index, lines, f"u' {uncertainty[index]:.3f}, partition {row['partition']}")
