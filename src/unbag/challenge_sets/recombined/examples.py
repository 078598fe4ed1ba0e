"""Examples of recombined documents: false entailments of exchanged claims, and missed supported claims."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.recombined import EXCHANGED
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

_OF_A_CLAIM: Final = 1
RULE: Final = (
    f"Up to {PER_KIND} wrong answers for each operation, one per claim, by the probability of the answer. The "
    "inserted words are marked."
)
MARKS: Final[Mapping[str, str]] = {"moved": "words of another sentence"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions for each operation."""
    pairs = PredictedPairs(rows, predictions)
    operations = np.array(read_column(rows, "operation").to_pylist(), dtype=np.str_)
    claims = read_column(rows, "source_id").to_pylist()
    for operation in (*EXCHANGED, "removed", "supported"):
        wrong = np.flatnonzero(~pairs.right & (operations == operation))
        for index in select_top_rows(wrong, pairs.confidence, per_group=_OF_A_CLAIM, groups=claims):
            yield _example(pairs, f"{operation}, surest wrong", index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest documents that have a claim with an exchanged phrase."""
    pairs = PredictedPairs(rows, predictions)
    operations = np.array(read_column(rows, "operation").to_pylist(), dtype=np.str_)
    for index in pairs.select_shortest(np.flatnonzero(np.isin(operations, EXCHANGED))):
        yield _example(pairs, f"another {pairs.get_row(index)['operation']}", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    phrases = [row["replacement"]]
    lines = [
        ExampleLine(side, row[side], mark_phrases(row[side], phrases, "moved")) for side in ("premise", "hypothesis")
    ]
    place = f"{row['k']} sentences" if row["k"] > 1 else "one sentence"
    evidence = "without the evidence" if row["operation"] == "removed" else f"evidence in number {row['position'] + 1}"
    return pairs.build_example(kind, index, lines, f"{place}, {evidence}")
