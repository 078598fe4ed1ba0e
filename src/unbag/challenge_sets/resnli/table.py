"""Uncertainty partitions as a table."""

from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.results import Result
from unbag.scoring.bootstrap import Estimate
from unbag.views.cells import headed, interval, left_out, value
from unbag.views.changes import change, points, share

_BAR: Final = 30  # characters that stand for an accuracy of 1


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


def reading(result: Result) -> str:
    """Return the accuracy on pairs that no model has trained on, and how it falls from the easiest to the hardest."""
    scores = result.scores
    where, accuracy = ("pairs not from train", scores["unseen"]) if "unseen" in scores else ("all", scores["accuracy"])
    ends = f"{points(scores['easiest'].value)} % right of the easiest partition, {points(scores['hardest'].value)} % of"
    return (
        f"right {share(accuracy)} of the time on {where}, {accuracy.n:,} of them; {ends} the hardest, of "
        f"{scores['hardest'].n:,} pairs each: {change(scores['drop'])}."
    )


def _bar(accuracy: Estimate) -> str:
    return "█" * round((accuracy.value or 0) * _BAR)
