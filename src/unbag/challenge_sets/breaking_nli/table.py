"""Terminal table of category accuracy: the rows of Glockner et al. 2018, Table 4, for one model."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.breaking_nli import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_share,
    format_value,
    summarize_exclusions,
)
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_CONTRADICTION, NOT_ENTAILMENT

_PLURAL: Final = {
    ENTAILMENT: "entailments",
    NEUTRAL: "neutral pairs",
    CONTRADICTION: "contradictions",
    NOT_ENTAILMENT: "pairs labelled not entailment",
    NOT_CONTRADICTION: "pairs labelled not contradiction",
}
_MIN_PAIRS: Final = 50  # from 50 pairs the standard error of an accuracy is below 0.1


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy overall, by gold label, by category and, if available, by similarity and frequency.

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
        ("by_frequency", _times),
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
        f"{format_share(row['accuracy'])} of {row['accuracy'].n:,} {_PLURAL[names[row['label']]]}" for row in rows
    )
    nonempty = [row for row in result.scores["by_category"] if row["accuracy"].n]
    large = [row for row in nonempty if row["accuracy"].n >= _MIN_PAIRS]
    low = min((row["accuracy"].value for row in large), default=0.0)
    lowest = [row for row in large if row["accuracy"].value == low]
    where = ""
    if len(large) > 1 and len(lowest) == 1:  # a lowest category needs at least two categories and no tie
        [row] = lowest
        scope = "" if len(large) == len(nonempty) else f" with {_MIN_PAIRS} pairs or more"
        where = f"; lowest category{scope}: {row['category']}, {format_share(row['accuracy'])} of {row['accuracy'].n:,}"
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


def _times(row: dict[str, Any]) -> str:
    least, most = row["least"], row["most"]
    if most is None:
        return f"{least}+ training pairs"
    return f"{least} training pairs" if least == most else f"{least}-{most} training pairs"
