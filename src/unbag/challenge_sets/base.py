"""Description of a challenge set, used by evaluation, tables, reports and Hub code."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.score_validation import find_invalid_verifier_score
from unbag.challenge_sets.verifier_scores import compute_detection_scores, compute_verifier_scores
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.nested import iter_estimates
from unbag.scoring.skill import RowScores, SkillScores, skill_score
from unbag.scoring.verification import BinaryScores, VerificationScores

LAST: Final = 1_000
"""Default position of a set: after all sets that declare a position."""

DEFAULT_SAMPLE: Final = 1_000
"""Default number of source examples per set in the suite."""

SKILL: Final = "skill"
"""Key of the skill score (`scoring.skill`) in the scores of every set. The value is None if the score is undefined."""

DETECTION: Final = "detection"
"""Key of the scores of a contradiction detector, if the labels are contradiction and the rest."""

VERIFICATION: Final = "verification"
"""Key of the verifier metrics (`scoring.verification`) in the scores of sets that have them; None if undefined."""

_ROUNDING: Final = 1e-9  # a mean of fractions may exceed its limits by rounding

Role = Literal["quoted", "compared", "beside_papers", "harness"]
"""Where a number is shown: `quoted` in cards and leaderboards, `compared` by `unbag compare`, `beside_papers` in the
report beside the papers' figures, `harness` as a score of the task exported to other harnesses."""

Scores = Mapping[str, Any]


class SkillRecord(SkillScores):
    """Skill score, its components, and the record of the lexical baseline (None without a baseline)."""

    lexical_model: dict[str, str] | None


class SharedScores(TypedDict):
    """Scores that are computed in the same way for all sets. The scores of a set's own metric are beside them.

    Attributes:
        skill: Skill score; None if it is undefined.
        verification: Verifier metrics; None if they are undefined.
        detection: Metrics of contradiction against the rest, for models or gold labels without entailment.
    """

    skill: NotRequired[SkillRecord | None]
    verification: NotRequired[VerificationScores | None]
    detection: NotRequired[BinaryScores]


class CountedOptions(TypedDict):
    """Recorded options of a set whose builder counts the rejected sentences by reason."""

    counts: NotRequired[dict[str, int]]


@dataclass(frozen=True)
class MetricDefinition:
    """Definition of a metric of a challenge set: its name, display name and location in the nested scores.

    Attributes:
        name: Machine-readable name, unique in its set.
        label: Display name, in the terms of the set's paper.
        path: Path in the scores (`scoring.nested`); "" if `compute` derives the number from the scores.
        higher_is_better: Whether higher values are better.
        roles: Places where the number is shown.
        published_columns: Columns of the papers' tables that report the same number.
        compute: Function from the scores to the number, or to None if the scores lack it.
        limits: Smallest and largest possible value.
        other_path: Path in the scores of models that have no value at `path`; empty for none.
    """

    name: str
    label: str
    path: str = ""
    higher_is_better: bool = True
    roles: frozenset[Role] = frozenset()
    published_columns: tuple[PublishedColumn, ...] = ()
    compute: Callable[[Scores], Estimate | None] | None = None
    limits: tuple[float, float] = (0.0, 1.0)
    other_path: str = ""

    def get_estimate(self, scores: Scores) -> Estimate | None:
        """Look up or compute the value of the metric. Return None if the scores do not contain it."""
        if self.compute:
            return self.compute(scores)
        estimates = dict(iter_estimates(scores))
        return estimates.get(self.path) or estimates.get(self.other_path)


def build_metric_roles(*names: Role) -> frozenset[Role]:
    """Build a value for `MetricDefinition.roles`, which specifies where a metric is shown."""
    return frozenset(names)


DIFFERENCE: Final = (-1.0, 1.0)
"""Bounds of a difference between two shares."""

SCORE: Final = MetricDefinition(
    "skill",
    "skill score",
    f"{SKILL}.score",
    roles=build_metric_roles("quoted", "compared"),
    limits=(-math.inf, 1.0),  # unbounded below: the denominator 1 - reference may be close to 0
)
"""The skill score (`scoring.skill`), which represents a set wherever a single number is needed."""


def _build_verifier_metric(
    name: str, label: str, path: str = "", *, higher_is_better: bool = True, other_path: str | None = None
) -> MetricDefinition:
    path = path or name
    other_path = path if other_path is None else other_path
    other_path = f"{DETECTION}.{other_path}" if other_path else ""
    return MetricDefinition(name, label, f"{VERIFICATION}.{path}", higher_is_better, other_path=other_path)


VERIFIER: Final = (
    _build_verifier_metric("auroc", "AUROC"),
    _build_verifier_metric("average_precision", "average precision"),
    _build_verifier_metric("balanced_accuracy", "balanced accuracy"),
    _build_verifier_metric("recall", "recall"),
    _build_verifier_metric("false_entailment", "false entailment", higher_is_better=False, other_path=""),
    _build_verifier_metric(
        "false_contradiction", "false contradiction", higher_is_better=False, other_path="false_positive"
    ),
    _build_verifier_metric("brier", "Brier score", "calibration.brier", higher_is_better=False),
)
"""The metrics of a verifier or contradiction detector (`scoring.verification`). Tables show them only on request."""


class MeasuredMetric(NamedTuple):
    """A metric with its value, 95 % confidence interval and number of examples."""

    definition: MetricDefinition
    estimate: Estimate


@dataclass(frozen=True, kw_only=True)
class ChallengeSet:
    """Description of a challenge set: name, metrics, columns, builder and default sample size.

    The package of the set has two more modules, which are imported on first use:

    - `scores.py`: `compute_<name>_scores(columns, predictions, *, resamples, partial)`, and
      `compute_<name>_row_scores(columns, predictions)`, the input of the skill score. The optional
      `compute_<name>_skill_score_mask(columns)` selects the rows that the skill score uses. This module needs only
      numpy.
    - `report.py`: `build_table(result)`, a table with at most 80 columns, and `summarize_result(result)`, one sentence
      with the main scores; `iter_set_metrics(scores)`, tuples of name, meaning and estimate, and
      `build_figures(group)`; `EXAMPLE_RULE`, the selection rule of the examples as text; `MARK_MEANINGS`, the meanings
      of highlighted words; `select_examples(rows, predictions)`; and `select_short_examples(rows, predictions)`, which
      depends only on the rows and provides the first example of the report.

    Attributes:
        name: Name in commands.
        title: Display name of one or two words, used everywhere except in commands.
        question: Question that the set answers about a model.
        paper: Who published the test, followed by the address of the paper.
        metrics: Modules of `metrics/` that read the set's columns. The first one computes its scores.
        package: Python package of the modules above.
        builder: `datasets` builder, as `module:Class`.
        columns: Columns that the metric needs beside the label.
        optional_columns: Columns that the metric also uses where complete rows are available.
        metric_definitions: Metrics of the scores that are shown elsewhere, in display order.
        scores_type: `TypedDict` of the scores of the set's own metric. Stored results are validated against it.
        options_type: `TypedDict` of the recorded options that `report.py` reads.
        find_contradiction: Function that describes a stored score that contradicts the others, "" for none; None for
            no such check.
        sample: Number of source examples that the suite draws.
        sample_options: Options that the suite sets if the user gives none of them.
        sample_options_unless: Further options that switch `sample_options` off.
        sample_options_language: Language of the corpora to which `sample_options` are restricted; "" for all pairs.
        evaluation_order: Position in an evaluation. Sets that are cheap to build and to evaluate come first.
        report_order: Position in a report.
        shuffled: Meaning of the gold label when the words of both sentences are shuffled, i.e. how to read the
            shuffled control (`challenge_sets.perturbations.shuffled`) that the score is compared with.
        has_shuffled_control: Whether the set has a shuffled control. A set of permuted rows needs none.
        is_control: Whether the set is an unchanged corpus, which challenge sets are compared with.
        is_accuracy: Whether its score is the share of correct rows, which any harness can compute.
        has_verification: Whether entailment against the rest has a meaning on its rows: their labels are gold labels of
            the pairs as shown, and some are entailment. Its scores then include those of a verifier.
        from_text: Whether the set can be made from the sentences of a text, without labels and hypotheses. Its builder
            then reads each sentence as a pair with itself, labelled entailment (`data.user_text`).
        corpus_pairs: Column values of the rows that are unchanged, unselected pairs of the corpus; empty for all
            rows, None for no rows. The label order of a file of predictions is checked on them
            (`evaluation.label_check.check_label_order_on_corpus_rows`).
    """

    name: str
    title: str
    question: str
    paper: str
    metrics: tuple[str, ...] = ()
    package: str
    builder: str
    columns: tuple[str, ...] = ()
    optional_columns: tuple[str, ...] = ()
    metric_definitions: tuple[MetricDefinition, ...]
    scores_type: type | None = None
    options_type: type | None = None
    find_contradiction: Callable[[Any], str] | None = None
    sample: int = DEFAULT_SAMPLE
    sample_options: Mapping[str, Any] = field(default_factory=dict)
    sample_options_unless: frozenset[str] = frozenset()
    sample_options_language: str = ""
    evaluation_order: int = LAST
    report_order: int = LAST
    shuffled: str = ""
    has_shuffled_control: bool = True
    is_control: bool = False
    is_accuracy: bool = False
    has_verification: bool = False
    from_text: bool = False
    corpus_pairs: Mapping[str, Any] | None = None

    @property
    def publisher(self) -> tuple[str, str]:
        """Who published the test, and the address of the paper ("" if there is none)."""
        name, found, address = self.paper.partition(", https://")
        return name, f"https://{address}" if found else ""

    def list_metrics_with_role(self, role: Role) -> list[MetricDefinition]:
        """List the metrics with the given role. The role specifies where a metric is shown, e.g. in `unbag compare`.

        The skill score, if included, comes first.
        """
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
        """Build a dict that maps the path of each metric in the nested scores to the definition of the metric.

        The dict includes the skill score and the verifier metrics.
        """
        verifier = VERIFIER if self.has_verification else ()
        metrics = (SCORE, *self.metric_definitions, *verifier)
        return {metric.path: metric for metric in metrics} | {
            metric.other_path: metric for metric in metrics if metric.other_path
        }

    def list_metric_values(self, scores: Scores, role: Role) -> list[MeasuredMetric]:
        """List the metrics with the given role and their values. Metrics without a value are omitted."""
        return list(self._iter_measurements(scores, role))

    def get_skill_score(self, scores: Scores) -> MeasuredMetric | None:
        """Look up the skill score, the main score of the set. Return None if it is undefined."""
        return next((each for each in self._iter_measurements(scores, "quoted") if each.definition is SCORE), None)

    def score_rows(
        self,
        rows: Any,
        predictions: SetPredictions,
        lexical: SetPredictions | None = None,
        shuffled: Sequence[SetPredictions] = (),
        *,
        lexical_model: Mapping[str, str] | None = None,
    ) -> Scores:
        """Compute the scores of a model on all rows of the set, including the skill score and the verifier metrics.

        Args:
            rows: Rows of the set, a `datasets.Dataset` of n rows.
            predictions: Predictions of the model, n rows.
            lexical: Predictions of the lexical baseline, n rows; None if it was not run.
            shuffled: Predictions of the model for the rows of the skill score with shuffled words
                (`challenge_sets.perturbations.shuffled`), one entry per draw.
            lexical_model: Record of the lexical baseline.
        """
        from unbag.data.columns import read_column_values

        predictions = predictions.align_to_gold(getattr(rows.features["label"], "names", ()))
        columns = {name: read_column_values(rows, name) for name in ("label", *self.columns, *self.optional_columns)}
        scores: Scores = getattr(self.import_set_module("scores"), f"compute_{self.name}_scores")(columns, predictions)
        row_scores_of: Any = getattr(self.import_set_module("scores"), f"compute_{self.name}_row_scores", None)

        def worth(given: SetPredictions) -> RowScores:
            aligned = given.to_label_space(predictions.label_space)._replace(gold_labels=predictions.gold_labels)
            row_scores: RowScores = row_scores_of(columns, aligned)
            return row_scores if row_scores.names is not None else row_scores._replace(names=predictions.label_space)

        own = None if row_scores_of is None else worth(predictions)
        verified: dict[str, Any] = {}
        if self.has_verification:
            # The sources of the skill score, so that paired tests resample both over the same examples.
            sources = read_column_values(rows, "source_id") if own is None else own.source
            given_rows = columns["label"], predictions, sources
            verified[VERIFICATION] = compute_verifier_scores(*given_rows)
            if (detected := compute_detection_scores(*given_rows)) is not None:
                verified[DETECTION] = detected
        if own is None:  # a set of another package may define no skill score
            return {**scores, **verified}

        # The mean over the draws of the control has less variance than one draw, which matters for small sets.
        draws = [worth(each) for each in shuffled] if self.has_shuffled_control else []
        control = draws[0]._replace(score=np.mean([each.score for each in draws], axis=0)) if draws else None
        votes = [
            [int(predictions.label_positions[vote]) for vote in labels]
            for labels in columns.get("annotator_labels", ())
        ]
        beyond = skill_score(
            own,
            None if lexical is None else worth(lexical),
            control,
            annotators=votes if any(votes) else None,
        )
        return {**scores, SKILL: None if beyond is None else {**beyond, "lexical_model": lexical_model}, **verified}

    def compute_skill_score_mask(self, rows: Any) -> NDArray[np.bool_]:
        """Compute a mask of the rows that the skill score uses, shape (n,).

        Only these rows are also evaluated with shuffled words.

        Args:
            rows: Rows of the set, a `datasets.Dataset` of n rows.
        """
        from unbag.data.columns import read_column_values

        decisive = getattr(self.import_set_module("scores"), f"compute_{self.name}_skill_score_mask", None)
        if decisive is None:
            return np.ones(len(rows), dtype=np.bool_)
        columns = {name: read_column_values(rows, name) for name in (*self.columns, *self.optional_columns)}
        mask: NDArray[np.bool_] = decisive(columns)
        return mask

    def find_invalid_score(self, scores: Scores) -> str:
        """Describe the first score that is outside its limits or contradicts the others. Return "" if all are valid.

        Args:
            scores: Scores that match `scores_type`.
        """
        if self.find_contradiction is not None and (fault := self.find_contradiction(scores)):
            return fault
        for key in (VERIFICATION, DETECTION):
            if (verified := scores.get(key)) and (fault := find_invalid_verifier_score(verified)):
                return f"{key}.{fault}"
        definitions = self.map_metrics_by_path()
        for path, (value, *_) in iter_estimates(scores):
            lowest, highest = definitions[path].limits if path in definitions else (-math.inf, math.inf)
            if value is not None and not lowest - _ROUNDING <= value <= highest + _ROUNDING:
                return f"{path}.value = {value:g}, which is not between {lowest:g} and {highest:g}"
        return ""

    def import_set_module(self, part: Literal["scores", "report"]) -> Any:
        """Import the module `scores` or `report` of the set's package."""
        return import_module(f"{self.package}.{part}")

    def import_builder_class(self) -> Any:
        """Import the `datasets` builder class of the set.

        The return type is `Any`, because the base class has no type annotations.
        """
        module, _, name = self.builder.partition(":")
        return getattr(import_module(module), name)

    def _iter_measurements(self, scores: Scores, role: Role) -> Iterator[MeasuredMetric]:
        for metric in self.list_metrics_with_role(role):
            estimate = metric.get_estimate(scores)
            if estimate is not None and estimate.value is not None:
                yield MeasuredMetric(metric, estimate)
