"""Selection of Breaking NLI examples: the replaced word and the model's prediction."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

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

_PER_CATEGORY: Final = 2
RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, at most {_PER_CATEGORY} per category, sorted by the probability of the "
    "prediction. The replaced words are marked."
)
MARKS: Final[Mapping[str, str]] = {"replaced": "replaced words"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions, then the most confident right ones."""
    pairs = PredictedPairs(rows, predictions)
    categories = read_column(rows, "category").to_pylist()
    for kind, wanted in (("most confident wrong", ~pairs.right), ("most confident right", pairs.right)):
        for index in select_top_rows(
            np.flatnonzero(wanted), pairs.confidence, per_group=_PER_CATEGORY, groups=categories
        ):
            yield _example(pairs, kind, index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "one word replaced", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    words = {"premise": row["replaced"], "hypothesis": row["replacement"]}
    lines = [ExampleLine(side, row[side], mark_phrases(row[side], [word], "replaced")) for side, word in words.items()]
    return pairs.build_example(kind, index, lines, f"category {row['category']}")
