"""Selection of examples of an unchanged corpus: the most confident mistakes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.views.examples import PER_KIND, ExampleLine, PredictedPairs, ReportExample, select_top_rows
from unbag.data.predictions import SetPredictions

RULE: Final = f"Up to {PER_KIND} mistakes per gold label, sorted by the probability of the prediction."
MARKS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions for each gold label."""
    pairs = PredictedPairs(rows, predictions)
    for number, label in enumerate(predictions.label_space):
        for index in select_top_rows(np.flatnonzero(~pairs.right & (pairs.gold == number)), pairs.confidence):
            yield _example(pairs, f"most confident wrong, {label}", index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "unchanged", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    return pairs.build_example(kind, index, [ExampleLine(side, row[side]) for side in ("premise", "hypothesis")])
