"""Uncertainty partitions as a table."""

from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.results import Result
from unbag.scoring.bootstrap import Estimate
from unbag.views.cells import headed, interval, left_out, value

_BAR: Final = 30  # characters that stand for an accuracy of 1
_ENOUGH: Final = 50  # examples at each end: the standard error of their accuracy is then below a tenth


def table(result: Result) -> RenderableType:
    """Return the accuracy on all, and on each partition from the easiest to the hardest as a bar."""
    scores = result.scores
    grid = headed(result, "", "accuracy [95 %]", "")
    grid.columns[-1].justify = "left"
    grid.add_row("all", interval(scores["accuracy"]), _bar(scores["accuracy"]))
    if "unseen" in scores:
        unseen = scores["unseen"]
        grid.add_row("… not from train", interval(unseen), _bar(unseen), end_section=True)
    last = scores["n_partitions"] - 1
    for row in scores["by_partition"]:
        number = row["partition"]
        end = "  easiest" if number == 0 else "  hardest" if number == last else ""
        grid.add_row(f"{number:>2}{end}", interval(row["accuracy"]), _bar(row["accuracy"]), end_section=number == last)
    grid.add_row("drop, easiest to hardest", interval(scores["drop"]))
    trend = scores["rank_correlation"]
    grid.add_row("rank correlation", value(Estimate(trend, None, None, scores["n_partitions"])))
    counts = f"{scores['n_examples']:,} examples in {scores['n_partitions']} partitions, of {left_out(result.data)}"
    return Group(grid, Text(counts, style="dim"))


def verdict(result: Result) -> str:
    """Return what the fall from the easiest to the hardest partition says of a model."""
    scores = result.scores
    easiest, hardest, drop = (scores[name] for name in ("easiest", "hardest", "drop"))
    if min(easiest.n, hardest.n) < _ENOUGH:
        return f"none yet; its partitions have {hardest.n} examples, and {_ENOUGH} are needed to judge by."
    ends = f"{easiest.value:.0%} right on the easiest pairs of the set, {hardest.value:.0%} on the hardest"
    if drop.low > 0:
        return f"it leans on words: the less they give away, the worse it gets ({ends})."
    return f"how little words give away makes no difference to it ({ends})."


def _bar(accuracy: Estimate) -> str:
    return "█" * round((accuracy.value or 0) * _BAR)
