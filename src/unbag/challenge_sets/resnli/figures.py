"""ReSNLI."""

from collections.abc import Iterator
from typing import Any, Final

from unbag.scoring.bootstrap import Estimate
from unbag.views.figures import Figure, figure_of
from unbag.views.group import Group

_NAMES: Final = {
    "accuracy": "share of pairs right",
    "unseen": "the same, of pairs not from a training split",
    "easiest": "accuracy on the easiest partition",
    "hardest": "accuracy on the hardest partition",
    "drop": "easiest less hardest",
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield accuracy on all, at both ends, and the drop between."""
    for name, meaning in _NAMES.items():
        if name in scores:
            yield name, meaning, scores[name]


def figures(group: Group) -> list[Figure | None]:
    """Return accuracy by partition."""
    return [
        figure_of(
            group,
            lambda scores: ((row["partition"], row["accuracy"]) for row in scores["by_partition"]),
            title="Accuracy by partition",
            about="Partitions from 0, whose words give the label away most, to the hardest.",
            x="partition",
            y="accuracy",
            kind="curve",
        )
    ]
