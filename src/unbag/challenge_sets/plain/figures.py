"""A corpus itself."""

from collections.abc import Iterator
from typing import Any

from unbag.challenge_sets.views.figures import Figure, Group, bare, figure_of
from unbag.scoring.bootstrap import Estimate


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield accuracy and the share of the commonest label."""
    yield "accuracy", "share of pairs right", scores["accuracy"]
    yield "majority", "what one constant answer gets", bare(scores["majority"], scores["accuracy"].n)


def figures(group: Group) -> list[Figure | None]:
    """Return accuracy by gold label."""
    return [
        figure_of(
            group,
            lambda scores: zip(scores["labels"], scores["by_label"], strict=True),
            title="Accuracy by gold label",
            about="Dots are shares of the pairs of a label that are answered right; lines are 95 % intervals.",
            x="gold label",
            y="accuracy",
            kind="dots",
        )
    ]
