"""Selection of ReSNLI examples: the pairs whose words reveal the least about the label."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.resnli.scores import select_unseen_pairs
from unbag.challenge_sets.views.examples import PER_KIND, ExampleLine, PredictedPairs, ReportExample, select_top_rows
from unbag.data.columns import read_column, read_numbers
from unbag.data.predictions import SetPredictions

RULE: Final = f"Up to {PER_KIND} examples of each kind, sorted by how little the words give the label away (u')."
MARKS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the hardest pairs: first those predicted wrongly, then those predicted correctly."""
    pairs = PredictedPairs(rows, predictions)
    uncertainty = read_numbers(rows, "uncertainty").astype(np.float64)
    for kind, wanted in (("hardest, wrong", ~pairs.right), ("hardest, right", pairs.right)):
        for index in select_top_rows(np.flatnonzero(wanted), uncertainty):
            yield _example(pairs, kind, index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs of the harder half. If the splits are known, pairs of a training split are omitted."""
    pairs = PredictedPairs(rows, predictions)
    partition = read_numbers(rows, "partition")
    harder = 2 * partition >= partition.max()
    unseen = select_unseen_pairs(read_column(rows, "source_split").to_pylist())
    for index in pairs.select_shortest(np.flatnonzero(harder & unseen if unseen.any() else harder)):
        yield _example(pairs, "words give little away", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    lines = [ExampleLine(side, row[side]) for side in ("premise", "hypothesis")]
    return pairs.build_example(kind, index, lines, f"u' {row['uncertainty']:.3f}, partition {row['partition']}")
