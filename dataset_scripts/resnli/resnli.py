"""ReSNLI set: a corpus rearranged so that a bag of words is least certain about the test labels."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.baselines.lexical.predictors import BASELINES
from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure
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
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.uncertainty_partitions import ResnliScores, find_unseen_rows, score_resnli

_PAPER = "ReSNLI 2019"
_UNKNOWN = "The model's training data are unknown and may include any of these pairs."
_BAR = 30  # characters of a bar for an accuracy of 1


class Resnli(ChallengeSet):
    """All labelled pairs of a corpus in rearranged train, validation and test splits."""

    name = "resnli"
    title = "ReSNLI"
    question = "Is the model correct on pairs whose words reveal least about the label?"
    paper = "anonymous EMNLP-IJCNLP submission 2019"
    shuffled = (
        "The gold label of the pair in the original order. The mean word embedding hardly predicts this label. "
        "Accuracy without word order therefore shows other lexical knowledge."
    )
    metrics = ("uncertainty_partitions",)
    score_function = staticmethod(score_resnli)
    scores_type = ResnliScores
    columns = ("partition",)
    optional_columns = ("source_split",)
    metric_definitions = (
        # Most test pairs come from the corpus's training split, which most models were trained on. The paper's models
        # were not trained on them.
        MetricDefinition(
            "accuracy_unseen",
            "accuracy, pairs not from train",
            "unseen",
            roles=build_metric_roles("quoted", "compared", "beside_papers"),
            published_columns=(PublishedColumn(_PAPER, "3", "ReSNLI", "snli"),),
            meaning="pairs from the corpus's other splits; a model may have been trained on these too",
        ),
        MetricDefinition(
            "accuracy",
            "accuracy, all pairs",
            "accuracy",
            roles=build_metric_roles("quoted", "harness"),
            meaning="includes pairs from train, which a model may have been trained on",
        ),
        MetricDefinition(
            "accuracy_easiest",
            "accuracy, easiest partition",
            "easiest",
            roles=build_metric_roles("quoted", "harness"),
            meaning="pairs whose words give the label away most",
        ),
        MetricDefinition(
            "accuracy_hardest",
            "accuracy, hardest partition",
            "hardest",
            roles=build_metric_roles("quoted", "harness"),
            meaning="pairs whose words give the label away least",
        ),
        MetricDefinition(
            "drop",
            "drop, easiest to hardest",
            "drop",
            False,
            build_metric_roles("quoted", "compared", "harness"),
            limits=DIFFERENCE,
            meaning="accuracy on the easiest minus accuracy on the hardest partition",
        ),
    )
    is_accuracy = True
    has_verification = True
    corpus_pairs = {}
    sample = 2000  # a hundred in each partition
    evaluation_order = 7
    report_order = 4
    example_rule = f"Up to {PER_KIND} examples of each kind, sorted by how little the words give the label away (u')."

    def get_builder_class(self) -> Any:
        """Import the builder, which merges and rearranges the splits of a corpus."""
        return import_module(f"{__package__}.builder").ResnliBuilder

    def counts_for_skill(self, columns: Columns) -> NDArray[np.bool_]:
        """Compute a mask of the rows outside the training splits, shape (n,). If there are none, select all rows."""
        unseen = find_unseen_rows(columns)
        return unseen if unseen.any() else np.ones(len(unseen), dtype=np.bool_)

    def build_table(self, result: Result) -> RenderableType:
        """Build the table of accuracy, overall and per difficulty partition (easiest first). Bars show the accuracy."""
        scores = result.scores
        grid = create_result_table(self.title, result, "", "accuracy [95 %]", "")
        grid.columns[-1].justify = "left"
        grid.add_row("all", format_interval(scores["accuracy"]), _draw_bar(scores["accuracy"]))
        if "unseen" in scores:
            unseen = scores["unseen"]
            grid.add_row("… not from train", format_interval(unseen), _draw_bar(unseen), end_section=True)
        last = scores["n_partitions"] - 1
        for row in scores["by_partition"]:
            number, accuracy = row["partition"], row["accuracy"]
            end = "  easiest" if number == 0 else "  hardest" if number == last else ""
            cells = (f"{number:>2}{end}", format_interval(accuracy), _draw_bar(accuracy))
            grid.add_row(*cells, end_section=number == last)
        grid.add_row("drop, easiest to hardest", format_interval(scores["drop"]))
        trend = Estimate(scores["rank_correlation"], None, None, scores["n_partitions"])
        grid.add_row("rank correlation", format_value(trend))
        partitions = _describe_partitions(scores)
        counts = f"{scores['n_examples']:,} examples in {partitions}, of {summarize_exclusions(result.data)}"
        trained_on = result.model.get("training")
        return Group(grid, Text(f"{counts}.{f' Trained on {trained_on}.' if trained_on else ''}", style="dim"))

    def summarize_result(self, result: Result) -> str:
        """Summarize the accuracy outside the training split, and the change from easiest to hardest partition."""
        scores = result.scores
        accuracy = scores.get("unseen", scores["accuracy"])
        pairs = f"the {accuracy.n:,} pairs not from train" if "unseen" in scores else f"all {accuracy.n:,} pairs"
        easiest, hardest = scores["easiest"], scores["hardest"]
        ends = (
            f"{format_points(easiest.value)} % on the easiest partition and {format_points(hardest.value)} % on the "
            "hardest"
        )
        # In a complete set the sizes differ by at most one pair, in a sample by more.
        is_even = abs(easiest.n - hardest.n) <= 1
        sizes = f"{hardest.n:,} pairs each" if is_even else f"{easiest.n:,} and {hardest.n:,} pairs"
        # The training data of our baselines are known, even if there are none.
        is_known = bool(result.model.get("training")) or result.model["name"] in BASELINES
        return (
            f"correct on {format_percentage(accuracy)} of {pairs}; {ends} ({sizes}): "
            f"{describe_accuracy_drop(scores['drop'])}.{'' if is_known else ' ' + _UNKNOWN}"
        )

    def build_figures(self, group: ResultGroup) -> list[Figure | None]:
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

    def select_examples(self, rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
        """Select the hardest pairs: first those predicted wrongly, then those predicted correctly."""
        pairs = PredictedPairs(rows, predictions)
        uncertainty = read_numeric_column(rows, "uncertainty").astype(np.float64)
        return self.iter_wrong_and_right(pairs, "hardest,", uncertainty)

    def select_short_examples(self, rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
        """Select the shortest pairs from the harder half of the partitions, without those known to be from train."""
        pairs = PredictedPairs(rows, predictions)
        partition = read_numeric_column(rows, "partition")
        # A sample joins partitions, so that their number is only known from the rows.
        harder = 2 * partition >= partition.max()
        columns = {
            name: read_column(rows, name).to_pylist() for name in ("partition", "source_split") if name in rows.features
        }
        for index in pairs.select_shortest(np.flatnonzero(harder & self.counts_for_skill(columns))):
            yield self.build_example(pairs, "words give little away", index)

    def build_example(self, pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
        """Build an example with its uncertainty and its partition."""
        row = pairs.get_row(index)
        note = f"u' {row['uncertainty']:.3f}, partition {row['partition']}"
        return pairs.build_example(kind, index, build_pair_lines(row), note)


def _describe_partitions(scores: Mapping[str, Any]) -> str:
    """Describe the number of partitions, and how many partitions of the complete set each one joins."""
    n, total = scores["n_partitions"], scores.get("set_partitions")
    if total is None:
        return f"{n} partitions"
    few = f"{n} partition{'' if n == 1 else 's'}"
    return f"{few} (each joins {total // n} of the set's {total}, since there are too few examples)"


def _draw_bar(accuracy: Estimate) -> str:
    return "█" * round((accuracy.value or 0) * _BAR)
