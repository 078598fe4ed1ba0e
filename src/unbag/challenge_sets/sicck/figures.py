"""Metrics and figures of SICCK."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.natural_logic import MEASURES

_GROUPS: Final = {"modifier_type": "type of modifier", "part": "modified part", "modifier": "modifier"}
_NONE: Final = "none"
_NAMES: Final = {"f1": "macro F1", "precision": "macro precision", "recall": "macro recall"}
_MEANING: Final = {"accuracy": "share of correct pairs"}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over macro F1, precision, recall and accuracy on all pairs."""
    for name in MEASURES:
        yield _NAMES.get(name, name), _MEANING.get(name, "mean over the labels"), scores[name]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of macro F1 by type of modifier and by modified part, and of accuracy by modifier."""
    return [
        build_group_figure(
            group,
            _points(column),
            title=f"{'Macro F1' if column != 'modifier' else 'Accuracy'} by {name}",
            about="Four-way labels are derived by the reverse rule. Lines are 95 % intervals over the seeds.",
            x=name,
            y="macro F1" if column != "modifier" else "accuracy",
            kind="dots",
        )
        for column, name in _GROUPS.items()
    ]


def _points(column: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    # The pairs of one modifier have only one or two of the labels, and the macro F1 over few labels is unstable.
    measure = "accuracy" if column == "modifier" else "f1"

    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for name, measures in scores["by"][column].items():
            if name != _NONE:
                yield name, measures[measure]

    return points
