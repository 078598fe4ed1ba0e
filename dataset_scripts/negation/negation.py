"""Negation set: premises with the same words for both labels, which differ only in the scope of the negation."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType

from unbag.challenge_sets.base import ACCURACY, ChallengeSet, MetricDefinition
from unbag.challenge_sets.pairs import Pairs, SetOptions
from unbag.challenge_sets.perturbations import vocabulary_split
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_numeric_column
from unbag.data.labels import NOT_ENTAILMENT, TWO_WAY, get_gold_id
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import PIPELINE
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.negation_consistency import score_negation

_ENOUGH = 20  # premises of an operation, below which its accuracy says little
_NEGATION = re.compile(r"\b(?:not|no|none|false|untrue|at most)\b", re.IGNORECASE)


@dataclass
class NegationOptions(SetOptions):
    """Options of the generated pairs.

    Attributes:
        seed: Random seed for the sentences and words that are added to a premise.
        pipeline: spaCy pipeline of the parser: a package, a folder or a Hub repository.
        words: Vocabulary of the pairs: `all`; `held_out` (subject, verb, added noun and negation are in the half of
            the vocabulary that `unbag train mend` does not use); or `training` (all four are in the other half).
    """

    seed: int = 13
    pipeline: str = PIPELINE
    words: vocabulary_split.Words = vocabulary_split.ALL


class Negation(ChallengeSet):
    """Pairs built from each distinct premise of a corpus split.

    Configs: `<corpus>-<split>` for every English corpus; `data=…` and `text=…` use your own data.
    """

    name = "negation"
    title = "Negation"
    question = "Does the model recognise what a negation applies to?"
    paper = "unbag, after Gardner et al. 2020, https://arxiv.org/abs/2004.02709"
    citation = """@inproceedings{gardner-etal-2020-evaluating,
  title = {Evaluating Models' Local Decision Boundaries via Contrast Sets},
  author = {Gardner, Matt and others},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.117},
  eprint = {2004.02709}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the row in the original order. Both premises of a mirror have the same words, so "
        "without word order, no word shows which premise entails the hypothesis."
    )
    Options = NegationOptions
    own_columns = {
        "operation": "string",
        "mirror": "string",  # the two rows of a mirror share it
        "negation": "string",  # phrase that negates in the premise
        "source_premise": "string",
    }
    rows_per_table = 1_000  # small, because parsing is slow and progress is shown per table
    language = "en"
    from_text = True
    parses = True
    is_sequential = True  # each distinct premise is used once
    label_names = TWO_WAY
    machine_made = frozenset({"sentences", "labels"})
    exclusion_reason = "with a repeated premise or a premise that is not a plain clause"
    metrics = ("negation_consistency",)
    score_function = staticmethod(score_negation)
    columns = ("source_id", "mirror", "operation")
    metric_definitions = (
        ACCURACY.explain("share of correct predictions; half for every model that ignores word order"),
        MetricDefinition(
            "false_entailment_rate",
            "false-entailment rate",
            higher_is_better=False,
            meaning="share of not-entailed pairs that are called entailed",
        ),
        MetricDefinition(
            "mirror_consistency",
            "mirror consistency",
            meaning="share of the mirrors with correct predictions for both pairs",
        ),
    )
    has_verification = True
    sample = 100  # premises, of some two dozen rows each
    evaluation_order = 5
    report_order = 10
    example_rule = (
        f"Up to {examples.PER_KIND} wrong predictions of each operation, one per source sentence, by the probability "
        "of the prediction. Negations are marked."
    )
    mark_meanings = {"moved": "negation"}

    def rows(self, pairs: Pairs) -> Iterator[Mapping[str, Any]]:
        """Build the pairs, and count the operations and the rejected premises."""
        from unbag.challenge_sets.perturbations.negation import iter_negation_rows  # imports the natural logic

        options = pairs.options
        yield from iter_negation_rows(
            pairs, Parser(options.pipeline), seed=options.seed, words=options.words, counts=pairs.counts
        )

    def build_table(self, result: Result) -> RenderableType:
        """Build the table of the metrics, overall and by operation."""
        scores = result.scores
        grid = tables.create_result_table(self.title, result, "rows", "accuracy [95 %]", "false ent.", "mirrors right")
        parts = [("all", scores), *((part["operation"], part) for part in _sort_operations(scores))]
        for number, (name, part) in enumerate(parts):
            single = (tables.format_value(part[key]) for key in ("false_entailment_rate", "mirror_consistency"))
            grid.add_row(name, tables.format_interval(part["accuracy"]), *single, end_section=number == 0)
        rows = f"{scores['n_examples']:,} rows, {scores['n_mirrors']:,} mirrors"
        return tables.add_notes(grid, f"{rows}, of {tables.summarize_exclusions(result.data)}")

    def summarize_result(self, result: Result) -> str:
        """Summarize the accuracy, the hardest operation, and the consistency on premises with the same words."""
        scores = result.scores
        hardest = ""
        if lowest := tables.find_extreme_row(scores["by_operation"], "accuracy", min, _ENOUGH):
            hardest = f", least on {lowest['operation']} ({tables.format_percentage(lowest['accuracy'])})"
        return (
            f"correct on {tables.format_percentage(scores['accuracy'])} of the pairs{hardest}, and on both pairs of "
            f"{tables.format_percentage(scores['mirror_consistency'])} of the mirrors: a hypothesis with two premises "
            "of the same words. A model that ignores word order has 50 % and 0 %."
        )

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        """Iterate over the metrics of the set and the accuracy for each operation."""
        yield from super().iter_set_metrics(scores)
        for part in _sort_operations(scores):
            yield f"accuracy, {part['operation']}", "share of correct predictions", part["accuracy"]

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        """Build figures of the accuracy and the false-entailment rate for each operation."""
        yield figures.build_group_figure(
            group,
            lambda scores: ((part["operation"], part["accuracy"]) for part in _sort_operations(scores)),
            title="Accuracy by operation",
            about="Share of correct predictions. A model that ignores word order has 50 %.",
            x="operation",
        )
        yield figures.build_group_figure(
            group,
            lambda scores: ((part["operation"], part["false_entailment_rate"]) for part in _sort_operations(scores)),
            title="False entailments by operation",
            about="Share of not-entailed pairs that are predicted as entailment. Lower is better.",
            x="operation",
            y="false-entailment rate",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the most confident wrong predictions for each operation, one per source sentence."""
        return self.iter_errors_by(pairs, "operation")

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the shortest pairs whose gold label is not_entailment."""
        is_not_entailed = read_numeric_column(pairs.rows, "label") == get_gold_id(NOT_ENTAILMENT)
        return self.iter_shortest(pairs, lambda row: str(row["operation"]), is_not_entailed)

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        """Build an example with marked negations."""
        row = pairs.get_row(index)

        def mark(side: str) -> tuple[examples.TextMark, ...]:
            return tuple(examples.TextMark(*found.span(), "moved") for found in _NEGATION.finditer(row[side]))

        return pairs.build_example(kind, index, examples.build_pair_lines(row, mark))


def _sort_operations(scores: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Sort the scores by operation."""
    from unbag.challenge_sets.perturbations.negation_operations import OPERATIONS  # inflects many nouns

    return sorted(scores["by_operation"], key=lambda part: OPERATIONS.index(part["operation"]))
