"""Measures and figures of the negation set."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.negation import SET
from unbag.challenge_sets.negation.table import by_operation
from unbag.challenge_sets.views.figures import Figure, Group, group_figure, iter_measures
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy": "share of correct predictions; half for every model that ignores word order",
    "false_entailment_rate": "share of not-entailed pairs that are called entailed",
    "mirror_consistency": "share of the mirrors with correct predictions for both pairs",
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the set's numbers, and the accuracy on each operation."""
    yield from iter_measures(SET, _MEANINGS, scores)
    for part in by_operation(scores):
        yield (
            f"accuracy, {part['operation']}",
            "share of correct predictions",
            part["accuracy"],
        )


def figures(group: Group) -> list[Figure | None]:
    """Build figures of accuracy and false entailments by operation."""
    return [
        group_figure(
            group,
            _points("accuracy"),
            title="Accuracy by operation",
            about="Share of correct predictions. A model that ignores word order has 50 %.",
            x="operation",
            y="accuracy",
            kind="dots",
        ),
        group_figure(
            group,
            _points("false_entailment_rate"),
            title="False entailments by operation",
            about="Share of not-entailed pairs that are called entailed. Lower is better.",
            x="operation",
            y="false-entailment rate",
            kind="dots",
        ),
    ]


def _points(measure: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for part in by_operation(scores):
            yield part["operation"], part[measure]

    return points
