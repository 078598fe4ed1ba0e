"""Scoring of predictions on a set, and writing of a run's files."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import results
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.perturbations import shuffled
from unbag.challenge_sets.request import BuiltSet
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import ExampleSelection
from unbag.data.columns import read_column
from unbag.data.predictions import SetPredictions, scatter_predictions
from unbag.evaluation import report_examples, result_folder, samples
from unbag.evaluation.lexical_baseline import BaselinePredictions
from unbag.evaluation.result_folder import FolderContents
from unbag.inference.prediction_store import StoredPredictions, merge_dates
from unbag.inference.predictor import Predictor
from unbag.inference.single_output import Threshold, apply_threshold, predict_by_cutoff
from unbag.scoring.bootstrap import Estimate, estimate_proportion
from unbag.utils import locks

logger = logging.getLogger(__name__)


class ScoredResult(NamedTuple):
    """Result of a model on a challenge set, with the predictions as scored, and the examples selected for reports."""

    result: Result
    examples: ExampleSelection
    rows: Any  # the rows of the set, a `datasets.Dataset`
    predictions: SetPredictions


def score_predictions(
    built_set: BuiltSet,
    stored_predictions: StoredPredictions,
    predictor: Predictor,
    record: Mapping[str, Any],
    *,
    baseline: BaselinePredictions = BaselinePredictions(),  # noqa: B008 (immutable)
    control: StoredPredictions | None = None,
) -> ScoredResult:
    """Score the predictions for all rows of a set.

    Args:
        control: Predictions for the rows with shuffled words (`BuiltSet.control`). Equal to `stored_predictions` for a
            model that is invariant to word order; None without the control.
    """
    threshold: Threshold | None = getattr(predictor, "threshold", None)
    may_abstain = getattr(predictor, "may_abstain", False)
    names = built_set.rows.features["label"].names
    labels = read_column(built_set.rows, "label").to_numpy()
    answers = stored_predictions.to_set_predictions(may_abstain=may_abstain)
    reasons = [] if answers.unanswered is None else stored_predictions.load_unanswered()
    if answers.unanswered is not None:
        abstained_share = estimate_unanswered_share(answers.unanswered, built_set)
        _report_unanswered(abstained_share, answers.unanswered, reasons, built_set)
    counts: dict[str, Any] = {"truncated_pairs": stored_predictions.truncated}
    if stored_predictions.truncated:
        counts["truncated_share"] = stored_predictions.truncated / len(stored_predictions)
    dates = merge_dates(stored_predictions.answered, {} if control is None else control.answered)
    reused = [day for day, is_reused in dates.items() if is_reused]
    for field, days in (("answered", list(dates)), ("stored_answers", reused)):
        if days:
            counts[field] = " to ".join(dict.fromkeys([days[0], days[-1]]))
    draws: list[SetPredictions] = []
    if control is not None and control is not stored_predictions:
        n = int(built_set.skill_score_mask.sum())
        parts = range(0, n * shuffled.compute_num_shuffles(n), n)
        control_answers = control.to_set_predictions(may_abstain=may_abstain)
        draws = [control_answers.select(slice(start, start + n)) for start in parts]
    if threshold is not None:
        answers, *draws = (each.align_to_gold(names) for each in (answers, *draws))
        answers, counts["ranking"], cutoff = apply_threshold(answers, labels, threshold)
        draws = [predict_by_cutoff(each, cutoff) for each in draws]
    if draws and control is not None and may_abstain and any(control.load_unanswered()):
        # A control without answers would have a low score, which would raise the skill score of the model.
        gold = labels[built_set.skill_score_mask]
        draws = [each.align_to_gold(names).count_unanswered_as_correct(gold) for each in draws]
    if answers.unanswered is not None:
        counts["n_abstained"] = int(answers.unanswered.sum())
        counts["abstained_share"] = abstained_share
        if by_reason := Counter(reason.partition(":")[0] for reason in reasons if reason is not None):
            counts["unanswered"] = dict(by_reason.most_common())
    answers = answers.align_to_gold(names)
    draws = (
        [answers]
        if control is stored_predictions
        else [scatter_predictions(each, built_set.skill_score_mask) for each in draws]
    )
    return score_set_predictions(built_set, answers, {**record, **counts}, baseline, draws)


def score_set_predictions(
    built_set: BuiltSet,
    predictions: SetPredictions,
    model: Mapping[str, Any],
    baseline: BaselinePredictions = BaselinePredictions(),  # noqa: B008 (immutable)
    shuffled_predictions: Sequence[SetPredictions] = (),
) -> ScoredResult:
    """Score the predictions of a model, build the result, and select examples.

    Args:
        baseline: Predictions of the lexical baseline, empty if it was not evaluated.
        shuffled_predictions: Predictions for the rows with shuffled words, one per draw; empty without the control.
    """
    result = Result(
        set=built_set.request.name,
        config=built_set.config,
        model=model,
        data=built_set.data,
        scores=challenge_sets.get_challenge_set(built_set.request.name).score_rows(
            built_set.rows,
            predictions,
            baseline.answers,
            shuffled_predictions,
            lexical_model=baseline.identity,
        ),
        environment=results.collect_environment(),
    )
    examples = report_examples.select_examples(result, built_set.rows, predictions)
    return ScoredResult(result, examples, built_set.rows, predictions)


def write_scored_results(
    scored_results: Sequence[ScoredResult], output_dir: Path, failures: Sequence[EvaluationFailure] = ()
) -> FolderContents | None:
    """Write results to a folder that may contain earlier results, and return its contents with these.

    Nothing is written, and None returned, if `scored_results` is empty. results.json is written last, so that the
    folder is complete if the file exists. `evaluation.result_folder.combine_results` determines which earlier results
    remain.
    """
    done = [scored.result for scored in scored_results]
    if not done:
        return None
    with locks.hold_lock(output_dir, "writing results", wait=True):  # all files must belong to one run
        earlier, before = result_folder.read_result_folder(output_dir)
        if replaced := result_folder.describe_replaced_results(earlier, done):
            logger.warning("%s: replacing earlier results: %s", output_dir, "; ".join(replaced))
        entries = result_folder.combine_results(earlier, done)
        combined = [result for result, _ in entries]
        previous_indices = {number: index for number, (_, index) in enumerate(entries) if index is not None}
        new = [results.SkippedSet(each.set, each.model, each.reason) for each in failures]
        evaluated = {result.set for result in combined}
        skipped = [each for each in before if each.set not in evaluated and each not in new] + new
        selections: list[ExampleSelection] = []
        if previous_indices:
            try:
                selections += report_examples.read_selections(output_dir / report_examples.FILE)
            except ValueError as error:  # the file has another version
                logger.warning("%s", error)
        selections += [scored.examples for scored in scored_results]
        contents = FolderContents.from_selections(combined, selections, skipped)
        examples = [each for each in contents.examples if each is not None]
        report_examples.write_selections(examples, output_dir / report_examples.FILE)
        places = {id(result): place for place, result in enumerate(combined)}
        labels = {
            places[id(each.result)]: samples.collect_row_labels(each.rows, each.predictions) for each in scored_results
        }
        samples.write_samples(combined, output_dir, previous_indices, labels)
        results.write_results(combined, output_dir / results.FILE, skipped)
    return contents


def estimate_unanswered_share(unanswered: NDArray[np.bool_], built: BuiltSet) -> Estimate:
    """Estimate the fraction of rows on which the model abstained, with an interval over source examples."""
    source = samples.compute_source_indices(built.rows).astype(np.int64)
    return estimate_proportion(unanswered, np.ones(len(unanswered), dtype=np.bool_), source)


def _report_unanswered(
    share: Estimate, unanswered: NDArray[np.bool_], reasons: Sequence[str | None], built: BuiltSet
) -> None:
    """Warn about the rows without an answer, with the number of each reason and two examples."""
    if (n := int(unanswered.sum())) and share.low is not None and share.high is not None:
        texts = {row: reason for row, reason in enumerate(reasons) if reason is not None}
        by_reason = Counter(text.partition(":")[0] for text in texts.values())
        # The first row of each reason comes before a second row of the same reason.
        firsts = {text.partition(":")[0]: row for row, text in reversed(texts.items())}
        rows = list(dict.fromkeys([*firsts.values(), *texts]))[:2]
        examples = "; ".join(f"{built.rows[row]['hypothesis']!r:.60}: {texts[row]}" for row in rows)
        logger.warning(
            "%s: %s of %s answers contain no label and count as wrong (95 %% interval of this share: %s to %s)%s%s",
            built.request.name,
            f"{n:,}",
            f"{len(unanswered):,}",
            f"{share.low:.1%}",
            f"{share.high:.1%}",
            "".join(f"; {count:,} {reason}" for reason, count in by_reason.most_common()),
            f". Examples: {examples}" if rows else "",
        )
