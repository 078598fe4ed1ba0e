"""Terminal table of the accuracy on an unchanged corpus."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.plain import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_points,
    format_share,
    summarize_exclusions,
)


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy on all pairs and per label."""
    scores = result.scores
    grid = create_result_table(SET.title, result, "pairs", "n", "accuracy [95 %]")
    for name, estimate in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
        grid.add_row(name, f"{estimate.n:,}", format_interval(estimate))
    return Group(grid, Text(f"{summarize_exclusions(result.data)}", style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy and compare it with the best constant prediction."""
    accuracy = result.scores["accuracy"]
    constant = format_points(result.scores["majority"])
    return f"correct on {format_share(accuracy)} of {accuracy.n:,} pairs (the best constant prediction: {constant} %)."
