"""Terminal table of uncertainty partitions."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.baselines.lexical.predictors import BASELINES
from unbag.challenge_sets.resnli import SET
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    describe_change,
    format_interval,
    format_points,
    format_share,
    format_value,
    summarize_exclusions,
)
from unbag.scoring.bootstrap import Estimate

_UNKNOWN: Final = "The model's training data are unknown and may include any of these pairs."
_BAR: Final = 30  # characters of a bar for an accuracy of 1


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy on all pairs and per partition, from easiest to hardest, with bars."""
    scores = result.scores
    grid = create_result_table(SET.title, result, "", "accuracy [95 %]", "")
    grid.columns[-1].justify = "left"
    grid.add_row("all", format_interval(scores["accuracy"]), _bar(scores["accuracy"]))
    if "unseen" in scores:
        unseen = scores["unseen"]
        grid.add_row("… not from train", format_interval(unseen), _bar(unseen), end_section=True)
    last = scores["n_partitions"] - 1
    for row in scores["by_partition"]:
        number = row["partition"]
        end = "  easiest" if number == 0 else "  hardest" if number == last else ""
        grid.add_row(
            f"{number:>2}{end}", format_interval(row["accuracy"]), _bar(row["accuracy"]), end_section=number == last
        )
    grid.add_row("drop, easiest to hardest", format_interval(scores["drop"]))
    trend = scores["rank_correlation"]
    grid.add_row("rank correlation", format_value(Estimate(trend, None, None, scores["n_partitions"])))
    counts = f"{scores['n_examples']:,} examples in {_partitions(scores)}, of {summarize_exclusions(result.data)}"
    trained_on = result.model.get("training")
    return Group(grid, Text(f"{counts}.{f' Trained on {trained_on}.' if trained_on else ''}", style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy on unseen pairs, and the change from the easiest to the hardest partition.

    If the training data of the model are unknown, the last sentence says so.
    """
    scores = result.scores
    accuracy = scores.get("unseen", scores["accuracy"])
    pairs = f"the {accuracy.n:,} pairs not from train" if "unseen" in scores else f"all {accuracy.n:,} pairs"
    easiest, hardest = scores["easiest"], scores["hardest"]
    ends = (
        f"{format_points(easiest.value)} % on the easiest partition and {format_points(hardest.value)} % on the hardest"
    )
    # In a complete set the sizes differ by at most one pair, in a sample by more.
    sizes = f"{hardest.n:,} pairs each" if abs(easiest.n - hardest.n) <= 1 else f"{easiest.n:,} and {hardest.n:,} pairs"
    return (
        f"correct on {format_share(accuracy)} of {pairs}; {ends} ({sizes}): {describe_change(scores['drop'])}."
        f"{'' if _has_training_data(result) else ' ' + _UNKNOWN}"
    )


def _partitions(scores: Mapping[str, Any]) -> str:
    """Describe the number of partitions, and how many partitions of the complete set each one joins."""
    n, total = scores["n_partitions"], scores.get("set_partitions")
    if total is None:
        return f"{n} partitions"
    few = f"{n} partition{'' if n == 1 else 's'}"
    return f"{few} (each joins {total // n} of the set's {total}, since there are too few examples)"


def _has_training_data(result: Result) -> bool:
    """Check whether the training data of the model are known. For our baselines they are, even if there are none."""
    return bool(result.model.get("training")) or result.model["name"] in BASELINES


def _bar(accuracy: Estimate) -> str:
    return "█" * round((accuracy.value or 0) * _BAR)
