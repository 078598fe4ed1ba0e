"""Selection of examples of an unchanged corpus: the most confident mistakes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, top_rows
from unbag.data.predictions import SetPredictions

RULE: Final = f"Up to {PER_KIND} mistakes per gold label, sorted by the probability of the prediction."
MARKS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the most confident wrong predictions by gold label."""
    pairs = Pairs(rows, answers)
    for number, label in enumerate(answers.label_space):
        for index in top_rows(np.flatnonzero(~pairs.right & (pairs.gold == number)), pairs.confidence):
            yield _example(pairs, f"most confident wrong, {label}", index)


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs."""
    pairs = Pairs(rows, answers)
    for index in pairs.shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "unchanged", index)


def _example(pairs: Pairs, kind: str, index: int) -> ReportExample:
    row = pairs.row(index)
    return pairs.example(kind, index, [Line(side, row[side]) for side in ("premise", "hypothesis")])
