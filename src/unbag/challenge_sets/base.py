"""Base class of the challenge sets, and the definitions of their metrics."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import RenderableType

from unbag.challenge_sets.pairs import OfficialPairs, PairPart, Pairs, SetOptions, deduplicate
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.requirements import Requirement, build_pipeline_requirement
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import ROWS_PER_TABLE, read_column, read_column_values
from unbag.data.labels import ENTAILMENT
from unbag.data.predictions import Columns, SetPredictions
from unbag.data.sources import PairSource
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import precompute_annotations
from unbag.scoring.accuracy import score_accuracy
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.nested import find_estimate, iter_estimates
from unbag.scoring.skill import RowScores, skill_score
from unbag.scoring.verification import compute_detection_scores, compute_verifier_scores

LAST: Final = 1_000
"""Default position of a set: after all sets that declare a position."""

SKILL: Final = "skill"
"""Key of the skill score (`scoring.skill`) in the scores of every set. The value is None if the score is undefined."""

DETECTION: Final = "detection"
"""Key of the scores of a contradiction detector, if the labels are contradiction and the rest."""

VERIFICATION: Final = "verification"
"""Key of the verifier metrics (`scoring.verification`) in the scores of sets that have them; None if undefined."""

_ROUNDING: Final = 1e-9  # a mean of fractions may exceed its limits by rounding
_LOWER_IS_BETTER: Final = ("false_entailment", "false_contradiction", "brier")

Role = Literal["quoted", "compared", "beside_papers", "harness"]
"""Where a number is shown: `quoted` in cards and leaderboards, `compared` by `unbag compare`, `beside_papers` in the
report beside the papers' figures, `harness` as a score of the task exported to other harnesses."""

Scores = Mapping[str, Any]


@dataclass(frozen=True)
class MetricDefinition:
    """Definition of a metric of a challenge set: its name, display name and location in the nested scores."""

    name: str  # machine-readable name, unique in its set
    label: str  # display name, in the terms of the set's paper
    path: str = ""  # path in the scores (`scoring.nested`); "" for the name
    higher_is_better: bool = True
    roles: tuple[Role, ...] = ("quoted", "compared", "harness")
    published_columns: tuple[PublishedColumn, ...] = ()  # columns of the papers' tables that report the same number
    # Function from the scores to the number, or to None if the scores lack it.
    compute: Callable[[Scores], Estimate | None] | None = None
    limits: tuple[float, float] = (0.0, 1.0)  # smallest and largest possible value
    other_path: str = ""  # path in the scores of models that have no value at `path`; empty for none
    meaning: str = ""  # explanation in the report

    def __post_init__(self) -> None:
        if not self.path:
            object.__setattr__(self, "path", self.name)

    def explain(self, meaning: str) -> "MetricDefinition":
        """Copy the definition with another meaning."""
        return replace(self, meaning=meaning)

    def get_estimate(self, scores: Scores) -> Estimate | None:
        """Look up or compute the value of the metric. Return None if the scores do not contain it."""
        if self.compute:
            return self.compute(scores)
        return find_estimate(scores, self.path) or find_estimate(scores, self.other_path)


DIFFERENCE: Final = (-1.0, 1.0)
"""Bounds of a difference between two shares."""

SCORE: Final = MetricDefinition(
    "skill",
    "skill score",
    f"{SKILL}.score",
    roles=("quoted", "compared"),
    limits=(-math.inf, 1.0),  # unbounded below: the denominator 1 - reference may be close to 0
)
"""The skill score (`scoring.skill`), which represents a set wherever a single number is needed."""


VERIFIER: Final = tuple(
    MetricDefinition(
        name,
        label,
        f"{VERIFICATION}.{path}",
        name not in _LOWER_IS_BETTER,
        roles=(),
        other_path=other and f"{DETECTION}.{other}",
    )
    for name, label, path, other in (
        ("auroc", "AUROC", "auroc", "auroc"),
        ("average_precision", "average precision", "average_precision", "average_precision"),
        ("balanced_accuracy", "balanced accuracy", "balanced_accuracy", "balanced_accuracy"),
        ("recall", "recall", "recall", "recall"),
        ("false_entailment", "false entailment", "false_entailment", ""),
        ("false_contradiction", "false contradiction", "false_contradiction", "false_positive"),
        ("brier", "Brier score", "calibration.brier", "calibration.brier"),
    )
)
"""The metrics of a verifier or contradiction detector (`scoring.verification`). Tables show them only on request."""


class MeasuredMetric(NamedTuple):
    """A metric with its value, 95 % confidence interval and number of examples."""

    definition: MetricDefinition
    estimate: Estimate


ACCURACY: Final = MetricDefinition(
    "accuracy", "accuracy", roles=("quoted", "compared", "beside_papers", "harness"), meaning="share of correct pairs"
)
"""The accuracy, the metric of a set that defines no other."""


class ChallengeSet:
    """Base class of the challenge sets. A set is one class in `dataset_scripts/<set>/<set>.py`.

    A set must have the first group of attributes and the method `rows`. By default, its score is the accuracy, its
    table and figure show the accuracy by gold label, and its examples are the most confident errors.

    The module of a set is imported whenever its results are shown. It does not import `datasets`, spaCy or torch.
    """

    name: str  # name in commands, which is also the name of its module
    title: str  # display name of one or two words, used everywhere except in commands
    question: str  # question that the set answers about a model
    paper: str  # who published the test, followed by the address of the paper
    # BibTeX of the paper. The citation of the corpus is appended.
    citation: str = ""

    version: str = "1.0.0"  # version of the rows
    Options: type[SetOptions] = SetOptions  # options of the set
    # Options that a result records only if they differ from their default.
    unrecorded_defaults: frozenset[str] = frozenset()
    # An option and its values that have configs of their own, `<corpus>-<split>-<value>`; the default value has no
    # suffix.
    config_variants: tuple[str, Sequence[str]] | None = None
    # Arrow types of the columns that follow `id`, `source_id`, `premise`, `hypothesis` and `label`.
    own_columns: Mapping[str, str] = {}
    schema: pa.Schema | None = None  # all columns, if the set declares more than their types; None for `own_columns`
    rows_per_table: int = ROWS_PER_TABLE  # number of rows that are in memory at the same time
    language: str = ""  # language of the pairs that the set can use; "" for all languages
    has_two_label_corpora: bool = True  # whether the set can use corpora without the label contradiction
    # Languages of the corpora with configs, if they differ from `language`.
    corpus_languages: Sequence[str] = ()
    # Whether your own pairs may be labelled contradiction or not_contradiction.
    accepts_contradiction_labels: bool = False
    # Whether the set can be made from the sentences of a text, without labels and hypotheses. Each sentence is then a
    # pair with itself, labelled entailment (`data.user_text`).
    from_text: bool = False
    is_sequential: bool = False  # whether a single process builds the rows, since they depend on earlier pairs
    tokenizes: bool = True  # whether the set tokenizes sentences, and therefore excludes very long ones
    parses: bool = False  # whether the pipeline parses sentences; results then record it and the counts of `rows`
    # Names of the gold label ids, for a set with labels of its own; None for those of the corpus.
    label_names: Sequence[str] | None = None
    # Parts of a pair, `sentences` or `labels`, that the set generates itself.
    machine_made: frozenset[PairPart] = frozenset()
    # The authors' published pairs, which the config `official` selects by default; None if there are none.
    official: OfficialPairs | None = None
    # Split that models are evaluated on, for a set that merges all splits of a corpus and builds several; None for a
    # set with one split.
    evaluation_split: str | None = None
    exclusion_reason: str = "unfit"  # reason why the set excludes labelled pairs, as a phrase after a number
    # Column that identifies the example of a row: `source_id`, or another one for a set in which several examples share
    # a source.
    example_id: str = "source_id"

    # Modules of `metrics/` that read the set's columns. The first one computes its scores.
    metrics: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # columns that the score function needs beside the label
    optional_columns: tuple[str, ...] = ("source_id",)  # columns that it also uses where complete rows are available
    # Metrics of the scores that are shown elsewhere, in display order.
    metric_definitions: tuple[MetricDefinition, ...] = (ACCURACY,)
    is_accuracy: bool = False  # whether its score is the share of correct rows, which any harness can compute
    # Whether entailment against the rest has a meaning on its rows: their labels are gold labels of the pairs as shown,
    # and some are entailment. Its scores then include those of a verifier.
    has_verification: bool = False
    # Meaning of the gold label when the words of both sentences are shuffled, i.e. how to read the shuffled control
    # (`challenge_sets.perturbations.shuffled`) that the score is compared with.
    shuffled: str = ""
    # Whether the set has a shuffled control. A set of permuted rows needs none.
    has_shuffled_control: bool = True
    is_control: bool = False  # whether the set is an unchanged corpus, which challenge sets are compared with
    # Column values of the rows that are unchanged, unselected pairs of the corpus; empty for all rows, None for no
    # rows. The label order of a file of predictions is checked on them (`evaluation.prediction_labels`).
    corpus_pairs: Mapping[str, Any] | None = None

    sample: int = 1_000  # number of source examples that the suite draws
    sample_options: Mapping[str, Any] = {}  # options that the suite sets if the user gives none of them
    sample_options_unless: frozenset[str] = frozenset()  # further options that switch `sample_options` off
    # Language of the corpora to which `sample_options` are restricted; "" for all pairs.
    sample_options_language: str = ""
    # Position in an evaluation. Sets that are cheap to build and to evaluate come first.
    evaluation_order: int = LAST
    report_order: int = LAST  # position in a report

    # Rule of `select_examples` in words.
    example_rule: str = (
        f"Up to {examples.PER_KIND} mistakes per gold label, sorted by the probability of the prediction, false "
        "entailments first."
    )
    mark_meanings: Mapping[str, str] = {}  # meaning of the marked words of examples, by the kind of mark

    # Rows

    def rows(self, pairs: Pairs) -> Iterable[Mapping[str, Any] | pa.Table]:
        """Build the rows, as dicts with all columns, or as tables of some thousand rows.

        The pairs are those of one range of the source. The rows do not depend on how the source is divided.
        """
        raise NotImplementedError

    def open_sources(self, builder: Any) -> list[PairSource]:
        """Open the data sources of a builder (`builder.ChallengeSetBuilder`): by default the pairs of its options."""
        return [builder.open_pairs()]

    def plan_splits(self, builder: Any, sources: Sequence[PairSource]) -> dict[str, tuple[list[Any], Any]] | None:
        """Assign the examples of all sources to splits, for a set with an `evaluation_split`. Other sets return None.

        Returns the spans of rows of each split, which may be divided, and the argument `plan` of `iter_planned_tables`.
        """
        return None

    def iter_planned_tables(self, sources: Sequence[PairSource], spans: list[Any], plan: Any) -> Iterable[pa.Table]:
        """Build the rows of some spans of a split from `plan_splits`."""
        raise NotImplementedError

    def warm_caches(self, source: PairSource, options: Any) -> None:
        """Fill caches in the main process, so that the worker processes do not repeat the same work.

        By default, the distinct premises are parsed, if the set parses.
        """
        if self.parses:
            premises = (example.premise for example in deduplicate(source.iter_examples(), attrgetter("premise")))
            precompute_annotations(partial(Parser, options.pipeline), Parser.parse, premises)

    def count_exclusions(self, counts: Mapping[str, int], options: Any) -> dict[str, int]:
        """Select the numbers of excluded labelled pairs by reason from the stored counts of `rows`.

        All other excluded pairs have the general reason `exclusion_reason`.
        """
        return {}

    def validate_resources(self, options: Any) -> None:
        """Validate that packages and files exist, beyond those of the options in `FILES`, before anything is built."""

    def iter_requirements(self, options: Any) -> Iterator[Requirement]:
        """Iterate over the external resources that are needed beside the pairs: by default the option `pipeline`."""
        if pipeline := getattr(options, "pipeline", None):
            yield build_pipeline_requirement(pipeline)

    def describe_provenance(self, builder: Any) -> dict[str, Any]:
        """Build a JSON record of inputs other than the source pairs that affect the rows, e.g. a fitted model."""
        if not self.parses:
            return {}
        return {"parser": Parser(builder.config.pipeline).identity, "counts": builder.load_build_counts()}

    def get_builder_class(self) -> Any:
        """Return the `datasets` builder class of the set."""
        from unbag.challenge_sets.builder import create_builder_class

        set_class: Any = type(self)  # mypy does not find the class hashable
        return create_builder_class(set_class)

    # Scores

    # Function `(columns, predictions, *, partial)` that computes the scores. Other harnesses use a copy. `partial` is
    # for their rows, which may be a part of the set, and for scores without intervals, which need only numpy.
    score_function: Callable[..., Any] = staticmethod(score_accuracy)

    def score_examples(self, columns: Columns, predictions: SetPredictions) -> RowScores:
        """Compute the row scores of n rows that enter the skill score: 1 if the prediction is correct, else 0.

        Rows with the same source are resampled together.
        """
        if self.label_names:
            predictions = predictions.align_to_gold(self.label_names)
        gold = predictions.to_label_positions(columns["label"])
        return RowScores(
            predictions.predicted == gold,
            gold,
            columns.get("source_id", range(len(gold))),
            is_counted=self.counts_for_skill(columns),
            names=self.label_names,
        )

    def counts_for_skill(self, columns: Columns) -> NDArray[np.bool_]:
        """Compute a mask of the rows that the skill score uses, shape (n,)."""
        return np.ones(len(columns["label"]), dtype=np.bool_)

    # Views of a result

    def build_table(self, result: Result) -> RenderableType:
        """Build the terminal table, with at most 80 columns."""
        scores = result.scores
        # Pairs of one document are not independent, so the number of documents qualifies n.
        documents = {"documents": f"{result.data['documents']:,}"} if "documents" in result.data else {}
        grid = tables.create_result_table(self.title, result, "pairs", "n", *documents, "accuracy [95 %]")
        for name, estimate in (("all", scores["accuracy"]), *zip(scores["labels"], scores["by_label"], strict=True)):
            of_all = [text if name == "all" else "" for text in documents.values()]
            grid.add_row(name, f"{estimate.n:,}", *of_all, tables.format_interval(estimate))
        return tables.add_notes(grid, tables.summarize_exclusions(result.data))

    def summarize_result(self, result: Result) -> str:
        """Write one sentence with the main scores, which begins with a small letter."""
        accuracy = result.scores["accuracy"]
        constant = tables.format_points(result.scores["majority"])
        correct = f"correct on {tables.format_percentage(accuracy)} of {accuracy.n:,} pairs"
        return f"{correct} (the best constant prediction: {constant} %)."

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        """Iterate over the metrics of the report, as tuples (label, meaning, value)."""
        for metric in self.metric_definitions:
            if (estimate := metric.get_estimate(scores)) is not None:
                yield metric.label, metric.meaning, estimate
        if "majority" in scores:
            constant = figures.build_point_estimate(scores["majority"], scores["accuracy"].n)
            yield "majority", "accuracy of the best constant prediction", constant

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        """Build the figures of the report. A figure without values is None."""
        yield figures.build_group_figure(
            group,
            lambda scores: zip(scores["labels"], scores["by_label"], strict=True),
            title="Accuracy by gold label",
            about="Dots are the accuracy on the pairs of a label. Lines are 95 % intervals.",
            x="gold label",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select examples of one model: the most confident errors for each gold label, false entailments first."""
        accepted = ~pairs.right & (pairs.names == ENTAILMENT)
        for kind, wrong in (("false entailment", accepted), ("most confident wrong", ~pairs.right & ~accepted)):
            for number, label in enumerate(pairs.predictions.label_space):
                for index in examples.select_top_rows(np.flatnonzero(wrong & (pairs.gold == number)), pairs.confidence):
                    yield self.build_example(pairs, f"{kind}, {label}", index)

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        """Select the shortest rows, whatever the predictions. A report begins with one of them."""
        return self.iter_shortest(pairs, "unchanged" if self.is_control else "shortest")

    def iter_shortest(
        self,
        pairs: examples.PredictedPairs,
        kind: str | Callable[[dict[str, Any]], str],
        among: NDArray[np.bool_] | None = None,
    ) -> Iterator[examples.ReportExample]:
        """Iterate over the shortest rows. `kind` is the reason for the choice, or a function from a row to the reason.

        `among` is a mask of the rows to choose from (default: all).
        """
        for index in pairs.select_shortest(np.arange(len(pairs.gold)) if among is None else np.flatnonzero(among)):
            yield self.build_example(pairs, kind if isinstance(kind, str) else kind(pairs.get_row(index)), index)

    def iter_errors_by(
        self, pairs: examples.PredictedPairs, column: str, values: Sequence[str] | None = None
    ) -> Iterator[examples.ReportExample]:
        """Iterate over the most confident errors for each value of a column, one per source.

        The values have the given order (default: order of first occurrence).
        """
        names = np.array(read_column(pairs.rows, column).to_pylist(), dtype=np.str_)
        sources = read_column(pairs.rows, "source_id").to_pylist()
        for value in dict.fromkeys(names.tolist()) if values is None else values:
            wrong = np.flatnonzero(~pairs.right & (names == value))
            for index in examples.select_top_rows(wrong, pairs.confidence, per_group=1, groups=sources):
                yield self.build_example(pairs, f"{value}, surest wrong", index)

    def iter_wrong_and_right(
        self,
        pairs: examples.PredictedPairs,
        kind: str,
        key: NDArray[Any],
        *,
        among: NDArray[np.bool_] | bool = True,
        per_group: int = examples.PER_KIND,
        groups: Sequence[Any] | None = None,
    ) -> Iterator[examples.ReportExample]:
        """Iterate over the wrong, then the correct predictions with the highest key. `kind` precedes the outcome.

        `among` is a mask of the rows to choose from (default: all). `per_group` and `groups` are those of
        `select_top_rows`.
        """
        for outcome, wanted in (("wrong", ~pairs.right), ("right", pairs.right)):
            for index in examples.select_top_rows(
                np.flatnonzero(wanted & among), key, per_group=per_group, groups=groups
            ):
                yield self.build_example(pairs, f"{kind} {outcome}", index)

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        """Build an example from a row, with the reason for its choice."""
        return pairs.build_example(kind, index, examples.build_pair_lines(pairs.get_row(index)))

    # Metrics and skill score

    @property
    def publisher(self) -> tuple[str, str]:
        """Who published the test, and the address of the paper ("" if there is none)."""
        name, found, address = self.paper.partition(", https://")
        return name, f"https://{address}" if found else ""

    def list_metrics_with_role(self, role: Role) -> list[MetricDefinition]:
        """List the metrics with the given role, e.g. those of `unbag compare`. The skill score comes first."""
        return [metric for metric in (SCORE, *self.metric_definitions) if role in metric.roles]

    @property
    def named_metrics(self) -> tuple[MetricDefinition, ...]:
        """Metrics of the set, including verifier metrics, that commands such as `unbag check` can refer to by name.

        A verifier metric is omitted if the set defines a metric with the same name.
        """
        own = {metric.name for metric in self.metric_definitions}
        return (
            *self.metric_definitions,
            *(each for each in VERIFIER if self.has_verification and each.name not in own),
        )

    def map_metrics_by_path(self) -> dict[str, MetricDefinition]:
        """Map the paths of all metrics, skill score and verifier metrics included, to their definitions."""
        verifier = VERIFIER if self.has_verification else ()
        metrics = (SCORE, *self.metric_definitions, *verifier)
        return {metric.path: metric for metric in metrics} | {
            metric.other_path: metric for metric in metrics if metric.other_path
        }

    def list_metric_values(self, scores: Scores, role: Role) -> list[MeasuredMetric]:
        """List the metrics with the given role and their values. Metrics without a value are omitted."""
        measured = ((metric, metric.get_estimate(scores)) for metric in self.list_metrics_with_role(role))
        return [
            MeasuredMetric(metric, estimate)
            for metric, estimate in measured
            if estimate is not None and estimate.value is not None
        ]

    def get_skill_score(self, scores: Scores) -> MeasuredMetric | None:
        """Look up the skill score, the main score of the set. Return None if it is undefined."""
        return next((each for each in self.list_metric_values(scores, "quoted") if each.definition is SCORE), None)

    def score_rows(
        self,
        rows: Any,
        predictions: SetPredictions,
        lexical: SetPredictions | None = None,
        shuffled: Sequence[SetPredictions] = (),
        *,
        lexical_model: Mapping[str, str] | None = None,
    ) -> Scores:
        """Compute the scores of a model on all n rows of the set, including the skill score and the verifier metrics.

        `lexical` are the predictions of the lexical baseline, None if it was not run, and `shuffled` those of the model
        for the rows of the skill score with shuffled words (`challenge_sets.perturbations.shuffled`), one entry per
        draw. The record `lexical_model` is stored beside the skill score.
        """
        predictions = predictions.align_to_gold(getattr(rows.features["label"], "names", ()))
        columns = self._read_columns(rows)
        scores: Scores = self.score_function(columns, predictions)

        def worth(given: SetPredictions) -> RowScores:
            # The lexical baseline may have more labels than the model. All are scored in the label space of the model.
            aligned = given.to_label_space(predictions.label_space)._replace(gold_labels=predictions.gold_labels)
            row_scores = self.score_examples(columns, aligned)
            return row_scores if row_scores.names is not None else row_scores._replace(names=predictions.label_space)

        own = worth(predictions)
        verified: dict[str, Any] = {}
        if self.has_verification:
            # The sources of the skill score, so that paired tests resample both over the same examples.
            given_rows = columns["label"], predictions, own.source
            verified[VERIFICATION] = compute_verifier_scores(*given_rows)
            if (detected := compute_detection_scores(*given_rows)) is not None:
                verified[DETECTION] = detected

        # The mean over the draws of the control has less variance than one draw, which matters for small sets.
        draws = [worth(each) for each in shuffled] if self.has_shuffled_control else []
        control = draws[0]._replace(score=np.mean([each.score for each in draws], axis=0)) if draws else None
        beyond = skill_score(
            own,
            None if lexical is None else worth(lexical),
            control,
            annotators=predictions.to_vote_positions(columns),
        )
        return {**scores, SKILL: None if beyond is None else {**beyond, "lexical_model": lexical_model}, **verified}

    def compute_skill_score_mask(self, rows: Any) -> NDArray[np.bool_]:
        """Compute a mask of the rows that the skill score uses, shape (n,).

        Only these rows are also evaluated with shuffled words.
        """
        return self.counts_for_skill(self._read_columns(rows))

    def _read_columns(self, rows: Any) -> Columns:
        names = dict.fromkeys(("label", *self.columns, *self.optional_columns))
        return {name: read_column_values(rows, name) for name in names}

    def find_invalid_score(self, scores: Scores) -> str:
        """Describe the first score that is outside its limits. Return "" if all are valid."""
        definitions = self.map_metrics_by_path()
        for path, (value, *_) in iter_estimates(scores):
            # Most nested scores, such as those of one label, have no definition, and thus no known limits.
            lowest, highest = definitions[path].limits if path in definitions else (-math.inf, math.inf)
            if value is not None and not lowest - _ROUNDING <= value <= highest + _ROUNDING:
                return f"{path}.value = {value:g}, which is not between {lowest:g} and {highest:g}"
        return ""
