"""Metrics and figures of the swapped set."""

from collections.abc import Iterator
from typing import Any, Final

from unbag.challenge_sets.swapped import SET
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy_before": "of neutral pairs and contradictions",
    "accuracy_after": "of the same pairs",
    "drop": "accuracy as given minus accuracy exchanged",
    "agreement": "share of the same pairs",
    "accuracy_after_whole": "these pairs exchanged, entailment pairs as given",
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of the set: label, meaning and value."""
    return iter_metrics(SET, _MEANINGS, scores)


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figure of accuracy by label, for the original and the exchanged pairs."""
    return [
        build_group_figure(
            group,
            _points,
            title="Accuracy as given and exchanged",
            about="The closer the two dots of a label, the less the model depends on the order of the two sentences.",
            x="gold label",
            y="accuracy",
            kind="dots",
        )
    ]


def _points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
    for label, accuracies in scores["by_label"].items():
        yield f"{label}, as given", accuracies["accuracy_before"]
        yield f"{label}, exchanged", accuracies["accuracy_after"]
