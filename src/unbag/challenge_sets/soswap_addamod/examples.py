"""Selection of SOSwap and AddAmod examples, with the words that moved."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.soswap_addamod import KINDS
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    mark_phrases,
    select_top_rows,
)
from unbag.data.columns import read_column
from unbag.data.predictions import SetPredictions

RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, sorted by the probability of the prediction. Marks show the phrases that "
    "changed places, or the adjective and its noun."
)
MARKS: Final[Mapping[str, str]] = {"moved": "moved words"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong and right predictions for each kind of pair."""
    pairs = PredictedPairs(rows, predictions)
    kinds = np.array(read_column(rows, "kind").to_pylist(), dtype=np.str_)
    for name, words in KINDS.items():
        for outcome, wanted in (("wrong", ~pairs.right), ("right", pairs.right)):
            for index in select_top_rows(np.flatnonzero(wanted & (kinds == name)), pairs.confidence):
                yield _example(pairs, f"{words}, most confident {outcome}", index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, KINDS[pairs.get_row(index)["kind"]], index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    sides = ("premise", "hypothesis")
    return pairs.build_example(
        kind,
        index,
        [ExampleLine(side, row[side], mark_phrases(row[side], _moved(row, side), "moved")) for side in sides],
    )


def _moved(row: dict[str, Any], side: str) -> list[str | None]:
    return [row["subject"], row["object"], row["adjective"], row[f"{side}_noun"]]
