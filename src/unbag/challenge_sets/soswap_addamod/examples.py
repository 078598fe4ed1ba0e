"""Examples of SOSwap and AddAmod: the same words, and what moved."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.soswap_addamod import KINDS
from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, marked, top
from unbag.data.columns import column
from unbag.data.predictions import SetPredictions

RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, by the probability of the answer. Marked are the phrases that changed "
    "places, or the adjective and the noun it was put to."
)
MARKS: Final[Mapping[str, str]] = {"moved": "what moved"}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the surest wrong answers and the surest right ones, of either kind of pair."""
    pairs = Pairs(rows, answers)
    kinds = np.array(column(rows, "kind").to_pylist(), dtype=np.str_)
    for name, words in KINDS.items():
        for outcome, wanted in (("wrong", ~pairs.right), ("right", pairs.right)):
            for index in top(np.flatnonzero(wanted & (kinds == name)), pairs.sure):
                yield _example(pairs, f"{words}, surest {outcome}", index)


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest pairs."""
    pairs = Pairs(rows, answers)
    for index in pairs.shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, KINDS[pairs.row(index)["kind"]], index)


def _example(pairs: Pairs, kind: str, index: int) -> ReportExample:
    row = pairs.row(index)
    sides = ("premise", "hypothesis")
    return pairs.example(
        kind, index, [Line(side, row[side], marked(row[side], _moved(row, side), "moved")) for side in sides]
    )


def _moved(row: dict[str, Any], side: str) -> list[str | None]:
    return [row["subject"], row["object"], row["adjective"], row[f"{side}_noun"]]
