"""Report of negated pairs: terminal table, metrics, figures and examples."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.negation import OPERATIONS, SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    TextMark,
    build_pair_lines,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import NOT_ENTAILMENT, get_gold_id
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate

_ENOUGH: Final = 20  # premises of an operation, below which its accuracy says little


def build_table(result: Result) -> RenderableType:
    """Build the table of the metrics, overall and by operation.

    The metrics are the accuracy, the false-entailment rate and the consistency on mirrored pairs. Mirrored pairs have
    the same hypothesis, the same words in the premise, and different labels.
    """
    scores = result.scores
    grid = create_result_table(SET.title, result, "rows", "accuracy [95 %]", "false ent.", "mirrors right")
    parts = [("all", scores), *((part["operation"], part) for part in list_operation_scores(scores))]
    for number, (name, part) in enumerate(parts):
        single = (format_value(part[key]) for key in ("false_entailment_rate", "mirror_consistency"))
        grid.add_row(name, format_interval(part["accuracy"]), *single, end_section=number == 0)
    about = f"{scores['n_examples']:,} rows, {scores['n_mirrors']:,} mirrors, of {summarize_exclusions(result.data)}"
    return Group(grid, Text(about, style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy, the hardest operation, and the consistency on premises with the same words.

    The consistency is the share of mirrored pairs with two correct predictions.
    """
    scores = result.scores
    lowest = _lowest_operation(scores)
    hardest = "" if lowest is None else f", least on {lowest['operation']} ({format_percentage(lowest['accuracy'])})"
    return (
        f"correct on {format_percentage(scores['accuracy'])} of the pairs{hardest}, and on both pairs of "
        f"{format_percentage(scores['mirror_consistency'])} of the mirrors: a hypothesis with two premises of the same "
        "words. A model that ignores word order has 50 % and 0 %."
    )


def list_operation_scores(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the scores of each operation, in the order of `OPERATIONS`."""
    return sorted(scores["by_operation"], key=lambda part: OPERATIONS.index(part["operation"]))


def _lowest_operation(scores: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the operation with the lowest accuracy; None if few premises or a tie leave that open."""
    parts = [part for part in scores["by_operation"] if part["accuracy"].n >= _ENOUGH]
    lowest = min((part["accuracy"].value for part in parts), default=None)
    found = [part for part in parts if part["accuracy"].value == lowest]
    return found[0] if len(parts) > 1 and len(found) == 1 else None


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


_PER_PREMISE: Final = 1
EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} wrong predictions of each operation, one per source sentence, by the probability of the "
    "prediction. Negations are marked."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"moved": "negation"}
"""Meaning of marked words, by the kind of mark."""
_NEGATION: Final = re.compile(r"\b(?:not|no|none|false|untrue|at most)\b", re.IGNORECASE)


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions for each operation."""
    pairs = PredictedPairs(rows, predictions)
    operations = np.array(read_column(rows, "operation").to_pylist(), dtype=np.str_)
    sources = read_column(rows, "source_id").to_pylist()
    for operation in dict.fromkeys(operations.tolist()):
        wrong = np.flatnonzero(~pairs.right & (operations == operation))
        for index in select_top_rows(wrong, pairs.confidence, per_group=_PER_PREMISE, groups=sources):
            yield _example(pairs, f"{operation}, surest wrong", index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs whose gold label is not_entailment."""
    pairs = PredictedPairs(rows, predictions)
    labels = read_numeric_column(rows, "label")
    for index in pairs.select_shortest(np.flatnonzero(labels == get_gold_id(NOT_ENTAILMENT))):
        yield _example(pairs, pairs.get_row(index)["operation"], index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)

    def mark(side: str) -> tuple[TextMark, ...]:
        return tuple(TextMark(*found.span(), "moved") for found in _NEGATION.finditer(row[side]))

    return pairs.build_example(kind, index, build_pair_lines(row, mark))
