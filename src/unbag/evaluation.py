"""A model and challenge sets in; predictions, scores and the record of both out."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import challenge_sets, paired_samples, report_examples, results, suite
from unbag.answers import Answers
from unbag.columns import column
from unbag.failures import Failure
from unbag.inference.predictor import Predictor
from unbag.inference.probe import MislabelledError, ProbeReport, probe
from unbag.inference.process_group import process_group
from unbag.inference.run import predict_rows
from unbag.lexical.predictors import BASELINES
from unbag.llm.prompts import SHOTS, WORDS
from unbag.prediction_files import read_predictions
from unbag.predictors import Model, predictor_of, prompted, prompted_options, recorded_options
from unbag.request import BuiltSet, Request, build
from unbag.results import Result
from unbag.views.examples import ExampleSelection
from unbag.word_counter import WordCounter, Words

_FOR_BASELINES: Final = frozenset({"training", "pairs", "pipeline"})
_ONLY_IN_WORDS: Final = frozenset({"shots", "chat", "base_url", "concurrency", "retries", "spending", "cache"})
logger = logging.getLogger(__name__)

OnSet = Callable[[str], None]
"""Called with the name of the set that comes next, before it is built."""

OnProgress = Callable[[str, int, int], None]
"""Called with the set's name, and how many of how many rows are predicted."""

OnResult = Callable[[Result], None]
"""Called with each result as soon as it is there, in the first process."""

OnFailure = Callable[[Failure], None]
"""Called with each set that could not be evaluated; the others go on. A model of doubtful labels ends the run still."""


def evaluate(
    model: Model,
    sets: Sequence[Request | str] | None = None,
    *,
    out: Path | str,
    **options: Any,
) -> list[Result]:
    """Evaluate a model on challenge sets; leave `results.json`, the predictions and the examples in a folder.

    A run that was stopped goes on where it was when called again with the same arguments, and its results are those of
    an unbroken run. Started by `torchrun` or `accelerate launch`, the processes share the work, and the first of them
    scores and writes.

    Args:
        model: a Hub id, a folder, a built-in model, `module:function`, a function, a `CrossEncoder`, a
            text-classification pipeline or a predictor (`unbag.predictors`).
        sets: what to evaluate on; a name alone means all of that set of its default corpus. By default the suite: a
            sample of every set (`unbag.suite`), of which those that cannot be had are warned of and left out.
        out: the folder.
        options: those of `evaluate_all`.

    Returns:
        One result a set; none in the processes after the first.

    Raises:
        ValueError: if an input is not what is expected; `labels.LabelError` if the label order is unknown or refuted.
    """
    if sets is None:
        sets = suite.requests()
        options.setdefault("on_failure", _warn)
    return evaluate_all([model], sets, out=out, **options)


def evaluate_all(
    models: Sequence[Model],
    sets: Sequence[Request | str],
    *,
    out: Path | str,
    predictions: Path | str | None = None,
    trust_labels: bool = False,
    lexical: bool = True,
    left_out: Sequence[Failure] = (),
    on_set: OnSet | None = None,
    on_progress: OnProgress | None = None,
    on_result: OnResult | None = None,
    on_failure: OnFailure | None = None,
    **model_options: Any,
) -> list[Result]:
    """Evaluate several models, as `evaluate` does with one. Each set is built once, and put to all models in turn.

    Args:
        models: see `evaluate`.
        sets: see `evaluate`.
        out: the folder for the results of all.
        predictions: the folder where predictions are kept, which may be one for many runs; `out`'s own by default.
        trust_labels: go on although the label probe finds that another label order fits a model clearly better.
        lexical: hold the scores against a lexical model on the same rows (`word_counter.WordCounter`), fitted to
            `training` if given; else against guessing alone.
        left_out: sets that could not even be asked for, for the record.
        on_set: see `OnSet`.
        on_progress: see `OnProgress`.
        on_result: see `OnResult`.
        on_failure: see `OnFailure`; without it the first set that fails ends the run.
        model_options: see `unbag.predictors.predictor_of`: `revision`, `dtype`, `device`, `label_map`, …

    Returns:
        One result for each model and set, model by model; none in the processes after the first.
    """
    several = len(models) > 1
    named: list[tuple[Predictor, dict[str, Any]]] = []
    for model in models:
        own_options = _fitting(model, model_options) if several else model_options
        predictor, model_name = predictor_of(model, **own_options)
        options = recorded_options(model, predictor, own_options)
        named.append((predictor, {"name": model_name, **({} if options is None else {"options": options})}))
    counter = WordCounter({name: model_options.get(name) for name in _FOR_BASELINES}) if lexical else None
    requests = [item if isinstance(item, Request) else suite.request(item) for item in sets]
    store = Path(out) / "predictions" if predictions is None else Path(predictions)
    group = process_group()
    probed: dict[tuple[int, str], tuple[str, bool]] = {}
    done: dict[tuple[int, int], tuple[Result, ExampleSelection]] = {}

    failures = list(left_out)

    def failed(name: str, error: Exception, model: str | None = None) -> None:
        if on_failure is None:
            raise error
        logger.debug("%s", name, exc_info=error)
        failures.append(Failure(name, error, model))
        on_failure(failures[-1])

    for set_index, request in enumerate(requests):
        if on_set is not None:
            on_set(request.name)
        try:
            item = group.main_process_first(lambda request=request: build(request))  # type: ignore[misc]
            words = Words() if counter is None else counter.of(item, store)
        except Exception as error:
            failed(request.name, error)
            continue
        for model_index, (predictor, record) in enumerate(named):
            name: str = record["name"]
            known: dict[str, Any] = {**record, **(predictor.identity or {})}
            in_words = known.get("kind") in ("causal", "endpoint")
            if known.get("kind") == "transformer" or in_words:
                # A classifier declares its labels in a file that may be wrong; words say what they mean, so that the
                # count of right answers is for the record only.
                trust = trust_labels or in_words
                if (model_index, item.language) not in probed:
                    probed[model_index, item.language] = _probed(predictor, item.language, known, trust=trust)
                right, doubted = probed[model_index, item.language]
                known["label_probe"] = {item.language: right}
                if doubted and not in_words and "options" in known:
                    known["options"] = {**known["options"], "trust_labels": True}
            progress = _progress_of(on_progress, f"{request.name}, {name}" if several else request.name)
            try:
                predicted = predict_rows(item.rows, predictor, store, progress=progress)
                if group.rank == 0:
                    probabilities = predicted.array()
                    unanswered = _unanswered(probabilities, request.name) if known.get("kind") == "endpoint" else None
                    answers = Answers(probabilities, predicted.label_space, predicted.has_probabilities, unanswered)
                    counts = {"truncated_pairs": predicted.truncated}
                    if unanswered is not None:
                        counts["unanswered_pairs"] = int(unanswered.sum())
                    result = score(item, answers, {**known, **counts}, words)
                    done[model_index, set_index] = result, report_examples.select(result, item.rows, answers)
            except Exception as error:
                failed(request.name, error, name)
                continue
            if group.rank == 0 and on_result is not None:
                on_result(done[model_index, set_index][0])
    return _written([done[key] for key in sorted(done)], Path(out), failures)


def _written(
    scored: Sequence[tuple[Result, ExampleSelection]], out: Path, failures: Sequence[Failure] = ()
) -> list[Result]:
    """Leave results in a folder, what they rest on first: where results.json is, all is."""
    done = [result for result, _ in scored]
    if done:
        report_examples.write([selection for _, selection in scored], out / report_examples.FILE)
        paired_samples.write(done, out)
        left_out = [results.LeftOut(each.set, each.model, each.reason) for each in failures]
        results.write(done, out / results.FILE, left_out)
    return done


def _warn(failure: Failure) -> None:
    logger.warning("%s is left out: %s", failure.set, failure.reason)


def evaluate_file(path: Path, request: Request, *, out: Path | str, lexical: bool = True) -> Result:
    """Score a file of predictions made elsewhere; leave `results.json` and the examples in a folder.

    Args:
        path: the file, as `unbag.prediction_files` reads it.
        request: the set that was predicted.
        out: the folder.
        lexical: see `evaluate_all`.

    Raises:
        ValueError: if the file does not have one valid prediction for each row of the set.
    """
    built = build(request)
    words = WordCounter({}).of(built, Path(out) / "predictions") if lexical else Words()
    predictions = read_predictions(path, column(built.rows, "id").to_pylist())
    model = {"name": path.name, "kind": "file", "sha256": predictions.sha256}
    answers = Answers(predictions.probabilities, predictions.label_space, predictions.has_probabilities)
    result = score(built, answers, model, words)
    _written([(result, report_examples.select(result, built.rows, answers))], Path(out))
    return result


def score(built: BuiltSet, answers: Answers, model: Mapping[str, Any], words: Words | None = None) -> Result:
    """Score a `model`'s answers, and record what was scored.

    Args:
        built: the set.
        answers: the model's.
        model: its record.
        words: the answers of a lexical model; none where the scores are held against guessing alone.
    """
    words = words or Words()
    # A built-in bag of words is a counter of words itself, whatever it was fitted to.
    counting = [each for each in (words.answers, answers if model.get("kind") == "lexical" else None) if each]
    return Result(
        set=built.request.name,
        config=built.config,
        model=model,
        data=built.data,
        scores=challenge_sets.get(built.request.name).score_rows(built.rows, answers, counting, words.about),
        environment=results.environment(),
    )


def _fitting(model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a model takes, where several models are given each its own."""
    if kind := prompted(model):
        return {name: value for name, value in options.items() if name in prompted_options(kind)}
    baseline = model in BASELINES if isinstance(model, str) else False
    return {
        name: value
        for name, value in options.items()
        if name not in _ONLY_IN_WORDS and (name in _FOR_BASELINES) == baseline
    }


def _unanswered(probabilities: NDArray[np.float32], title: str) -> NDArray[np.bool_]:
    """Return for which pairs no label is likelier than another, shape (n,), and say so if there are any."""
    unanswered: NDArray[np.bool_] = (probabilities == probabilities[:, :1]).all(axis=1)
    if n := int(unanswered.sum()):
        logger.warning(
            "%s: %s of %s answers name no label; they count as wrong", title, f"{n:,}", f"{len(unanswered):,}"
        )
    return unanswered


def _probed(predictor: Predictor, language: str, known: Mapping[str, Any], *, trust: bool) -> tuple[str, bool]:
    """Return how many obvious pairs the model gets right as it declares its labels, and whether that is to be doubted.

    Raises:
        MislabelledError: if another order of the labels fits clearly better, unless the declared one is trusted.
    """
    report = probe(predictor, language)
    if report.mislabelled:
        if not trust:
            raise MislabelledError(report)
        in_words = known["kind"] != "transformer"
        logger.warning("%s", _takes_words_for_others(report, known) if in_words else MislabelledError(report))
    return f"{report.right_declared} of {report.pairs}", report.mislabelled


def _takes_words_for_others(report: ProbeReport, known: Mapping[str, Any]) -> str:
    """Return what to say of a language model whose words fit other labels better: there is no order to correct."""
    orders = zip(report.declared, report.best, strict=True)
    other = " and ".join(f"{WORDS[label]} as {best}" for label, best in orders if label != best)
    form = ", or the other form of question (--chat or --no-chat)" if known["kind"] == "causal" else ""
    return (
        f"{known['name']} gets {report.right_declared} of {report.pairs} obvious pairs right, and {report.right_best} "
        f"of {report.pairs} read with {other}: it seems to take the question's words for others. Its answers count as "
        f"the question defines them; try another number of worked examples (--shots {', '.join(map(str, SHOTS))}){form}"
    )


def _progress_of(on_progress: OnProgress | None, name: str) -> Callable[[int, int], None] | None:
    if on_progress is None:
        return None
    return lambda done, total: on_progress(name, done, total)
