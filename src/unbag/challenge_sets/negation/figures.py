"""Metrics and figures of the negation set."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.negation import SET
from unbag.challenge_sets.negation.table import list_operation_scores
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy": "share of correct predictions; half for every model that ignores word order",
    "false_entailment_rate": "share of not-entailed pairs that are called entailed",
    "mirror_consistency": "share of the mirrors with correct predictions for both pairs",
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of the set and the accuracy for each operation."""
    yield from iter_metrics(SET, _MEANINGS, scores)
    for part in list_operation_scores(scores):
        yield (
            f"accuracy, {part['operation']}",
            "share of correct predictions",
            part["accuracy"],
        )


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of the accuracy and the false-entailment rate for each operation."""
    return [
        build_group_figure(
            group,
            _points("accuracy"),
            title="Accuracy by operation",
            about="Share of correct predictions. A model that ignores word order has 50 %.",
            x="operation",
            y="accuracy",
            kind="dots",
        ),
        build_group_figure(
            group,
            _points("false_entailment_rate"),
            title="False entailments by operation",
            about="Share of not-entailed pairs that are predicted as entailment. Lower is better.",
            x="operation",
            y="false-entailment rate",
            kind="dots",
        ),
    ]


def _points(measure: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for part in list_operation_scores(scores):
            yield part["operation"], part[measure]

    return points
