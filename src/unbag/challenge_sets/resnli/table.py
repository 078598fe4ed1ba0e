"""Uncertainty partitions as a table."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.baselines.lexical.predictors import BASELINES
from unbag.challenge_sets.resnli import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import change, exclusions, headed, interval, points, share, value
from unbag.scoring.bootstrap import Estimate

_UNKNOWN: Final = "What the model was trained on is not known: it may have seen any of these pairs."
_BAR: Final = 30  # characters that stand for an accuracy of 1


def table(result: Result) -> RenderableType:
    """Return the accuracy on all, and on each partition from the easiest to the hardest as a bar."""
    scores = result.scores
    grid = headed(SET.title, result, "", "accuracy [95 %]", "")
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
    counts = f"{scores['n_examples']:,} examples in {_partitions(scores)}, of {exclusions(result.data)}"
    trained_on = result.model.get("training")
    return Group(grid, Text(f"{counts}.{f' Trained on {trained_on}.' if trained_on else ''}", style="dim"))


def reading(result: Result) -> str:
    """Return the accuracy on pairs not from train, where these are known, and its change from easiest to hardest.

    Where it is not known what the model was trained on, that is said last.
    """
    scores = result.scores
    accuracy = scores.get("unseen", scores["accuracy"])
    pairs = f"pairs not from train, {accuracy.n:,} of them" if "unseen" in scores else f"all {accuracy.n:,} pairs"
    easiest, hardest = scores["easiest"], scores["hardest"]
    ends = f"{points(easiest.value)} % right on the easiest partition, {points(hardest.value)} % of the hardest"
    # Of a whole set they differ by one pair at most; of drawn examples by more.
    sizes = f"{hardest.n:,} pairs each" if abs(easiest.n - hardest.n) <= 1 else f"{easiest.n:,} and {hardest.n:,} pairs"
    return (
        f"right {share(accuracy)} of the time on {pairs}; {ends}, of {sizes}: {change(scores['drop'])}."
        f"{'' if _is_known(result) else ' ' + _UNKNOWN}"
    )


def _partitions(scores: Mapping[str, Any]) -> str:
    """Return how many partitions there are, and of how many of the whole set's each is made where those are more."""
    n, total = scores["n_partitions"], scores.get("set_partitions")
    if total is None:
        return f"{n} partitions"
    few = f"{n} partition{'' if n == 1 else 's'}"
    return f"{few} (each joins {total // n} of the set's {total}: too few examples to fill them)"


def _is_known(result: Result) -> bool:
    """Return whether it is known what the model was trained on: of our own, if on nothing at all."""
    return bool(result.model.get("training")) or result.model["name"] in BASELINES


def _bar(accuracy: Estimate) -> str:
    return "█" * round((accuracy.value or 0) * _BAR)
