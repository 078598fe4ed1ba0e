"""Examples of the swapped set: answers that change when premise and hypothesis change places."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, rounded_probability, top
from unbag.data.columns import column, numbers
from unbag.data.predictions import SetPredictions

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, by the mean probability of the two answers. Shown is the pair as it was "
    "exchanged, and both answers."
)
MARKS: Final[Mapping[str, str]] = {}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield exchanged pairs whose answer changed for the worse, for the better, and stayed wrong."""
    pairs = Pairs(rows, answers)
    after, before = _exchanged(rows)
    key = np.zeros(len(pairs.right))
    key[after] = rounded_probability((pairs.sure[after] + pairs.sure[before]) / 2)
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    kinds = (
        ("right, then wrong", pairs.right[before] & ~pairs.right[after]),
        ("wrong, then right", ~pairs.right[before] & pairs.right[after]),
        ("wrong both times", ~pairs.right[before] & ~pairs.right[after]),
    )
    for kind, wanted in kinds:
        for index in top(after[wanted], key):
            yield _example(pairs, kind, index, was[index])


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest exchanged pairs."""
    pairs = Pairs(rows, answers)
    after, before = _exchanged(rows)
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    for index in pairs.shortest(after):
        yield _example(pairs, "exchanged", index, was[index])


def _exchanged(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the exchanged rows, and the same pairs as given."""
    names, swapped = column(rows, "source_id").to_pylist(), numbers(rows, "swapped").astype(bool)
    originals = {names[index]: index for index in np.flatnonzero(~swapped).tolist()}
    after = np.flatnonzero(swapped)
    return after, np.array([originals[names[index]] for index in after.tolist()], dtype=np.int64)


def _example(pairs: Pairs, kind: str, index: int, was: int) -> ReportExample:
    row = pairs.row(index)
    lines = [Line(side, row[side]) for side in ("premise", "hypothesis")]
    return pairs.example(kind, index, lines, before=pairs.said(was, "as given"), where="exchanged")
