"""Report of Breaking NLI: terminal table, metrics, figures and examples."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.breaking_nli import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    mark_phrases,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import (
    Figure,
    FigurePoint,
    FigureSeries,
    ResultGroup,
    build_group_figure,
    build_point_estimate,
)
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_CONTRADICTION, NOT_ENTAILMENT
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate

_PLURAL: Final = {
    ENTAILMENT: "entailments",
    NEUTRAL: "neutral pairs",
    CONTRADICTION: "contradictions",
    NOT_ENTAILMENT: "pairs labelled not entailment",
    NOT_CONTRADICTION: "pairs labelled not contradiction",
}
_MIN_PAIRS: Final = 50  # from 50 pairs the standard error of an accuracy is below 0.1


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy: overall, by label, by category and, if available, by word similarity and frequency.

    If the pairs have annotators' labels, a column shows the accuracy of one annotator.
    """
    scores = result.scores
    has_human = "human" in scores
    grid = create_result_table(SET.title, result, "", "n", "accuracy [95 %]", *(["human"] if has_human else []))
    grid.add_row("all", *_cells(scores["n_examples"], scores), end_section=True)
    names = scores["labels"]
    views: list[tuple[str, Any]] = [
        ("by_label", lambda row: names[row["label"]]),
        ("by_category", lambda row: row["category"]),
        ("by_similarity", lambda row: f"cosine {row['low']:g} to {row['high']:g}"),
        ("by_frequency", lambda row: f"{_format_count_range(row)} training pairs"),
    ]
    for view, name in views:
        rows = [row for row in scores.get(view, []) if row["accuracy"].n]
        for number, row in enumerate(rows, start=1):
            grid.add_row(name(row), *_cells(row["accuracy"].n, row), end_section=number == len(rows))
    n = scores["unanswered"]
    unanswered = f"; {n:,} {'pair' if n == 1 else 'pairs'} without an answer" if n else ""
    return Group(grid, Text(f"{summarize_exclusions(result.data)}{unanswered}{_kappa(scores)}", style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy by gold label, and the category with the lowest accuracy."""
    names = result.scores["labels"]
    rows = [row for row in result.scores["by_label"] if row["accuracy"].n]
    right = ", ".join(
        f"{format_percentage(row['accuracy'])} of {row['accuracy'].n:,} {_PLURAL[names[row['label']]]}" for row in rows
    )
    nonempty = [row for row in result.scores["by_category"] if row["accuracy"].n]
    large = [row for row in nonempty if row["accuracy"].n >= _MIN_PAIRS]
    low = min((row["accuracy"].value for row in large), default=0.0)
    lowest = [row for row in large if row["accuracy"].value == low]
    where = ""
    if len(large) > 1 and len(lowest) == 1:  # a lowest category needs at least two categories and no tie
        [row] = lowest
        scope = "" if len(large) == len(nonempty) else f" with {_MIN_PAIRS} pairs or more"
        accuracy = row["accuracy"]
        where = f"; lowest category{scope}: {row['category']}, {format_percentage(accuracy)} of {accuracy.n:,}"
    return f"correct on {right}{where}."


def _cells(n: int, row: Mapping[str, Any]) -> list[str]:
    return [f"{n:,}", format_interval(row["accuracy"]), *([format_value(row["human"])] if "human" in row else [])]


def _kappa(scores: Mapping[str, Any]) -> str:
    """Format Fleiss' κ of the annotators; empty without annotators."""
    if "kappa" not in scores:
        return ""
    kappa, names = scores["kappa"], scores["labels"]
    by_label = ", ".join(f"{names[row['label']]} {format_value(row['kappa'])}" for row in kappa["by_label"])
    return f". Fleiss' κ of {kappa['annotators']} annotators: {format_value(kappa['overall'])} ({by_label})"


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the accuracy on all pairs, the accuracy per label and the annotator agreement."""
    yield "accuracy", "share of correct pairs", scores["accuracy"]
    yield (
        "majority",
        "accuracy of the best constant prediction",
        build_point_estimate(scores["majority"], scores["n_examples"]),
    )
    for row in scores["by_label"]:
        yield scores["labels"][row["label"]], "share of correct pairs among those of this label", row["accuracy"]
    if "human" in scores:
        yield "human", "share of pairs where one annotator gives the gold label", scores["human"]
    if "kappa" in scores:
        yield "κ", "Fleiss' κ of the annotators: agreement beyond chance", scores["kappa"]["overall"]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of the accuracy by category and, if available, by word similarity and frequency."""
    order = _order(group)
    human = tuple(
        FigurePoint(row["category"], row["human"])
        for row in group.scored_models[0].result.scores["by_category"]
        if "human" in row
    )
    category = build_group_figure(
        group,
        lambda scores: sorted(_categories(scores), key=lambda point: order[point[0]]),
        references=[FigureSeries("one annotator", human, is_reference=True)] if human else [],
        title="Accuracy by category of word",
        about="Categories are sorted by the accuracy of the first model. Lines are 95 % intervals.",
        x="category",
        y="accuracy",
        kind="dots",
    )
    similarity = build_group_figure(
        group,
        lambda scores: (
            (f"{row['low']:g} to {row['high']:g}", row["accuracy"]) for row in scores.get("by_similarity", ())
        ),
        title="Contradictions by similarity of the words",
        about="Accuracy by the cosine similarity of the two words' embeddings.",
        x="similarity",
        y="accuracy",
        kind="dots",
    )
    frequency = build_group_figure(
        group,
        lambda scores: ((_format_count_range(row), row["accuracy"]) for row in scores.get("by_frequency", ())),
        title="Contradictions by frequency in the training data",
        about="Accuracy by the number of contradicting training pairs that contain both words, one in each sentence.",
        x="training pairs",
        y="accuracy",
        kind="dots",
    )
    return [category, similarity, frequency]


def _categories(scores: Any) -> Iterator[tuple[str, Estimate]]:
    for row in scores["by_category"]:
        yield row["category"], row["accuracy"]


def _order(group: ResultGroup) -> dict[str, int]:
    best = sorted(_categories(group.scored_models[0].result.scores), key=lambda point: -(point[1].value or 0))
    return {name: number for number, (name, _) in enumerate(best)}


def _format_count_range(row: Any) -> str:
    least, most = row["least"], row["most"]
    return f"{least}+" if most is None else f"{least}" if least == most else f"{least}-{most}"


_PER_CATEGORY: Final = 2
EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, at most {_PER_CATEGORY} per category, sorted by the probability of the "
    "prediction. The replaced words are marked."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"replaced": "replaced words"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong predictions, then the most confident correct ones."""
    pairs = PredictedPairs(rows, predictions)
    categories = read_column(rows, "category").to_pylist()
    for kind, wanted in (("most confident wrong", ~pairs.right), ("most confident right", pairs.right)):
        for index in select_top_rows(
            np.flatnonzero(wanted), pairs.confidence, per_group=_PER_CATEGORY, groups=categories
        ):
            yield _example(pairs, kind, index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs."""
    pairs = PredictedPairs(rows, predictions)
    for index in pairs.select_shortest(np.arange(len(pairs.gold))):
        yield _example(pairs, "one word replaced", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    words = {"premise": row["replaced"], "hypothesis": row["replacement"]}
    lines = build_pair_lines(row, lambda side: mark_phrases(row[side], [words[side]], "replaced"))
    return pairs.build_example(kind, index, lines, f"category {row['category']}")
