"""Swapped pairs."""

from collections.abc import Iterator
from typing import Any, Final

from unbag.challenge_sets.swapped import SET
from unbag.challenge_sets.views.figures import Figure, Group, figure_of
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy_before": "of neutral pairs and contradictions",
    "accuracy_after": "of the same pairs",
    "drop": "as given less exchanged",
    "agreement": "share of the same pairs",
    "accuracy_after_whole": "these exchanged, entailment pairs as given",
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the set's numbers under the names that they have everywhere."""
    for quantity in SET.quantities:
        if (estimate := quantity.value(scores)) is not None:
            yield quantity.label, _MEANINGS[quantity.name], estimate


def figures(group: Group) -> list[Figure | None]:
    """Return accuracy as given and exchanged by label."""
    return [
        figure_of(
            group,
            _points,
            title="Accuracy as given and exchanged",
            about="The nearer the two dots of a label, the less it matters which sentence comes first.",
            x="gold label",
            y="accuracy",
            kind="dots",
        )
    ]


def _points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
    for label, accuracies in scores["by_label"].items():
        yield f"{label}, as given", accuracies["accuracy_before"]
        yield f"{label}, exchanged", accuracies["accuracy_after"]
