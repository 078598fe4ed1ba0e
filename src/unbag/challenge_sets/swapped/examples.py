"""Selection of swapped examples: predictions that change when premise and hypothesis are exchanged."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    round_probability,
    select_top_rows,
)
from unbag.data.columns import read_column, read_numbers
from unbag.data.predictions import SetPredictions

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, sorted by the mean probability of the two predictions. The exchanged "
    "pair is shown with both predictions."
)
MARKS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select exchanged pairs whose prediction became wrong, became right, or stayed wrong after the exchange."""
    pairs = PredictedPairs(rows, predictions)
    after, before = _exchanged(rows)
    key = np.zeros(len(pairs.right))
    key[after] = round_probability((pairs.confidence[after] + pairs.confidence[before]) / 2)
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    kinds = (
        ("right, then wrong", pairs.right[before] & ~pairs.right[after]),
        ("wrong, then right", ~pairs.right[before] & pairs.right[after]),
        ("wrong both times", ~pairs.right[before] & ~pairs.right[after]),
    )
    for kind, wanted in kinds:
        for index in select_top_rows(after[wanted], key):
            yield _example(pairs, kind, index, was[index])


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest exchanged pairs."""
    pairs = PredictedPairs(rows, predictions)
    after, before = _exchanged(rows)
    was = dict(zip(after.tolist(), before.tolist(), strict=True))
    for index in pairs.select_shortest(after):
        yield _example(pairs, "exchanged", index, was[index])


def _exchanged(rows: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the indices of the exchanged rows, and those of the same pairs as given, shape (m,) each."""
    names, swapped = read_column(rows, "source_id").to_pylist(), read_numbers(rows, "swapped").astype(bool)
    originals = {names[index]: index for index in np.flatnonzero(~swapped).tolist()}
    after = np.flatnonzero(swapped)
    return after, np.array([originals[names[index]] for index in after.tolist()], dtype=np.int64)


def _example(pairs: PredictedPairs, kind: str, index: int, was: int) -> ReportExample:
    row = pairs.get_row(index)
    lines = [ExampleLine(side, row[side]) for side in ("premise", "hypothesis")]
    return pairs.build_example(kind, index, lines, before=pairs.get_prediction(was, "as given"), where="exchanged")
