"""Accuracy as a table."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.results import Result
from unbag.views.cells import headed, interval, left_out


def table(result: Result) -> RenderableType:
    """Return accuracy on all pairs and on those of each label."""
    scores = result.scores
    grid = headed(result, "pairs", "n", "accuracy [95 %]")
    for name, estimate in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
        grid.add_row(name, f"{estimate.n:,}", interval(estimate))
    return Group(grid, Text(f"{left_out(result.data)}", style="dim"))


def verdict(result: Result) -> str:
    """Return how the accuracy stands beside that of a constant answer."""
    accuracy, share = result.scores["accuracy"], result.scores["majority"]
    if accuracy.low is not None and accuracy.low <= share:
        return f"no better than one constant answer ({share:.0%})."
    return f"right {accuracy.value:.0%} of the time (a constant answer: {share:.0%})."
