"""Scores of published predictions: files and tables of predictions, on the rows of a challenge set that they cover."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from unbag import challenge_sets
from unbag.challenge_sets import selection
from unbag.challenge_sets.request import BuiltSet, SetRequest, select_complete_examples
from unbag.data.columns import read_column
from unbag.data.labels import LABELS
from unbag.data.predictions import NONE
from unbag.evaluation import result_folder
from unbag.evaluation.comparison import Comparison, compare_common_examples
from unbag.evaluation.evaluator import Scorer, SetEvaluation
from unbag.evaluation.lexical_baseline import BaselinePredictions, LexicalBaseline
from unbag.evaluation.outcome import EvaluationCallbacks, EvaluationOutcome, FailureLog
from unbag.evaluation.prediction_labels import resolve_answers
from unbag.evaluation.prediction_matching import (
    RowMatch,
    describe_coverage,
    find_corpus_pairs,
    find_original_rows,
    match_rows,
)
from unbag.evaluation.samples import compute_source_indices
from unbag.evaluation.scoring import (
    ScoredResult,
    estimate_unanswered_share,
    score_set_predictions,
    write_scored_results,
)
from unbag.inference.prediction_files import (
    ModelColumn,
    PredictionSource,
    PublishedPredictions,
    read_published_predictions,
)
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.single_output import Threshold, apply_threshold, build_labels_only_message, parse_threshold
from unbag.utils.files import get_cache_folder
from unbag.utils.safe_io import DataError, validate_writable

COMPARISON_FILE: Final = "comparison.json"
"""File with the comparison of several models."""

_LEAST_ROWS: Final = 8  # pairs of each label in the corpus whose accuracy is recorded

logger = logging.getLogger(__name__)


def score_published_predictions(
    sources: Sequence[PredictionSource],
    sets: Sequence[SetRequest | BuiltSet | str],
    *,
    output_dir: Path | str,
    predictions: Path | str | None = None,
    lexical_baseline: bool = True,
    threshold: Threshold | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] = (),
    by_order: bool = False,
    keep_going: bool = False,
    callbacks: EvaluationCallbacks = EvaluationCallbacks(),  # noqa: B008 (immutable)
) -> EvaluationOutcome:
    """Score files or tables of predictions on challenge sets, and write `results.json` and the examples to a folder.

    The scores cover the examples whose rows all have a prediction.

    Args:
        predictions: Folder or URL of the stored predictions of the lexical baseline. Default: the user's cache folder.
        threshold: Minimum probability of entailment (`inference.single_output`); default: the most probable label.
        labels: Names of the labels 0, 1, …, or the meaning of each label (`E=entailment`).
        by_order: Whether rows match by their number instead of ids or texts.
    """
    validate_writable(Path(output_dir), folder=True)
    threshold = None if threshold is None else parse_threshold(threshold)
    tables = [read_published_predictions(source, columns=columns) for source in sources]
    models = _name_models(tables, sources)
    if threshold is not None and any(model.scores is None for _, model in models):
        raise ValueError(build_labels_only_message(threshold))
    requests = [selection.build_suite_request(item) if isinstance(item, str) else item for item in sets]
    options = {"columns": dict(columns or {}), "labels": list(labels), "by_order": by_order}
    records = {model.name: _build_record(table, model, options) for table, model in models}
    result_folder.validate_result_folder(Path(output_dir), records, {each.name for each in requests})
    store = get_cache_folder(PREDICTIONS) if predictions is None else predictions
    baseline = LexicalBaseline({}, callbacks) if lexical_baseline else None
    failures = FailureLog((), keep_going=keep_going, on_failure=callbacks.on_failure)
    evaluation = _PublishedEvaluation(
        list(records),
        store,
        callbacks,
        failures,
        baseline,
        models=models,
        records=records,
        labels=labels,
        threshold=threshold,
        by_order=by_order,
    )
    scored = evaluation.run(requests)
    contents = write_scored_results(scored, Path(output_dir), failures.failures)
    return EvaluationOutcome(
        [each.result for each in scored], failures.failures, contents, compare=partial(_compare_models, scored)
    )


def _compare_models(scored: Sequence[ScoredResult]) -> Comparison | None:
    """Compare the models on their common examples. Returns None for one model."""
    results = [each.result for each in scored]
    if len({result.model["name"] for result in results}) < 2:
        return None
    return compare_common_examples(
        results, [read_column(each.rows, "source_id").unique().to_pylist() for each in scored]
    )


@dataclass
class _PublishedEvaluation(SetEvaluation):
    """Evaluation of published predictions."""

    models: Sequence[tuple[PublishedPredictions, ModelColumn]]
    records: Mapping[str, Mapping[str, Any]]  # by the name of the model
    labels: Sequence[str]
    threshold: Threshold | None
    by_order: bool

    def predict(self, built_set: BuiltSet) -> dict[int, Scorer]:
        """Find the predictions for the rows of a set. Models of one table share its rows, which are matched once."""
        matches: dict[int, RowMatch] = {}
        scorers: dict[int, Scorer] = {}
        for place, (table, model) in enumerate(self.models):
            try:
                if id(table) not in matches:
                    matches[id(table)] = match_rows(table, built_set, by_order=self.by_order)
                match, record = matches[id(table)], self.records[model.name]
                scorers[place] = partial(_score, table, model, built_set, match, record, self.labels, self.threshold)
            except Exception as error:
                self.failures.add(built_set.name, error, model.name)
        return scorers


def _build_record(table: PublishedPredictions, model: ModelColumn, options: Mapping[str, Any]) -> dict[str, Any]:
    """Build the record of a model: its name, and the file and the options by which it is read."""
    given = {name: value for name, value in options.items() if value}
    return {
        "name": model.name,
        **({"file": table.name} if table.name != model.name else {}),
        **({"read_options": given} if given else {}),
        "kind": "file",
        "sha256": table.sha256,
    }


class ReadingOptions(NamedTuple):
    """Options `columns` and `labels`, separated into those of the pairs and those of the predictions."""

    pair_columns: Mapping[str, str] | None
    pair_labels: list[str] | None
    columns: Mapping[str, str] | None
    labels: Sequence[str]


def separate_options(
    columns: Mapping[str, str] | None, labels: Sequence[str] | None, *, has_pairs: bool
) -> ReadingOptions:
    """Separate the options `columns` and `labels`. Without pairs of the user, all of them describe the predictions.

    With pairs, `prediction` and `scores` are columns of the predictions. Labels apply to both. The data has no `none`.
    """
    if not has_pairs:
        return ReadingOptions(None, None, columns, labels or ())
    predicted = {name: value for name, value in (columns or {}).items() if name in ("prediction", "scores")}
    rest = {name: value for name, value in (columns or {}).items() if name not in predicted}
    known = [each for each in labels or () if each.partition("=")[2].strip() != NONE]
    return ReadingOptions(rest or None, known or None, predicted or None, labels or ())


def list_sets_of_pairs() -> list[str]:
    """List the sets whose rows are pairs of the corpus, so that predictions for the pairs are sufficient."""
    return [each.name for each in challenge_sets.list_challenge_sets() if each.corpus_pairs == {}]


def _score(
    table: PublishedPredictions,
    model: ModelColumn,
    built: BuiltSet,
    match: RowMatch,
    record: Mapping[str, Any],
    labels: Sequence[str],
    threshold: Threshold | None,
    baseline: BaselinePredictions,
) -> ScoredResult:
    """Score the predictions of a model on a set."""
    gold = read_column(built.rows, "label").to_numpy()
    names = built.rows.features["label"].names
    corpus_pairs = find_corpus_pairs(built)
    resolved = resolve_answers(
        table,
        model,
        match.positions,
        [names[label] for label in gold],
        labels=labels,
        is_original=corpus_pairs,
        has_threshold=threshold is not None,
    )
    part, mask = select_complete_examples(built, resolved.is_predicted)
    is_original = find_original_rows(built)
    # Examples that consist of their original pair only are complete, but show nothing about the set.
    if not mask.any() or not ((mask & ~is_original).any() or is_original.all()):
        raise DataError(
            f"{model.name}: expected predictions of all rows of an example of the set {built.name}, got "
            f"{int(resolved.is_predicted.sum()):,} of {len(mask):,} rows and no complete example; predict the rows "
            f"that `unbag build {built.name}` writes"
        )
    matched: dict[str, Any] = {
        "by": match.by,
        "rows": int(mask.sum()),
        "of": len(mask),
        "unmatched": len(table) - len(set(match.positions[match.is_matched].tolist())),
        "ambiguous": match.ambiguous,
    }
    record = {**record, **resolved.record, "matched": matched}
    # One row per example, since rows of one example are covered together.
    first = np.unique(compute_source_indices(built.rows), return_index=True)[1]
    warnings = [*resolved.warnings, *filter(None, [describe_coverage(mask[first], gold[first], names)])]
    answers = resolved.predictions.select(mask[resolved.is_predicted])
    labels_of_pairs = gold[mask & corpus_pairs]
    if tuple(names) == LABELS and min(np.bincount(labels_of_pairs, minlength=len(LABELS))) >= _LEAST_ROWS:
        right = answers.predicted[corpus_pairs[mask]] == answers.to_label_positions(labels_of_pairs)
        record["label_probe"] = {"rows": f"{int(right.sum()):,} of {len(right):,}"}
    if warnings:
        matched["warnings"] = warnings
    for warning in warnings:
        logger.warning("%s %s", model.name, warning)
    if answers.unanswered is not None:
        n = int(answers.unanswered.sum())
        share = estimate_unanswered_share(answers.unanswered, part)
        record |= {"n_abstained": n, "abstained_share": share, "unanswered": {"without label": n}}
    answers = answers.align_to_gold(names)
    if threshold is not None:
        answers, record["ranking"], _ = apply_threshold(answers, gold[mask], threshold)
        record |= {"threshold": str(threshold), "label_order": ",".join(resolved.predictions.label_space)}
    if baseline.answers is not None:
        baseline = baseline._replace(answers=baseline.answers.select(mask))
    return score_set_predictions(part, answers, record, baseline)


def _name_models(
    tables: Sequence[PublishedPredictions], sources: Sequence[PredictionSource]
) -> list[tuple[PublishedPredictions, ModelColumn]]:
    """Pair each model with its table. Models of the same name get the path or number of their table."""
    models = [(table, source, model) for table, source in zip(tables, sources, strict=True) for model in table.models]
    names = [model.name for *_, model in models]
    named = []
    for number, (table, source, model) in enumerate(models):
        if names.count(model.name) > 1:
            where = str(source) if isinstance(source, str | Path) else f"{number + 1}"
            model = model._replace(name=where if len(table.models) == 1 else f"{where}:{model.name}")
        named.append((table, model))
    return named
