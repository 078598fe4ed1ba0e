"""Accuracy as a table."""

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.results import Result
from unbag.views.cells import headed, interval, left_out


def table(result: Result) -> RenderableType:
    """Return accuracy on all pairs and on those of each label."""
    scores = result.scores
    shown = headed(result, "pairs", "n", "accuracy [95 %]")
    for name, found in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
        shown.add_row(name, f"{found.n:,}", interval(found))
    return Group(shown, Text(f"{left_out(result.data)}", style="dim"))


def verdict(result: Result) -> str:
    """Return how the accuracy stands beside that of a constant answer."""
    found, share = result.scores["accuracy"], result.scores["majority"]
    if found.low is not None and found.low <= share:
        return f"no better than one constant answer ({share:.0%})."
    return f"right {found.value:.0%} of the time (a constant answer: {share:.0%})."
