"""Selection of negation examples: the most confident wrong predictions of each operation."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    TextMark,
    select_top_rows,
)
from unbag.data.columns import read_column, read_numbers
from unbag.data.labels import NOT_ENTAILMENT, get_gold_id
from unbag.data.predictions import SetPredictions

_PER_PREMISE: Final = 1
RULE: Final = (
    f"Up to {PER_KIND} wrong predictions of each operation, one per source sentence, by the probability of the "
    "prediction. Negations are marked."
)
MARKS: Final[Mapping[str, str]] = {"moved": "negation"}
"""Meaning of marked words, by the kind of mark."""
_NEGATION: Final = re.compile(r"\b(?:not|no|none|false|untrue|at most)\b", re.IGNORECASE)


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions for each operation."""
    pairs = PredictedPairs(rows, predictions)
    operations = np.array(read_column(rows, "operation").to_pylist(), dtype=np.str_)
    sources = read_column(rows, "source_id").to_pylist()
    for operation in dict.fromkeys(operations.tolist()):
        wrong = np.flatnonzero(~pairs.right & (operations == operation))
        for index in select_top_rows(wrong, pairs.confidence, per_group=_PER_PREMISE, groups=sources):
            yield _example(pairs, f"{operation}, surest wrong", index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs whose gold label is not_entailment."""
    pairs = PredictedPairs(rows, predictions)
    labels = read_numbers(rows, "label")
    for index in pairs.select_shortest(np.flatnonzero(labels == get_gold_id(NOT_ENTAILMENT))):
        yield _example(pairs, pairs.get_row(index)["operation"], index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    lines = [
        ExampleLine(side, row[side], tuple(TextMark(*found.span(), "moved") for found in _NEGATION.finditer(row[side])))
        for side in ("premise", "hypothesis")
    ]
    return pairs.build_example(kind, index, lines)
