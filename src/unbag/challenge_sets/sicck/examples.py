"""Examples of SICCK: the modifier, and the four-way answer to it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.sicck.scores import gold_of
from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, marked, top
from unbag.data.columns import column, numbers
from unbag.data.predictions import SetPredictions
from unbag.scoring.natural_logic import four_way

_OF_A_MODIFIER: Final = 2
RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, {_OF_A_MODIFIER} with the same modifier at most, by the probability of the "
    "three-way answer that the four-way one is read from. Marked is the modifier."
)
MARKS: Final[Mapping[str, str]] = {"modifier": "the modifier"}
"""What marked words are, by the kind of mark."""
_NONE: Final = "none"


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the surest wrong and the surest right answers, as the reverse rule reads them."""
    both_ways = _BothWays(rows, answers)
    forth, modifiers = both_ways.forth, column(rows, "modifier").to_pylist()
    right = both_ways.answers[forth] == both_ways.gold[forth]
    for kind, wanted in (("surest wrong", ~right), ("surest right", right)):
        for index in top(forth[wanted], both_ways.pairs.sure, per_group=_OF_A_MODIFIER, groups=modifiers):
            yield both_ways.example(kind, index)


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest pairs with a four-way label."""
    both_ways = _BothWays(rows, answers)
    for index in both_ways.pairs.shortest(both_ways.forth):
        yield both_ways.example("modified", index)


class _BothWays:
    """The pairs with a four-way label, and what the answers to them and to their reverse come to."""

    def __init__(self, rows: Any, answers: SetPredictions) -> None:
        self.pairs = Pairs(rows, answers)
        reverse = numbers(rows, "reverse").astype(bool)
        names, gold = column(rows, "pair").to_pylist(), column(rows, "four_way").to_pylist()
        back = {names[index]: index for index in np.flatnonzero(reverse).tolist()}
        labelled = [index for index in np.flatnonzero(~reverse).tolist() if gold[index] is not None]
        self.forth = np.array(labelled, dtype=np.int64)
        self._back = {index: back[names[index]] for index in labelled}
        predicted = self.pairs.names
        self.answers = np.full(len(gold), "", dtype=object)
        self.answers[self.forth] = four_way(predicted[self.forth], predicted[list(self._back.values())])
        self.gold = np.array([gold_of(str(label), answers) for label in gold], dtype=object)

    def example(self, kind: str, index: int) -> ReportExample:
        """Return a pair with its four-way answer, and the two that it is read from."""
        row = self.pairs.row(index)
        phrase = None if row["modifier"] == _NONE else row["modifier"]
        lines = [
            Line(side, row[side], marked(row[side], [phrase] if row["position"] in (side, "both") else [], "modifier"))
            for side in ("premise", "hypothesis")
        ]
        said = f"said {self.pairs.names[index]}, of the reverse {self.pairs.names[self._back[index]]}"
        about = ", ".join(filter(None, (row["modifier"], row["part"], f"annotated {row['relation']}", said)))
        return self.pairs.example(kind, index, lines, about, (str(self.gold[index]), str(self.answers[index])))
