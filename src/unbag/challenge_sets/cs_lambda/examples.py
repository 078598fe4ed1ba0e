"""Selection of CS_λ examples: pairs with the most misleading lexical cues."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.cs_lambda.scores import MISLED
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    ExampleLine,
    PredictedPairs,
    ReportExample,
    mark_phrases,
    select_top_rows,
)
from unbag.data.columns import read_numbers
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, sorted by the lexical model's probability of a wrong label (LMS), for "
    "wrong and for right predictions. The words of the most misleading features are marked."
)
MARKS: Final[Mapping[str, str]] = {"misleads": "misleading words"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most misleading pairs: first those predicted wrongly, then those predicted correctly."""
    pairs = PredictedPairs(rows, predictions)
    lms = read_numbers(rows, "lms").astype(np.float64)
    for kind, wanted in (("most misleading, wrong", ~pairs.right), ("most misleading, right", pairs.right)):
        for index in select_top_rows(np.flatnonzero(wanted), lms):
            yield _example(pairs, kind, index)


def iter_candidates(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the shortest pairs of the subset CS_0.7."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.flatnonzero(read_numbers(rows, "lms").astype(np.float64) >= MISLED)):
        yield _example(pairs, "words mislead", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    lines = [
        ExampleLine(
            side, row[side], mark_phrases(row[side], [feature[side] for feature in row["misleading"]], "misleads")
        )
        for side in ("premise", "hypothesis")
    ]
    return pairs.build_example(kind, index, lines, _note(row))


def _note(row: dict[str, Any]) -> str:
    probabilities = {label: row[f"lexical_{label}"] for label in LABELS}
    likeliest = max(probabilities, key=probabilities.__getitem__)
    features = ", ".join(_feature(feature) for feature in row["misleading"])
    return f"lexical model: {likeliest} ({probabilities[likeliest]:.2f}); most misleading: {features}"


def _feature(feature: dict[str, Any]) -> str:
    sides = [f"{feature[side]} ({side})" for side in ("premise", "hypothesis") if feature[side]]
    name = f"{feature['premise']} → {feature['hypothesis']}" if len(sides) > 1 else sides[0]
    return f"{name} {feature['logit']:+.1f}"
