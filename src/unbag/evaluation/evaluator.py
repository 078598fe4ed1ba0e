"""Evaluation of models on challenge sets: predictions, scores and result files."""

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag.challenge_sets import selection
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import (
    BUILDING,
    BuiltSet,
    SetRequest,
    build_requested_set,
    create_validated_builder,
    prebuild_sets,
)
from unbag.data.corpora import CORPORA
from unbag.data.labels import LabelError
from unbag.data.predictions import validate_label_space
from unbag.data.sources import validate_corpus_names
from unbag.evaluation import model_loading, result_folder
from unbag.evaluation.lexical_baseline import BaselinePredictions, LexicalBaseline
from unbag.evaluation.model_loading import (
    Model,
    ModelVariant,
    build_options_record,
    get_label_order,
    load_predictor,
    validate_lexicon,
    validate_model,
)
from unbag.evaluation.outcome import EvaluationCallbacks, EvaluationOutcome, FailureLog
from unbag.evaluation.prediction_table import write_prediction_table
from unbag.evaluation.scoring import ScoredResult, score_predictions, write_scored_results
from unbag.inference.distributed import connect_process_group
from unbag.inference.label_probe import LabelCheckedModel
from unbag.inference.llm.prompt_file import PromptFile
from unbag.inference.llm.prompts import DefaultPrompt
from unbag.inference.options import MODEL_OPTIONS
from unbag.inference.prediction_store import PREDICTIONS, StoredPredictions
from unbag.inference.predictor import Predictor
from unbag.inference.runner import Shard, predict_rows, predict_shard
from unbag.inference.single_output import build_labels_only_message
from unbag.utils import parallel
from unbag.utils.errors import UserCodeError
from unbag.utils.options import parse_options
from unbag.utils.safe_io import validate_writable

if TYPE_CHECKING:
    from unbag.evaluation.ray.predicting import RayEngine

_FOR_BASELINES: Final = frozenset({"train_data", "max_train_pairs", "pipeline"})
_ONE_PAIR: Final = (("A man is sleeping.",), ("A person is asleep.",))
logger = logging.getLogger(__name__)

Scorer = Callable[..., ScoredResult]
"""Function that scores the predictions of a model on a set, with the argument `baseline`."""

_MIN_UNBUILT: Final = 3
"""Minimum number of unbuilt sets for which a second process saves more time than its imports cost."""


def evaluate_all(
    models: Sequence[Model],
    sets: Sequence[SetRequest | BuiltSet | str],
    *,
    output_dir: Path | str,
    predictions: Path | str | None = None,
    trust_labels: bool = False,
    lexical_baseline: bool = True,
    shuffled: bool = True,
    skipped: Sequence[EvaluationFailure] = (),
    keep_going: bool = False,
    callbacks: EvaluationCallbacks = EvaluationCallbacks(),  # noqa: B008 (immutable)
    engine: "RayEngine | None" = None,
    shard: Shard | None = None,
    predictions_csv: Path | None = None,
    **model_options: Any,
) -> EvaluationOutcome:
    """Evaluate models on challenge sets, and write `results.json`, predictions and examples to a folder.

    Calling the function again with the same arguments resumes a stopped run. Its results equal those of an
    uninterrupted run. Processes started by `torchrun` or `accelerate launch` share the predictions; the first process
    scores and writes. Each set is built once, then all models are evaluated on it.

    Earlier results of the same models in the folder are kept. A folder with results of other models is rejected
    (`result_folder`).

    Args:
        sets: Requests, built sets, or names. A name means the whole set on its default corpus.
        predictions: Folder or URL of stored predictions, which several runs may share. Default: a folder in
            `output_dir`.
        skipped: Sets whose requests have already failed, for the record.
        keep_going: Whether to evaluate the other sets after one has failed. A failed label probe always ends the run.
        shard: Shard of this process, if independent processes share `predictions`. It predicts, and does not score.

    The other arguments are those of `unbag.evaluate`.

    Raises:
        ValueError: If an input is invalid. Options that apply to none of the models are rejected before the run starts.
            `data.labels.LabelError` if the label order is unknown or contradicted by the label probe.
    """
    model_options = parse_options(MODEL_OPTIONS, model_options)
    model_loading.validate_model_options(models, model_options)
    requests, variants = _validate_run(
        models, sets, engine, model_options, Path(output_dir), shard=shard, predictions_csv=predictions_csv
    )
    failures = FailureLog(skipped, keep_going=keep_going, on_failure=callbacks.on_failure)
    valid, to_build = _validate_requests(requests, failures)
    if not valid:
        return EvaluationOutcome([], failures.failures)
    group = connect_process_group()
    if parallel.get_num_proc() > 1 and group.rank == 0:
        prebuild_sets([each for each in valid if isinstance(each, SetRequest)], callbacks.for_step(BUILDING))
    fitted_to = {name: model_options.get(name) for name in _FOR_BASELINES}
    baseline = LexicalBaseline(fitted_to, callbacks) if lexical_baseline and shard is None else None
    corpora = {(each.config or "").partition("-")[0] for each in to_build}.intersection(CORPORA)
    languages = {CORPORA[name].language for name in corpora}
    is_alone = group.world_size == 1 == parallel.get_num_proc() and engine is None
    if baseline is not None and is_alone and len(to_build) >= _MIN_UNBUILT and len(languages) == 1:
        baseline.start_fitting(languages.pop(), to_build)
    try:
        named = _load_models(engine, variants, trust_labels=trust_labels)
        records = {each.name: each.record for each in named}
        result_folder.validate_result_folder(Path(output_dir), records, {each.name for each in valid})
        evaluation = _ModelEvaluation(
            [each.name for each in named],
            Path(output_dir) / PREDICTIONS if predictions is None else predictions,
            callbacks,
            failures,
            baseline,
            models=named,
            predict_rows=predict_rows if engine is None else engine.predict_rows,
            shard=shard,
            shuffled=shuffled,
        )
        scored = evaluation.run(valid)
    finally:
        if baseline is not None:
            baseline.stop()
    if scored and predictions_csv is not None:
        by_set = sorted(evaluation.done, key=itemgetter(1, 0))
        write_prediction_table([evaluation.done[place] for place in by_set], predictions_csv)
    contents = write_scored_results(scored, Path(output_dir), failures.failures)
    return EvaluationOutcome([each.result for each in scored], failures.failures, contents)


@dataclass
class SetEvaluation(ABC):
    """Evaluation of models on sets, one set after the other.

    Sets that are predicted before the lexical baseline is fitted are scored later.
    """

    names: Sequence[str]  # of the models
    store: Path | str  # folder or URL of the predictions
    callbacks: EvaluationCallbacks
    failures: FailureLog
    baseline: LexicalBaseline | None
    # Sets by their place in the run, with the scoring function of each model that predicted the set.
    predicted: list[tuple[int, BuiltSet, Mapping[int, Scorer]]] = field(default_factory=list, kw_only=True)
    done: dict[tuple[int, int], ScoredResult] = field(default_factory=dict, kw_only=True)  # by places of model and set

    @abstractmethod
    def predict(self, built_set: BuiltSet) -> dict[int, Scorer]:
        """Predict a set. Returns a function by the place of each model, which scores its predictions.

        Failures of a model are added to `failures`.
        """

    def run(self, requests: Sequence[SetRequest | BuiltSet]) -> list[ScoredResult]:
        """Build each set, predict its rows with each model, and score the predictions.

        Returns the results in the process that scores, ordered by model and set.
        """
        for set_place, request in enumerate(requests):
            if self.callbacks.on_set is not None:
                self.callbacks.on_set(request.name)
            try:
                # The other processes then load the set from the cache.
                built_set = connect_process_group().main_process_first(partial(_build, request))
            except Exception as error:
                self.failures.add(request.name, error)
                continue
            self.predicted.append((set_place, built_set, self.predict(built_set)))
            # While a second process fits the baseline, this process predicts further sets.
            if self.baseline is None or not self.baseline.is_fitting:
                self._score()
        self._score()
        return [self.done[place] for place in sorted(self.done)]

    def _score(self) -> None:
        """Score the predicted sets. All processes predict with the baseline, and the first one scores."""
        while self.predicted:
            set_place, built_set, scorers = self.predicted.pop(0)
            if not scorers:
                continue
            try:
                words = self.baseline.predict(built_set, self.store) if self.baseline else BaselinePredictions()
            except Exception as error:
                self.failures.add(built_set.name, error)
                continue
            for place, score in scorers.items() if connect_process_group().rank == 0 else ():
                try:
                    self.done[place, set_place] = score(baseline=words)
                except Exception as error:
                    self.failures.add(built_set.name, error, self.names[place])
                    continue
                if self.callbacks.on_result is not None:
                    self.callbacks.on_result(self.done[place, set_place].result)


@dataclass
class _ModelEvaluation(SetEvaluation):
    """Evaluation of loaded models."""

    models: Sequence[LabelCheckedModel]
    predict_rows: Callable[..., StoredPredictions]
    shard: Shard | None
    shuffled: bool

    def predict(self, built_set: BuiltSet) -> dict[int, Scorer]:
        """Predict the rows of a set with each model."""
        scorers = {place: self._predict(built_set, model) for place, model in enumerate(self.models)}
        return {place: scorer for place, scorer in scorers.items() if scorer is not None}

    def _predict(self, built_set: BuiltSet, model: LabelCheckedModel) -> Scorer | None:
        """Predict a set with a model. Returns a function that scores the predictions, or None after a failure."""
        title = f"{built_set.name}, {model.name}" if len(self.models) > 1 else built_set.name
        progress, predictor = self.callbacks.for_step(title), model.predictor
        try:
            validate_label_space(built_set.rows.features["label"].names, predictor.label_space)
        except LabelError as error:
            self.failures.add(built_set.name, error, model.name)
            return None
        record = model.build_record(built_set.language)  # a failed label probe ends the run
        try:
            # A model that ignores word order predicts the same for shuffled words.
            is_own_control = self.shuffled and getattr(predictor, "is_order_invariant", False)
            control = built_set.control if self.shuffled and not is_own_control else None
            if self.shard is not None:
                for rows in (built_set.rows,) if control is None else (built_set.rows, control):
                    predict_shard(rows, predictor, self.store, self.shard, progress=progress)
                return None
            predicted = self.predict_rows(built_set.rows, predictor, self.store, progress=progress)
            control_predictions = predicted if is_own_control else None
            if control is not None:
                progress = self.callbacks.for_step(f"{title}, words shuffled")
                control_predictions = self.predict_rows(control, predictor, self.store, progress=progress)
        except Exception as error:
            self.failures.add(built_set.name, error, model.name)
            return None
        return partial(score_predictions, built_set, predicted, predictor, record, control=control_predictions)


def _validate_run(
    models: Sequence[Model],
    sets: Sequence[SetRequest | BuiltSet | str],
    engine: "RayEngine | None",
    model_options: Mapping[str, Any],
    output_dir: Path,
    *,
    shard: Shard | None,
    predictions_csv: Path | None,
) -> tuple[list[SetRequest | BuiltSet], list[ModelVariant]]:
    """Validate the inputs before anything is loaded or built. Returns the requests and the variants of the models."""
    # A shard is a single process that predicts only some rows.
    if shard is not None and connect_process_group().world_size > 1:
        raise ValueError("--shard: expected a single process, got a launcher (torchrun); omit --shard or the launcher")
    if shard is not None and predictions_csv is not None:
        raise ValueError(
            "--predictions-csv: expected a run without --shard, got a shard; when all shards are complete, rerun the "
            "command without --shard to reuse their predictions"
        )
    if shard is not None and model_options.get("no_cache"):
        raise ValueError(
            "--no-cache: expected a single process, got a shard, which needs the answers of the others; omit --shard"
        )
    validate_writable(output_dir, folder=True)
    requests = [selection.build_suite_request(item) if isinstance(item, str) else item for item in sets]
    variants = model_loading.list_variants(models, model_options)
    names = [f"{each.model}{each.suffix}" for each in variants if isinstance(each.model, str | Path)]
    if len(names) == len(variants):  # fails before any model is loaded
        result_folder.validate_result_folder(output_dir, dict.fromkeys(names), {each.name for each in requests})
    for model in models:
        validate_model(model)
        validate_lexicon(model)
    dtype, device = model_options.get("dtype"), model_options.get("device")
    if engine is None and (dtype is not None or device is not None):  # a node of a cluster has its own devices
        from unbag.inference.transformer import resolve_device  # imports torch, so only if needed

        resolve_device(dtype or "float32", device)
    if "num_fewshot" in model_options:
        DefaultPrompt(model_options["num_fewshot"])  # validates the number
    for file in {each.options["prompt"] for each in variants if "prompt" in each.options}:
        PromptFile.load(file)  # validates the file
    trained = model_options.get("train_data") or ()
    validate_corpus_names(trained)
    given = {each.options.get("data") for each in requests if isinstance(each, SetRequest)}
    # Unlike `Path.resolve`, it accepts a loop of symbolic links, which the reader of the data reports.
    evaluated = {os.path.realpath(data) for data in given if data}
    for name in trained:
        if os.path.realpath(name) in evaluated:
            logger.warning(
                "train_data: %s is also the evaluated data, so the bag of words is scored on its own training pairs, "
                "and the skill scores of other models are too low; pass other labelled pairs",
                name,
            )
    return requests, variants


def _validate_requests(
    requests: Sequence[SetRequest | BuiltSet], failures: FailureLog
) -> tuple[list[SetRequest | BuiltSet], list[SetRequest]]:
    """Validate all requests before any set is built. Returns the valid ones, and those whose sets are not cached."""
    valid: list[SetRequest | BuiltSet] = []
    to_build: list[SetRequest] = []
    for request in requests:
        try:
            if isinstance(request, SetRequest) and not Path(create_validated_builder(request).cache_dir).is_dir():
                to_build.append(request)
            valid.append(request)
        except Exception as error:
            failures.add(request.name, error)
    return valid, to_build


def _load_models(
    engine: "RayEngine | None", variants: Sequence[ModelVariant], *, trust_labels: bool
) -> list[LabelCheckedModel]:
    """Load each model with its options, and build its record."""
    named = []
    for model, own_options, suffix in variants:
        load = load_predictor if engine is None else engine.load_predictor
        predictor, model_name = load(model, **own_options)
        if is_function := model_loading.find_model_type(model) is model_loading.FUNCTION:
            _run_one_pair(predictor)
        options = build_options_record(model, predictor, own_options)
        record = {"name": f"{model_name}{suffix}", **({} if options is None else {"options": options})}
        if is_function:
            record |= getattr(predictor, "version", {})
            if own_options.get("label_map") is not None:
                record["label_order"] = ",".join(get_label_order(predictor))
        if own_options.get("threshold") is not None and not getattr(predictor, "has_probabilities", True):
            raise ValueError(build_labels_only_message(own_options["threshold"]))
        named.append(LabelCheckedModel(predictor, record, trust_labels=trust_labels))
    return named


def _build(item: SetRequest | BuiltSet) -> BuiltSet:
    return item if isinstance(item, BuiltSet) else build_requested_set(item)


def _run_one_pair(function: Predictor) -> None:
    """Run a function on one pair, so that wrong parameters and invalid outputs raise before any set is built.

    Errors inside the function are logged, as it may not accept this pair.
    """
    try:
        function.predict(*_ONE_PAIR)
    except UserCodeError as error:
        cause = error.__cause__
        if isinstance(cause, TypeError) and getattr(cause.__traceback__, "tb_next", None) is None:
            raise  # the call itself failed
        logger.debug("a function failed on its first pair", exc_info=error)
