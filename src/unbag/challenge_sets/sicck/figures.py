"""SICCK."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.views.figures import Figure, Group, figure_of
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.natural_logic import MEASURES

_GROUPS: Final = {"modifier_type": "type of modifier", "part": "modified part", "modifier": "modifier"}
_NONE: Final = "none"
_NAMES: Final = {"f1": "macro F1", "precision": "macro precision", "recall": "macro recall"}
_MEANING: Final = {"accuracy": "share of pairs right"}


def measures(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Yield the four measures on all pairs."""
    for name in MEASURES:
        yield _NAMES.get(name, name), _MEANING.get(name, "mean over the labels"), scores[name]


def figures(group: Group) -> list[Figure | None]:
    """Return accuracy by type of modifier, by part and by modifier."""
    return [
        figure_of(
            group,
            _points(column),
            title=f"{'Macro F1' if column != 'modifier' else 'Accuracy'} by {name}",
            about="Four-way labels by the reverse rule; lines are 95 % intervals over the seeds.",
            x=name,
            y="macro F1" if column != "modifier" else "accuracy",
            kind="dots",
        )
        for column, name in _GROUPS.items()
    ]


def _points(column: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    # One modifier alone has pairs of few labels, and the mean of so few F1 jumps about.
    measure = "accuracy" if column == "modifier" else "f1"

    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for name, measures in scores["by"][column].items():
            if name != _NONE:
                yield name, measures[measure]

    return points
