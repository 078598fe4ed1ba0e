"""Category accuracy as a table: the rows of Glockner et al. 2018, Table 4, for one model."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.breaking_nli import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import exclusions, headed, interval, share, value
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_CONTRADICTION, NOT_ENTAILMENT

_PLURAL: Final = {
    ENTAILMENT: "entailments",
    NEUTRAL: "neutral pairs",
    CONTRADICTION: "contradictions",
    NOT_ENTAILMENT: "pairs that do not entail",
    NOT_CONTRADICTION: "pairs that do not contradict",
}
_ENOUGH: Final = 50  # pairs: the standard error of an accuracy is then below a tenth


def table(result: Result) -> RenderableType:
    """Return accuracy overall, by gold label, by category, and by similarity and frequency where they are known.

    Beside it is what one annotator scores, where the pairs have annotators' labels.
    """
    scores = result.scores
    people = "human" in scores
    grid = headed(SET.title, result, "", "n", "accuracy [95 %]", *(["human"] if people else []))
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
    unanswered = f"; no answer to {scores['unanswered']:,}" if scores["unanswered"] else ""
    return Group(grid, Text(f"{exclusions(result.data)}{unanswered}{_kappa(scores)}", style="dim"))


def reading(result: Result) -> str:
    """Return how often it is right by gold label, and the category of which it knows least."""
    names = result.scores["labels"]
    rows = [row for row in result.scores["by_label"] if row["accuracy"].n]
    right = ", ".join(
        f"{share(row['accuracy'])} of {row['accuracy'].n:,} {_PLURAL[names[row['label']]]}" for row in rows
    )
    asked = [row for row in result.scores["by_category"] if row["accuracy"].n]
    known = [row for row in asked if row["accuracy"].n >= _ENOUGH]
    low = min((row["accuracy"].value for row in known), default=0.0)
    least = [row for row in known if row["accuracy"].value == low]
    where = ""
    if len(known) > 1 and len(least) == 1:  # one alone is least of nothing, and of equals none is
        [row] = least
        of = "" if len(known) == len(asked) else f" the categories of {_ENOUGH} pairs or more, of"
        where = f"; least of{of} {row['category']}, {share(row['accuracy'])} of {row['accuracy'].n:,}"
    return f"right on {right}{where}."


def _cells(n: int, row: Mapping[str, Any]) -> list[str]:
    return [f"{n:,}", interval(row["accuracy"]), *([value(row["human"])] if "human" in row else [])]


def _kappa(scores: Mapping[str, Any]) -> str:
    """Return Fleiss' κ of the annotators, where there are some."""
    if "kappa" not in scores:
        return ""
    kappa, names = scores["kappa"], scores["labels"]
    by_label = ", ".join(f"{names[row['label']]} {value(row['kappa'])}" for row in kappa["by_label"])
    return f". Fleiss' κ of {kappa['annotators']} annotators: {value(kappa['overall'])} ({by_label})"


def _times(row: dict[str, Any]) -> str:
    least, most = row["least"], row["most"]
    if most is None:
        return f"pair seen {least}+ times"
    return f"pair seen {least} times" if least == most else f"pair seen {least}-{most} times"
