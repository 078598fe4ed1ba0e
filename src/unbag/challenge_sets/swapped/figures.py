"""Swapped pairs."""

from collections.abc import Iterator
from typing import Any, Final

from unbag.scoring.bootstrap import Estimate
from unbag.views.figures import Figure, figure_of
from unbag.views.group import Group

_NAMES: Final = {
    "accuracy_before": ("before", "accuracy on neutral pairs and contradictions as given"),
    "accuracy_after": ("after", "accuracy on them exchanged"),
    "drop": ("drop", "before less after"),
    "agreement": ("same answer", "share with the same answer both times"),
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield accuracy before and after, drop and agreement."""
    for name, (symbol, meaning) in _NAMES.items():
        yield symbol, meaning, scores[name]
    yield "after, all pairs", "entailment pairs as given (Table 1 of the paper)", scores["whole"]["accuracy_after"]


def figures(group: Group) -> list[Figure | None]:
    """Return accuracy before and after by label."""
    return [
        figure_of(
            group,
            _points,
            title="Accuracy before and after",
            about="The nearer the two dots of a label, the less it matters which sentence comes first.",
            x="gold label",
            y="accuracy",
            kind="dots",
        )
    ]


def _points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
    for label, accuracies in scores["by_label"].items():
        yield f"{label}, before", accuracies["accuracy_before"]
        yield f"{label}, after", accuracies["accuracy_after"]
