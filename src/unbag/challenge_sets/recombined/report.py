"""Report of recombined claims: terminal table, metrics, figures and examples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.recombined import EXCHANGED, OPERATIONS, SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    mark_phrases,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    format_value,
    summarize_exclusions,
    summarize_rejections,
)
from unbag.data.columns import read_column
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate

_ENOUGH: Final = 20  # claims of an operation, below which its rate says little


def build_table(result: Result) -> RenderableType:
    """Build the table of the metrics: overall, by document size, by evidence position and by operation."""
    scores = result.scores
    grid = create_result_table(SET.title, result, "rows", "balanced acc. [95 %]", "false ent.", "paired acc.")
    views: Sequence[list[tuple[str, Mapping[str, Any]]]] = (
        [("all", scores)],
        [(f"k = {row['k']}", row) for row in scores["by_k"]],
        [(f"evidence at the {row['third']}", row) for row in scores["by_position"]],
        [(row["operation"], row) for row in _by_operation(scores)],
    )
    for view in views:
        for number, (name, part) in enumerate(view, start=1):
            single = (format_value(part[key]) for key in ("false_entailment_rate", "paired_accuracy"))
            grid.add_row(name, format_interval(part["balanced_accuracy"]), *single, end_section=number == len(view))
    about = f"{scores['n_examples']:,} rows, {scores['n_groups']:,} documents, of {summarize_exclusions(result.data)}"
    reasons = summarize_rejections(result, "excluded: ")
    notes = [about, *([f"Most frequent reasons for sentences without a claim: {reasons}"] if reasons else [])]
    return Group(grid, *(Text(note, style="dim") for note in notes))


def summarize_result(result: Result) -> str:
    """Summarize the false-entailment rate on unsupported claims, and the fraction of documents without errors."""
    scores = result.scores
    worst = _worst_exchange(scores)
    most = (
        ""
        if worst is None
        else (
            f", most often those with another {worst['operation']} "
            f"({format_percentage(worst['false_entailment_rate'])})"
        )
    )
    return (
        f"predicts entailment for {format_percentage(scores['false_entailment_rate'])} of the unsupported claims"
        f"{most}; all "
        f"rows are correct for {format_percentage(scores['paired_accuracy'])} of the documents (a constant prediction, "
        "or a model that uses only the claim: 0 %)."
    )


def _worst_exchange(scores: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the exchange with the most false entailments; None if few rows or a tie leave that open.

    A constant prediction has the same rate for every exchange.
    """
    rates = [
        (row["false_entailment_rate"].value, row)
        for row in _by_operation(scores)
        if row["operation"] in EXCHANGED and row["false_entailment_rate"].n >= _ENOUGH
    ]
    highest = max((rate for rate, _ in rates), default=0)
    worst = [row for rate, row in rates if rate == highest]
    return worst[0] if len(rates) > 1 and len(worst) == 1 else None


def _by_operation(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Sort the measures by operation: the exchanges, then the documents without evidence."""
    return sorted(scores["by_operation"], key=lambda row: OPERATIONS.index(row["operation"]))


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
    """Build figures of paired accuracy by document size and evidence position, and false entailments by operation."""
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


_OF_A_CLAIM: Final = 1
EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} wrong answers for each operation, one per claim, by the probability of the answer. The "
    "inserted words are marked."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"moved": "words of another sentence"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions for each operation."""
    pairs = PredictedPairs(rows, predictions)
    operations = np.array(read_column(rows, "operation").to_pylist(), dtype=np.str_)
    claims = read_column(rows, "source_id").to_pylist()
    for operation in (*EXCHANGED, "removed", "supported"):
        wrong = np.flatnonzero(~pairs.right & (operations == operation))
        for index in select_top_rows(wrong, pairs.confidence, per_group=_OF_A_CLAIM, groups=claims):
            yield _example(pairs, f"{operation}, surest wrong", index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest documents whose claim has a replaced phrase."""
    pairs = PredictedPairs(rows, predictions)
    operations = np.array(read_column(rows, "operation").to_pylist(), dtype=np.str_)
    for index in pairs.select_shortest(np.flatnonzero(np.isin(operations, EXCHANGED))):
        yield _example(pairs, f"another {pairs.get_row(index)['operation']}", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    lines = build_pair_lines(row, lambda side: mark_phrases(row[side], [row["replacement"]], "moved"))
    place = f"{row['k']} sentences" if row["k"] > 1 else "one sentence"
    evidence = "without the evidence" if row["operation"] == "removed" else f"evidence in number {row['position'] + 1}"
    return pairs.build_example(kind, index, lines, f"{place}, {evidence}")
