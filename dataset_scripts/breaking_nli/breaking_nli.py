"""Breaking NLI: pairs that differ in one word, from the authors or generated from a corpus."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, Scores, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    build_pair_lines,
    mark_phrases,
)
from unbag.challenge_sets.views.figures import (
    Figure,
    FigurePoint,
    FigureSeries,
    ResultGroup,
    build_group_figure,
    build_point_estimate,
)
from unbag.challenge_sets.views.tables import (
    create_result_table,
    format_interval,
    format_percentage,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, NOT_CONTRADICTION, NOT_ENTAILMENT
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.category_accuracy import BreakingNliScores, find_tied_rows, score_breaking_nli
from unbag.scoring.skill import RowScores

_PAPER = "Glockner et al. 2018"
_PLURAL = {
    ENTAILMENT: "entailments",
    NEUTRAL: "neutral pairs",
    CONTRADICTION: "contradictions",
    NOT_ENTAILMENT: "pairs labelled not entailment",
    NOT_CONTRADICTION: "pairs labelled not contradiction",
}
_MIN_PAIRS = 50  # from 50 pairs the standard error of an accuracy is below 0.1
_PER_CATEGORY = 2


def _define_accuracy(label: str) -> MetricDefinition:
    """Define the accuracy on the pairs of one label. Most pairs are contradictions, so the accuracy says little."""

    def compute(scores: Scores) -> Estimate | None:
        # Computed, since the scores name labels by their position, which depends on the labels of the model.
        rows = {scores["labels"][row["label"]]: row["accuracy"] for row in scores["by_label"]}
        return rows.get(label)

    roles = build_metric_roles("quoted")
    return MetricDefinition(f"accuracy_{label}", f"accuracy, {label}", roles=roles, compute=compute)


class BreakingNli(ChallengeSet):
    """Pairs of a premise and a hypothesis that differ in one word or phrase."""

    name = "breaking_nli"
    title = "Breaking NLI"
    question = "Does the model notice one replaced word: sofa for couch, seven for five?"
    paper = "Glockner et al. 2018, https://aclanthology.org/P18-2103"
    shuffled = (
        "The gold label of the pair in the original order. Shuffling keeps the word that differs between the "
        "sentences, so the control measures knowledge of word pairs."
    )
    from_text = True
    metrics = ("category_accuracy",)
    score_function = staticmethod(score_breaking_nli)
    scores_type = BreakingNliScores
    columns = ("category",)
    optional_columns = ("similarity", "pair_frequency", "annotator_labels", "premise")
    metric_definitions = (
        MetricDefinition(
            "accuracy",
            "accuracy",
            "accuracy",
            roles=build_metric_roles("quoted", "compared", "beside_papers", "harness"),
            published_columns=(PublishedColumn(_PAPER, "3", "Breaking NLI", OFFICIAL, same_rows=True),),
        ),
        *(_define_accuracy(label) for label in (*LABELS, NOT_ENTAILMENT)),
    )
    is_accuracy = True
    has_verification = True
    sample = 2000
    evaluation_order = 3
    report_order = 7
    example_rule = (
        f"Up to {PER_KIND} pairs of each kind, at most {_PER_CATEGORY} per category, sorted by the probability of the "
        "prediction. The replaced words are marked."
    )
    mark_meanings = {"replaced": "replaced words"}

    def get_builder_class(self) -> Any:
        """Import the builder, which has a config with the authors' pairs."""
        return import_module(f"{__package__}.builder").BreakingNliBuilder

    def score_examples(self, columns: Columns, predictions: SetPredictions) -> RowScores:
        """Compute the row scores: 1 if the prediction is correct and no other label has its probability, else 0.

        Pairs that share a premise are resampled together.
        """
        gold = predictions.to_label_positions(columns["label"])
        # A model that gives several labels one probability has not decided. The order of the labels must not decide.
        right = (predictions.predicted == gold) & ~find_tied_rows(predictions)
        return RowScores(right, gold, columns.get("premise", range(len(gold))))

    def build_table(self, result: Result) -> RenderableType:
        """Build the table of accuracy: overall, by label, category and, if available, word similarity and frequency.

        If the pairs have annotators' labels, a column shows the accuracy of one annotator.
        """
        scores = result.scores
        human = ["human"] if "human" in scores else []
        grid = create_result_table(self.title, result, "", "n", "accuracy [95 %]", *human)
        grid.add_row("all", *_format_cells(scores["n_examples"], scores), end_section=True)
        names = scores["labels"]
        views: list[tuple[str, Any]] = [
            ("by_label", lambda row: names[row["label"]]),
            ("by_category", lambda row: row["category"]),
            ("by_similarity", lambda row: f"cosine {row['low']:g} to {row['high']:g}"),
            ("by_frequency", lambda row: f"{_format_count_range(row)} training pairs"),
        ]
        for view, name in views:
            rows = [row for row in scores.get(view, []) if row["accuracy"].n]
            for number, row in enumerate(rows, start=1):
                grid.add_row(name(row), *_format_cells(row["accuracy"].n, row), end_section=number == len(rows))
        n = scores["unanswered"]
        unanswered = f"; {n:,} {'pair' if n == 1 else 'pairs'} without an answer" if n else ""
        note = f"{summarize_exclusions(result.data)}{unanswered}{_format_kappa(scores)}"
        return Group(grid, Text(note, style="dim"))

    def summarize_result(self, result: Result) -> str:
        """Summarize the accuracy by gold label, and the category with the lowest accuracy."""
        names = result.scores["labels"]
        rows = [row for row in result.scores["by_label"] if row["accuracy"].n]
        right = ", ".join(
            f"{format_percentage(row['accuracy'])} of {row['accuracy'].n:,} {_PLURAL[names[row['label']]]}"
            for row in rows
        )
        nonempty = [row for row in result.scores["by_category"] if row["accuracy"].n]
        large = [row for row in nonempty if row["accuracy"].n >= _MIN_PAIRS]
        low = min((row["accuracy"].value for row in large), default=0.0)
        lowest = [row for row in large if row["accuracy"].value == low]
        where = ""
        if len(large) > 1 and len(lowest) == 1:  # a lowest category needs at least two categories and no tie
            [row] = lowest
            scope = "" if len(large) == len(nonempty) else f" with {_MIN_PAIRS} pairs or more"
            accuracy = row["accuracy"]
            where = f"; lowest category{scope}: {row['category']}, {format_percentage(accuracy)} of {accuracy.n:,}"
        return f"correct on {right}{where}."

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        """Iterate over the accuracy on all pairs, the accuracy per label and the annotator agreement."""
        yield "accuracy", "share of correct pairs", scores["accuracy"]
        # Without an interval, since the share of the most frequent label depends on no prediction.
        constant = build_point_estimate(scores["majority"], scores["n_examples"])
        yield "majority", "accuracy of the best constant prediction", constant
        for row in scores["by_label"]:
            yield scores["labels"][row["label"]], "share of correct pairs among those of this label", row["accuracy"]
        if "human" in scores:
            yield "human", "share of pairs where one annotator gives the gold label", scores["human"]
        if "kappa" in scores:
            yield "κ", "Fleiss' κ of the annotators: agreement beyond chance", scores["kappa"]["overall"]

    def build_figures(self, group: ResultGroup) -> list[Figure | None]:
        """Build figures of the accuracy by category and, if available, by word similarity and frequency."""
        # One order for all models, so that the dots of a category are in one row.
        first = group.scored_models[0].result.scores["by_category"]
        best = sorted(first, key=lambda row: -(row["accuracy"].value or 0))
        order = {row["category"]: number for number, row in enumerate(best)}
        human = tuple(FigurePoint(row["category"], row["human"]) for row in first if "human" in row)

        def points(scores: Any) -> list[tuple[str, Estimate]]:
            rows = sorted(scores["by_category"], key=lambda row: order[row["category"]])
            return [(row["category"], row["accuracy"]) for row in rows]

        category = build_group_figure(
            group,
            points,
            references=[FigureSeries("one annotator", human, is_reference=True)] if human else [],
            title="Accuracy by category of word",
            about="Categories are sorted by the accuracy of the first model. Lines are 95 % intervals.",
            x="category",
            y="accuracy",
            kind="dots",
        )
        similarity = build_group_figure(
            group,
            lambda scores: (
                (f"{row['low']:g} to {row['high']:g}", row["accuracy"]) for row in scores.get("by_similarity", ())
            ),
            title="Contradictions by similarity of the words",
            about="Accuracy by the cosine similarity of the two words' embeddings.",
            x="similarity",
            y="accuracy",
            kind="dots",
        )
        frequency = build_group_figure(
            group,
            lambda scores: ((_format_count_range(row), row["accuracy"]) for row in scores.get("by_frequency", ())),
            title="Contradictions by frequency in the training data",
            about="Accuracy by the number of contradicting training pairs that contain both words, one in each "
            "sentence.",
            x="training pairs",
            y="accuracy",
            kind="dots",
        )
        return [category, similarity, frequency]

    def select_examples(self, rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
        """Select the most confident wrong predictions, then the most confident correct ones."""
        pairs = PredictedPairs(rows, predictions)
        groups = read_column(rows, "category").to_pylist()
        return self.iter_wrong_and_right(
            pairs, "most confident", pairs.confidence, per_group=_PER_CATEGORY, groups=groups
        )

    def select_short_examples(self, rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
        """Select the shortest pairs."""
        pairs = PredictedPairs(rows, predictions)
        for index in pairs.select_shortest(np.arange(len(pairs.gold))):
            yield self.build_example(pairs, "one word replaced", index)

    def build_example(self, pairs: PredictedPairs, kind: str, index: int) -> ReportExample:
        """Build an example with marked words."""
        row = pairs.get_row(index)
        words = {"premise": row["replaced"], "hypothesis": row["replacement"]}
        lines = build_pair_lines(row, lambda side: mark_phrases(row[side], [words[side]], "replaced"))
        return pairs.build_example(kind, index, lines, f"category {row['category']}")


def _format_cells(n: int, row: Mapping[str, Any]) -> list[str]:
    return [f"{n:,}", format_interval(row["accuracy"]), *([format_value(row["human"])] if "human" in row else [])]


def _format_kappa(scores: Mapping[str, Any]) -> str:
    """Format Fleiss' κ of the annotators; empty without annotators."""
    if "kappa" not in scores:
        return ""
    kappa, names = scores["kappa"], scores["labels"]
    by_label = ", ".join(f"{names[row['label']]} {format_value(row['kappa'])}" for row in kappa["by_label"])
    return f". Fleiss' κ of {kappa['annotators']} annotators: {format_value(kappa['overall'])} ({by_label})"


def _format_count_range(row: Any) -> str:
    least, most = row["least"], row["most"]
    return f"{least}+" if most is None else f"{least}" if least == most else f"{least}-{most}"
