"""Measures and figures of the negation set."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.negation import SET
from unbag.challenge_sets.negation.table import by_operation
from unbag.challenge_sets.views.figures import Figure, Group, group_figure
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy": "share of the pairs right; half for every model that ignores word order",
    "false_entailment_rate": "share of the pairs that are not entailed that are called entailed",
    "mirror_consistency": "share of the mirrors with both pairs right",
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the set's numbers, and the accuracy on each operation."""
    for quantity in SET.quantities:
        if (estimate := quantity.value(scores)) is not None:
            yield quantity.label, _MEANINGS[quantity.name], estimate
    for part in by_operation(scores):
        yield f"accuracy, {part['operation']}", "share of the operation's pairs right", part["accuracy"]


def figures(group: Group) -> list[Figure | None]:
    """Build figures of accuracy and false entailments by operation."""
    return [
        group_figure(
            group,
            _points("accuracy"),
            title="Accuracy by operation",
            about="Share of the pairs right. Half of them are right without word order.",
            x="operation",
            y="accuracy",
            kind="dots",
        ),
        group_figure(
            group,
            _points("false_entailment_rate"),
            title="False entailments by operation",
            about="Share of the pairs that are not entailed that are called entailed. Lower is better.",
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
