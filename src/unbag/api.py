"""Python function `unbag.evaluate`, the counterpart of the command `unbag evaluate`."""

import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Unpack

from unbag.challenge_sets import selection
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest
from unbag.challenge_sets.results import SkippedSet
from unbag.challenge_sets.selection import PairSelection
from unbag.data.pair_options import PAIR_OPTIONS, PairKwargs
from unbag.evaluation import evaluator
from unbag.evaluation.model_loading import Model, has_stable_identity
from unbag.evaluation.outcome import EvaluationCallbacks
from unbag.evaluation.published import score_published_predictions, separate_options
from unbag.evaluation.ray import open_engine, validate_engine_options
from unbag.evaluation.result_folder import RunFolder
from unbag.inference.distributed import connect_process_group
from unbag.inference.options import MODEL_OPTIONS, ModelKwargs
from unbag.inference.prediction_files import PredictionSource
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.runner import Shard
from unbag.inference.single_output import Threshold
from unbag.reports.report import Report
from unbag.utils import parallel
from unbag.utils.files import get_cache_folder
from unbag.utils.options import describe_declared_options
from unbag.utils.progress import OnProgress, show_progress_bars
from unbag.utils.safe_io import validate_writable

logger = logging.getLogger(__name__)


class _EvaluateKwargs(PairKwargs, ModelKwargs, total=False):
    """Options of the pairs and of the model."""


@describe_declared_options({**PAIR_OPTIONS, **MODEL_OPTIONS})
def evaluate(
    model: Model,
    sets: str | SetRequest | Sequence[str | SetRequest] | None = None,
    *,
    full: bool = False,
    output_dir: Path | str | None = None,
    shard: str | None = None,
    predictions_csv: Path | str | None = None,
    lexical_baseline: bool = True,
    shuffled: bool = True,
    num_proc: int = 1,
    engine: Literal["ray"] | None = None,
    num_gpus: float | None = None,
    trust_labels: bool = False,
    progress: bool = True,
    progress_callback: OnProgress | None = None,
    **options: Unpack[_EvaluateKwargs],
) -> Report:
    """Evaluate a model on challenge sets.

    A model given as a function takes a list of premises and a list of hypotheses. It returns a label name, a label id
    (with `label_map`) or probabilities for each pair; see `unbag.inference.function.CallablePredictor`.

    Args:
        model: Hub id, folder, built-in model (`lexical`, `hypothesis-only`, `majority`), `causal:ORG/LM`,
            `endpoint:NAME`, `module:function`, function, `CrossEncoder`, text-classification pipeline, or predictor
            (`unbag.inference.predictor.Predictor`).
        sets: Names or requests of challenge sets. A name requests all examples of the set. Default: a sample of each
            set (`unbag.challenge_sets.selection`), where sets that cannot be built are skipped with a warning.
        full: Whether the suite uses all examples of each set.
        output_dir: Folder or URL (`s3://…`) for results and predictions, from which a stopped run resumes. Results of
            the same model are added to the folder; a folder with results of another model is rejected. Without a
            folder, results are temporary until `Report.save`, and predictions are stored in the user's cache folder
            (`UNBAG_CACHE`), except those of a function, which has no identity. The scores are the same.
        shard: Shard of this process, such as `0/3`, for independent processes with one shared `output_dir`. A shard
            stores predictions. After all shards, a call without `shard` scores them, and predicts what is missing.
        predictions_csv: CSV file for all pairs: `model`, `set`, `data`, `id`, `premise`, `hypothesis`,
            `gold`, `prediction`, and the probability of each label. Stored predictions are reused.
        lexical_baseline: Whether to compare scores with a lexical baseline on the same rows.
        shuffled: Whether to compare scores with the model's scores on shuffled words, which roughly doubles the number
            of predictions.
        num_proc: Number of processes to build sets and tag sentences. Results do not depend on it.
        engine: `ray` runs on a Ray cluster or a local one (`pip install 'unbag[ray]'`). All nodes need access to
            `output_dir`. Results do not depend on it.
        num_gpus: GPUs per model copy with `engine="ray"`, from 0 to 1 (default: 1 if available).
        trust_labels: Whether to continue even if another label order fits the model better.
        progress: Whether to show progress bars on standard error.
        progress_callback: Called with `(set, predicted_rows, total_rows)` instead of showing bars.
        options: Options of the pairs and of the model.

    Returns:
        Report of the run. It has no results in shards, and in processes other than the first one.

    Raises:
        ValueError: If an argument is invalid or does not fit the model. `data.labels.LabelError` if the label order is
            unknown or contradicted by the label probe.

    >>> from unbag.data.demo import get_demo_file
    >>> def model(premises, hypotheses):
    ...     return ["entailment" if len(h) < len(p) else "neutral" for p, h in zip(premises, hypotheses)]
    >>> options = {"max_examples": 60, "lexical_baseline": False, "progress": False}
    >>> report = evaluate(model, "swapped", data=get_demo_file("validation"), **options)
    >>> report.results[0].scores["n_examples"]
    60
    """
    given: dict[str, Any] = dict(options)
    pairs = PairSelection(**{name: given.pop(name) for name in PAIR_OPTIONS if name in given})
    if not (output_dir is None or isinstance(output_dir, str | PathLike)) or output_dir == "":
        raise ValueError(f"output_dir: expected the path or URL of a folder, got {output_dir!r}")
    validate_engine_options(engine, num_gpus, shard)
    if predictions_csv is not None:
        validate_writable(Path(predictions_csv), folder=False)
    requests, unsuitable = _build_requests(sets, pairs, full=full)
    if output_dir is None and (shard is not None or connect_process_group().world_size > 1):
        raise ValueError("output_dir: expected a folder or URL that all processes share, got none; pass output_dir=…")
    folder = RunFolder(output_dir)
    # Predictions of a function are not reused, so those of a temporary run go with it.
    is_cached = output_dir is None and has_stable_identity(model)
    visible = progress and progress_callback is None and connect_process_group().rank == 0
    with (
        show_progress_bars(visible=visible) as update_bars,
        parallel.set_num_proc(num_proc),
        open_engine(engine, num_gpus) as backend,
    ):
        outcome = evaluator.evaluate_all(
            [model],
            requests,
            output_dir=folder.path,
            predictions=get_cache_folder(PREDICTIONS) if is_cached else folder.predictions,
            trust_labels=trust_labels,
            lexical_baseline=lexical_baseline,
            shuffled=shuffled,
            skipped=unsuitable,
            keep_going=sets is None,
            callbacks=EvaluationCallbacks(on_progress=progress_callback or update_bars, on_failure=_warn),
            shard=None if shard is None else Shard.parse(shard),
            engine=backend,
            predictions_csv=None if predictions_csv is None else Path(predictions_csv),
            **given,
        )
    folder.upload()
    skipped = [SkippedSet(each.set, each.model, each.reason) for each in outcome.skipped]
    return Report(outcome.results, folder, skipped, contents=outcome.contents)


@describe_declared_options(PAIR_OPTIONS)
def score(
    predictions: PredictionSource | Sequence[PredictionSource],
    sets: str | SetRequest | Sequence[str | SetRequest] = "plain",
    *,
    output_dir: Path | str | None = None,
    threshold: Threshold | None = None,
    by_order: bool = False,
    lexical_baseline: bool = True,
    progress: bool = True,
    **options: Unpack[PairKwargs],
) -> Report:
    """Score predictions that another program made, on the rows of challenge sets for which there are predictions.

    Without `data`, `columns` and `labels` describe the predictions: `columns` names the columns `id`, `premise`,
    `hypothesis`, `label` (gold), `prediction` and `scores`, if they are unusual. With `data`, all columns but
    `prediction` and `scores` are those of the data, and `labels` describes both.

    Args:
        predictions: A file (csv, tsv, jsonl, json, Parquet or Arrow), a folder of `save_to_disk`, a data frame, a
            `datasets.Dataset`, a dict of columns, or a list of these. Each has labels or scores of a model, or one
            column of labels per model. Rows match by `id`, by an id of the corpus (`pairID`, `uid`), or by premise and
            hypothesis.
        sets: Names or requests of challenge sets.
        output_dir: Folder or URL for results (default: a temporary folder).
        threshold: Minimum probability of entailment, or `break-even`.
        by_order: Whether rows match by their number, after a check of the gold labels.
        lexical_baseline: Whether to compare scores with a lexical baseline on the same rows.
        progress: Whether to show progress bars on standard error.
        options: Options of the pairs.

    Returns:
        Report with one result per model and set, and with the comparison of several models on their common rows.

    Raises:
        ValueError: If an argument is invalid, no rows match, or the meaning of labels is unknown.

    >>> from unbag.data.demo import get_demo_file
    >>> pairs = {"premise": ["A dog runs."], "hypothesis": ["It moves."], "prediction": ["entailment"]}
    >>> score(pairs, "plain", data=get_demo_file("validation"), lexical_baseline=False, progress=False)
    Traceback (most recent call last):
        ...
    unbag.utils.safe_io.DataError: predictions: expected rows of the set plain ...
    """
    given: dict[str, Any] = dict(options)
    has_pairs = given.get("data") is not None or given.get("text") is not None
    reading = separate_options(given.get("columns"), given.get("labels"), has_pairs=has_pairs)
    given |= {"columns": reading.pair_columns, "labels": reading.pair_labels}
    requests, _ = _build_requests(sets, PairSelection(**given), full=False)
    sources = list(predictions) if isinstance(predictions, list | tuple) else [predictions]
    folder = RunFolder(output_dir)
    with show_progress_bars(visible=progress) as update_bars:
        outcome = score_published_predictions(
            sources,
            requests,
            output_dir=folder.path,
            lexical_baseline=lexical_baseline,
            threshold=threshold,
            columns=reading.columns,
            labels=reading.labels,
            by_order=by_order,
            callbacks=EvaluationCallbacks(on_progress=update_bars),
        )
    folder.upload()
    return Report(outcome.results, folder, contents=outcome.contents, compare=outcome.compare)


def _warn(failure: EvaluationFailure) -> None:
    logger.warning("%s is skipped: %s", failure.set, failure.reason)


def _build_requests(
    sets: str | SetRequest | Sequence[str | SetRequest] | None, pairs: PairSelection, *, full: bool
) -> tuple[list[SetRequest], list[EvaluationFailure]]:
    """Build the requests of the given names and requests, or of the suite, whose unsuitable sets are skipped."""
    if sets is None:
        unsuitable: list[EvaluationFailure] = []
        names = selection.list_suite_sets(from_text="text" in pairs.given)
        requests = pairs.build_requests(names, on_failure=unsuitable.append)
        for failure in unsuitable:
            _warn(failure)
        return requests if full else [selection.apply_suite_sample(request) for request in requests], unsuitable
    given = [sets] if isinstance(sets, str | SetRequest) else sets
    if not isinstance(given, list | tuple) or not all(isinstance(each, str | SetRequest) for each in given):
        raise ValueError(f"sets: expected set names and SetRequests, got {sets!r:.100}; correct them")
    if not given:
        raise ValueError(
            f"sets: expected one or more of {', '.join(selection.list_suite_sets())}, got none; omit sets to use all"
        )
    if full:
        raise ValueError("full: cannot be combined with sets, because sets given by name use all examples; omit full")
    if own := [each.name for each in given if isinstance(each, SetRequest)]:
        if any(value not in ({}, [], ()) for value in pairs.given.values()):
            raise ValueError(
                f"sets: the request for {own[0]} cannot be combined with corpus, data or max_examples; omit these "
                "options"
            )
        return [each if isinstance(each, SetRequest) else selection.build_suite_request(each) for each in given], []
    return pairs.build_requests([str(each) for each in given]), []
