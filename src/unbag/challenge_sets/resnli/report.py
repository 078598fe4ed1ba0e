"""Report of ReSNLI: terminal table, metrics, figures and examples."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.baselines.lexical.predictors import BASELINES
from unbag.challenge_sets.resnli import SET
from unbag.challenge_sets.resnli.scores import compute_resnli_skill_score_mask
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.challenge_sets.views.tables import (
    create_result_table,
    describe_accuracy_drop,
    format_interval,
    format_percentage,
    format_points,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate

_UNKNOWN: Final = "The model's training data are unknown and may include any of these pairs."
_BAR: Final = 30  # characters of a bar for an accuracy of 1


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy, overall and per difficulty partition (easiest first). Bars show the accuracy."""
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
    """Summarize the accuracy on pairs outside the training split, and the change from easiest to hardest partition.

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
        f"correct on {format_percentage(accuracy)} of {pairs}; {ends} ({sizes}): "
        f"{describe_accuracy_drop(scores['drop'])}."
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


_MEANINGS: Final = {
    "accuracy_unseen": "pairs from the corpus's other splits; a model may have been trained on these too",
    "accuracy": "includes pairs from train, which a model may have been trained on",
    "accuracy_easiest": "pairs whose words give the label away most",
    "accuracy_hardest": "pairs whose words give the label away least",
    "drop": "accuracy on the easiest minus accuracy on the hardest partition",
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of the set, as tuples (label, meaning, value)."""
    return iter_metrics(SET, _MEANINGS, scores)


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figure of accuracy by difficulty partition."""
    return [
        build_group_figure(
            group,
            lambda scores: ((row["partition"], row["accuracy"]) for row in scores["by_partition"]),
            title="Accuracy by partition",
            about="Partitions are numbered by difficulty: in partition 0, the words reveal the label most clearly.",
            x="partition",
            y="accuracy",
            kind="curve",
        )
    ]


EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} examples of each kind, sorted by how little the words give the label away (u')."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the hardest pairs: first those predicted wrongly, then those predicted correctly."""
    pairs = PredictedPairs(rows, predictions)
    uncertainty = read_numeric_column(rows, "uncertainty").astype(np.float64)
    for kind, wanted in (("hardest, wrong", ~pairs.right), ("hardest, right", pairs.right)):
        for index in select_top_rows(np.flatnonzero(wanted), uncertainty):
            yield _example(pairs, kind, index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs from the partitions with above-median difficulty.

    If the split of each pair is known, pairs from a training split are omitted.
    """
    pairs = PredictedPairs(rows, predictions)
    partition = read_numeric_column(rows, "partition")
    harder = 2 * partition >= partition.max()
    columns = {
        name: read_column(rows, name).to_pylist() for name in ("partition", "source_split") if name in rows.features
    }
    for index in pairs.select_shortest(np.flatnonzero(harder & compute_resnli_skill_score_mask(columns))):
        yield _example(pairs, "words give little away", index)


def _example(pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
    row = pairs.get_row(index)
    note = f"u' {row['uncertainty']:.3f}, partition {row['partition']}"
    return pairs.build_example(kind, index, build_pair_lines(row), note)
