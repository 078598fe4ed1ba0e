"""Examples of the swapped set: answers that change when premise and hypothesis change places."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.answers import Answers
from unbag.columns import column, numbers
from unbag.views.examples import PER_KIND, Line, Pairs, ReportExample, top

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, by the mean probability of the two answers. Shown is the pair as it was "
    "exchanged, and the answer to it."
)
MARKS: Final[Mapping[str, str]] = {}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: Answers) -> Iterator[ReportExample]:
    """Yield exchanged pairs whose answer changed for the worse, for the better, and stayed wrong."""
    pairs = Pairs(rows, answers)
    names, swapped = column(rows, "source_id").to_pylist(), numbers(rows, "swapped").astype(bool)
    originals = {names[index]: index for index in np.flatnonzero(~swapped).tolist()}
    after = np.flatnonzero(swapped)
    before = np.array([originals[names[index]] for index in after.tolist()], dtype=np.int64)
    key = np.zeros(len(pairs.right))
    key[after] = (pairs.sure[after] + pairs.sure[before]) / 2
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    kinds = (
        ("right, then wrong", pairs.right[before] & ~pairs.right[after]),
        ("wrong, then right", ~pairs.right[before] & pairs.right[after]),
        ("wrong both times", ~pairs.right[before] & ~pairs.right[after]),
    )
    for kind, wanted in kinds:
        for index in top(after[wanted], key):
            row = pairs.row(index)
            lines = [Line(side, row[side]) for side in ("premise", "hypothesis")]
            yield pairs.example(kind, index, lines, f"before they changed places: {pairs.names[was[index]]}")
