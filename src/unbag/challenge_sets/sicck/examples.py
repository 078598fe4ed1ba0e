"""Examples of SICCK: the modifier, and the four-way answer to it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.answers import Answers
from unbag.columns import column, numbers
from unbag.labels import CONTRADICTION, NEUTRAL, NOT_ENTAILMENT
from unbag.scoring.natural_logic import four_way
from unbag.views.examples import PER_KIND, Line, Pairs, ReportExample, top
from unbag.views.marks import marked

_OF_A_MODIFIER: Final = 2
RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, {_OF_A_MODIFIER} with the same modifier at most, by the probability of the "
    "three-way answer that the four-way one is read from. Marked is the modifier."
)
MARKS: Final[Mapping[str, str]] = {"modifier": "the modifier"}
"""What marked words are, by the kind of mark."""
_NONE: Final = "none"


def choose(rows: Any, answers: Answers) -> Iterator[ReportExample]:
    """Yield the surest wrong and the surest right answers, as the reverse rule reads them."""
    pairs = Pairs(rows, answers)
    reverse = numbers(rows, "reverse").astype(bool)
    names, gold = column(rows, "pair").to_pylist(), column(rows, "four_way").to_pylist()
    back = {names[place]: place for place in np.flatnonzero(reverse).tolist()}
    forth = np.array([place for place in np.flatnonzero(~reverse).tolist() if gold[place] is not None], dtype=np.int64)
    predicted = pairs.names
    said = np.full(len(gold), "", dtype=object)
    said[forth] = four_way(predicted[forth], predicted[[back[names[place]] for place in forth.tolist()]])
    two = NOT_ENTAILMENT in answers.label_space
    folded = {CONTRADICTION: NOT_ENTAILMENT, NEUTRAL: NOT_ENTAILMENT} if two else {}
    true = np.array([folded.get(str(label), str(label)) for label in gold], dtype=object)
    right = said[forth] == true[forth]
    modifiers = column(rows, "modifier").to_pylist()
    for kind, wanted in (("surest wrong", ~right), ("surest right", right)):
        for place in top(forth[wanted], pairs.sure, per_group=_OF_A_MODIFIER, groups=modifiers):
            row = pairs.row(place)
            phrase = None if row["modifier"] == _NONE else row["modifier"]
            lines = [
                Line(
                    side,
                    row[side],
                    marked(row[side], [phrase] if row["position"] in (side, "both") else [], "modifier"),
                )
                for side in ("premise", "hypothesis")
            ]
            about = ", ".join(filter(None, (row["modifier"], row["part"], f"annotated {row['relation']}")))
            yield pairs.example(kind, place, lines, about, (str(true[place]), str(said[place])))
