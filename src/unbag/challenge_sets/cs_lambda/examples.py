"""Examples of CS_λ: where the words point most surely to the wrong label."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.cs_lambda.scores import MISLED
from unbag.challenge_sets.views.examples import PER_KIND, Line, Pairs, ReportExample, marked, top
from unbag.data.columns import numbers
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions

RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, by how surely the lexical model points to a wrong label (LMS), where the "
    "model is misled and where it is not. Marked are the words of the features that mislead most."
)
MARKS: Final[Mapping[str, str]] = {"misleads": "misleading words"}
"""What marked words are, by the kind of mark."""


def choose(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the most misleading pairs, wrong and right."""
    pairs = Pairs(rows, answers)
    lms = numbers(rows, "lms").astype(np.float64)
    for kind, wanted in (("most misleading, wrong", ~pairs.right), ("most misleading, right", pairs.right)):
        for index in top(np.flatnonzero(wanted), lms):
            yield _example(pairs, kind, index)


def candidates(rows: Any, answers: SetPredictions) -> Iterator[ReportExample]:
    """Yield the shortest pairs of CS_0.5."""
    pairs = Pairs(rows, answers)
    for index in pairs.shortest(np.flatnonzero(numbers(rows, "lms").astype(np.float64) >= MISLED)):
        yield _example(pairs, "words mislead", index)


def _example(pairs: Pairs, kind: str, index: int) -> ReportExample:
    row = pairs.row(index)
    lines = [
        Line(side, row[side], marked(row[side], [feature[side] for feature in row["misleading"]], "misleads"))
        for side in ("premise", "hypothesis")
    ]
    return pairs.example(kind, index, lines, _note(row))


def _note(row: dict[str, Any]) -> str:
    probabilities = {label: row[f"lexical_{label}"] for label in LABELS}
    likeliest = max(probabilities, key=probabilities.__getitem__)
    features = ", ".join(_feature(feature) for feature in row["misleading"])
    return f"words alone say {likeliest} ({probabilities[likeliest]:.2f}); most misleading: {features}"


def _feature(feature: dict[str, Any]) -> str:
    sides = [f"{feature[side]} ({side})" for side in ("premise", "hypothesis") if feature[side]]
    name = f"{feature['premise']} → {feature['hypothesis']}" if len(sides) > 1 else sides[0]
    return f"{name} {feature['logit']:+.1f}"
