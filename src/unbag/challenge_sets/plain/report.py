"""Report of an unmodified corpus: terminal table, metrics, figures and examples."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.plain import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, build_point_estimate
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    format_points,
    summarize_exclusions,
)
from unbag.data.labels import ENTAILMENT
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy on all pairs and per label."""
    scores = result.scores
    # Pairs of one document are not independent, so the number of documents qualifies n.
    documents = {"documents": f"{result.data['documents']:,}"} if "documents" in result.data else {}
    grid = create_result_table(SET.title, result, "pairs", "n", *documents, "accuracy [95 %]")
    for name, estimate in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
        of_all = [text if name == "all" else "" for text in documents.values()]
        grid.add_row(name, f"{estimate.n:,}", *of_all, format_interval(estimate))
    return Group(grid, Text(f"{summarize_exclusions(result.data)}", style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy and compare it with the best constant prediction."""
    accuracy = result.scores["accuracy"]
    constant = format_points(result.scores["majority"])
    correct = f"correct on {format_percentage(accuracy)} of {accuracy.n:,} pairs"
    return f"{correct} (the best constant prediction: {constant} %)."


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


EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} mistakes per gold label, sorted by the probability of the prediction, false entailments first."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions for each gold label, false entailments first."""
    pairs = PredictedPairs(rows, predictions)
    accepted = ~pairs.right & (pairs.names == ENTAILMENT)
    for kind, wrong in (("false entailment", accepted), ("most confident wrong", ~pairs.right & ~accepted)):
        for number, label in enumerate(predictions.label_space):
            for index in select_top_rows(np.flatnonzero(wrong & (pairs.gold == number)), pairs.confidence):
                yield _example(pairs, f"{kind}, {label}", index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "unchanged", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    return pairs.build_example(kind, index, build_pair_lines(pairs.get_row(index)))
