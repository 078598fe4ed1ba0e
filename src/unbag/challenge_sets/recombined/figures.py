"""Figures of recombined documents."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from unbag.challenge_sets.recombined import SET
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "balanced_accuracy": "mean of the shares of supported and of unsupported claims right",
    "false_entailment_rate": "share of unsupported claims called entailed",
    "paired_accuracy": "share of documents with every claim right",
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of the set and the paired accuracy for each operation."""
    yield from iter_metrics(SET, _MEANINGS, scores)
    for row in scores["by_operation"]:
        meaning = "share of documents with the supported claim and this one right"
        yield f"paired accuracy, {row['operation']}", meaning, row["paired_accuracy"]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of paired accuracy by size and evidence position, and of false entailments by operation."""
    return [
        build_group_figure(
            group,
            _points("by_k", "k", "paired_accuracy"),
            title="Paired accuracy by size of the document",
            about="Share of the documents with k sentences for which every claim is correct. With k = 1, nothing is "
            "exchanged.",
            x="sentences, k",
            y="paired accuracy",
            kind="dots",
        ),
        build_group_figure(
            group,
            _points("by_position", "third", "balanced_accuracy"),
            title="Balanced accuracy by position of the evidence",
            about="Third of the document that contains the evidence, in documents with three or more sentences.",
            x="position",
            y="balanced accuracy",
            kind="dots",
        ),
        build_group_figure(
            group,
            _points("by_operation", "operation", "false_entailment_rate"),
            title="False entailments by operation",
            about="Share predicted as entailment among claims with an exchanged subject, object or number, or "
            "without evidence. Lower is better.",
            x="operation",
            y="false-entailment rate",
            kind="dots",
        ),
    ]


def _points(view: str, name: str, measure: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for row in scores[view]:
            yield str(row[name]), row[measure]

    return points
