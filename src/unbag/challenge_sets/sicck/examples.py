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
    back = {names[index]: index for index in np.flatnonzero(reverse).tolist()}
    forth = np.array([index for index in np.flatnonzero(~reverse).tolist() if gold[index] is not None], dtype=np.int64)
    predicted = pairs.names
    four_way_answers = np.full(len(gold), "", dtype=object)
    four_way_answers[forth] = four_way(predicted[forth], predicted[[back[names[index]] for index in forth.tolist()]])
    two = NOT_ENTAILMENT in answers.label_space
    folded = {CONTRADICTION: NOT_ENTAILMENT, NEUTRAL: NOT_ENTAILMENT} if two else {}
    true = np.array([folded.get(str(label), str(label)) for label in gold], dtype=object)
    right = four_way_answers[forth] == true[forth]
    modifiers = column(rows, "modifier").to_pylist()
    for kind, wanted in (("surest wrong", ~right), ("surest right", right)):
        for index in top(forth[wanted], pairs.sure, per_group=_OF_A_MODIFIER, groups=modifiers):
            row = pairs.row(index)
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
            yield pairs.example(kind, index, lines, about, (str(true[index]), str(four_way_answers[index])))
