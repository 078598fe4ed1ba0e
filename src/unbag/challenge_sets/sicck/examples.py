"""Selection of SICCK examples: the modifier and the four-way prediction."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.sicck.scores import map_gold_label
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    mark_phrases,
    select_top_rows,
)
from unbag.data.columns import read_column, read_numbers
from unbag.data.predictions import SetPredictions
from unbag.scoring.natural_logic import apply_reverse_rule

_PER_MODIFIER: Final = 2
RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, at most {_PER_MODIFIER} per modifier, sorted by the probability of the "
    "three-way prediction that determines the four-way one. The modifier is marked."
)
MARKS: Final[Mapping[str, str]] = {"modifier": "the modifier"}
"""Meaning of marked words, by the kind of mark."""
_NONE: Final = "none"


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong and right four-way predictions. The reverse rule gives the four-way labels."""
    both_ways = _BothWays(rows, predictions)
    forth, modifiers = both_ways.forth, read_column(rows, "modifier").to_pylist()
    right = both_ways.predictions[forth] == both_ways.gold[forth]
    for kind, wanted in (("most confident wrong", ~right), ("most confident right", right)):
        for index in select_top_rows(
            forth[wanted], both_ways.pairs.confidence, per_group=_PER_MODIFIER, groups=modifiers
        ):
            yield both_ways.example(kind, index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs that have a four-way label."""
    both_ways = _BothWays(rows, predictions)
    for index in both_ways.pairs.select_shortest(both_ways.forth):
        yield both_ways.example("modified", index)


class _BothWays:
    """The pairs with a four-way label, and the four-way predictions derived from both orders of each pair."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        self.pairs = PredictedPairs(rows, predictions)
        reverse = read_numbers(rows, "reverse").astype(bool)
        names, gold = read_column(rows, "pair").to_pylist(), read_column(rows, "four_way").to_pylist()
        back = {names[index]: index for index in np.flatnonzero(reverse).tolist()}
        labelled = [index for index in np.flatnonzero(~reverse).tolist() if gold[index] is not None]
        self.forth = np.array(labelled, dtype=np.int64)
        self._back = {index: back[names[index]] for index in labelled}
        predicted = self.pairs.names
        self.predictions = np.full(len(gold), "", dtype=object)
        self.predictions[self.forth] = apply_reverse_rule(predicted[self.forth], predicted[list(self._back.values())])
        self.gold = np.array([map_gold_label(str(label), predictions) for label in gold], dtype=object)

    def example(self, kind: str, index: int) -> ReportExample:
        """Build an example with the four-way prediction and the two three-way predictions it is derived from."""
        row = self.pairs.get_row(index)
        phrase = None if row["modifier"] == _NONE else row["modifier"]
        lines = [
            ExampleLine(
                side,
                row[side],
                mark_phrases(row[side], [phrase] if row["position"] in (side, "both") else [], "modifier"),
            )
            for side in ("premise", "hypothesis")
        ]
        predicted = f"predicted {self.pairs.names[index]}, reversed {self.pairs.names[self._back[index]]}"
        note = ", ".join(filter(None, (row["modifier"], row["part"], f"annotated {row['relation']}", predicted)))
        return self.pairs.build_example(kind, index, lines, note, (str(self.gold[index]), str(self.predictions[index])))
