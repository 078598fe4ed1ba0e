"""Accuracy as a table."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.plain import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import exclusions, headed, interval, points, share


def table(result: Result) -> RenderableType:
    """Return accuracy on all pairs and on those of each label."""
    scores = result.scores
    grid = headed(SET.title, result, "pairs", "n", "accuracy [95 %]")
    for name, estimate in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
        grid.add_row(name, f"{estimate.n:,}", interval(estimate))
    return Group(grid, Text(f"{exclusions(result.data)}", style="dim"))


def reading(result: Result) -> str:
    """Return how the accuracy stands beside that of a constant answer."""
    accuracy = result.scores["accuracy"]
    constant = points(result.scores["majority"])
    return f"right {share(accuracy)} of the time, {accuracy.n:,} pairs (one answer for all: {constant} %)."
