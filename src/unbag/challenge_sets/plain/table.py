"""Terminal table of the accuracy on an unchanged corpus."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.plain import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import exclusion_summary, interval, points, result_table, share


def table(result: Result) -> RenderableType:
    """Build the table of accuracy on all pairs and per label."""
    scores = result.scores
    grid = result_table(SET.title, result, "pairs", "n", "accuracy [95 %]")
    for name, estimate in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
        grid.add_row(name, f"{estimate.n:,}", interval(estimate))
    return Group(grid, Text(f"{exclusion_summary(result.data)}", style="dim"))


def reading(result: Result) -> str:
    """Summarize the accuracy beside the accuracy of a constant prediction."""
    accuracy = result.scores["accuracy"]
    constant = points(result.scores["majority"])
    return f"correct on {share(accuracy)} of {accuracy.n:,} pairs (a constant prediction: {constant} %)."
