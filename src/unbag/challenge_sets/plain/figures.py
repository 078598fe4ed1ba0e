"""Metrics and figures of an unchanged corpus."""

from collections.abc import Iterator
from typing import Any

from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, build_point_estimate
from unbag.scoring.bootstrap import Estimate


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the accuracy and the accuracy of the best constant prediction."""
    yield "accuracy", "share of correct pairs", scores["accuracy"]
    yield (
        "majority",
        "accuracy of the best constant prediction",
        build_point_estimate(scores["majority"], scores["accuracy"].n),
    )


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figure of accuracy by gold label."""
    return [
        build_group_figure(
            group,
            lambda scores: zip(scores["labels"], scores["by_label"], strict=True),
            title="Accuracy by gold label",
            about="Dots are the accuracy on the pairs of a label. Lines are 95 % intervals.",
            x="gold label",
            y="accuracy",
            kind="dots",
        )
    ]
