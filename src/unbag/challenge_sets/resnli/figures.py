"""ReSNLI."""

from collections.abc import Iterator
from typing import Any, Final

from unbag.challenge_sets.resnli import SET
from unbag.challenge_sets.views.figures import Figure, Group, figure_of
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy_unseen": "of the corpus's other splits: a model that was trained on them has seen these too",
    "accuracy": "those from train among them, which a model may have learnt",
    "accuracy_easiest": "whose words give the label away most",
    "accuracy_hardest": "whose words give it away least",
    "drop": "easiest less hardest",
}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the set's numbers under the names that they have everywhere."""
    for quantity in SET.quantities:
        if (estimate := quantity.value(scores)) is not None:
            yield quantity.label, _MEANINGS[quantity.name], estimate


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
