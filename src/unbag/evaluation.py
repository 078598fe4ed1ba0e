"""A model and challenge sets in; predictions, scores and the record of both out."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag import measures, results
from unbag.built import BuiltSet, Request, build
from unbag.columns import column
from unbag.inference.naming import Model, predictor_of, prompted, prompted_options
from unbag.inference.predictor import Predictor
from unbag.inference.probe import MislabelledError, probe
from unbag.inference.processes import processes
from unbag.inference.run import predict_rows
from unbag.inference.store import Predictions
from unbag.lexical.predictors import BASELINES
from unbag.measures import Answers
from unbag.prediction_files import read_predictions
from unbag.results import Result
from unbag.sets import config_name

_FOR_BASELINES: Final = frozenset({"training", "pairs", "pipeline"})
_ONLY_IN_WORDS: Final = frozenset({"shots", "chat", "base_url", "concurrency", "retries", "spending", "cache"})
logger = logging.getLogger(__name__)

OnProgress = Callable[[str, int, int], None]
"""Called with the set's name, and how many of how many rows are predicted."""


def evaluate(
    model: Model,
    sets: Sequence[Request | str] = ("permuted",),
    *,
    out: Path | str,
    **options: Any,
) -> list[Result]:
    """Evaluate a model on challenge sets; leave `results.json` and the predictions in a folder.

    A run that was stopped goes on where it was when called again with the same arguments, and its results are those of
    an unbroken run. Started by `torchrun` or `accelerate launch`, the processes share the work, and the first of them
    scores and writes.

    Args:
        model: a Hub id, a folder, a built-in model, `module:function`, a function or a predictor
            (`unbag.inference.naming`).
        sets: what to evaluate on; a name alone means that set of its default corpus.
        out: the folder.
        options: those of `evaluate_all`.

    Returns:
        One result a set; none in the processes after the first.

    Raises:
        ValueError: if an input is not what is expected; `labels.LabelError` if the label order is unknown or refuted.
    """
    return evaluate_all([model], sets, out=out, **options)


def evaluate_all(
    models: Sequence[Model],
    sets: Sequence[Request | str],
    *,
    out: Path | str,
    predictions: Path | str | None = None,
    trust_labels: bool = False,
    on_progress: OnProgress | None = None,
    **model_options: Any,
) -> list[Result]:
    """Evaluate several models, one after the other, as `evaluate` does with one. The sets are built once.

    Args:
        models: see `evaluate`.
        sets: see `evaluate`.
        out: the folder for the results of all.
        predictions: the folder where predictions are kept, which may be one for many runs; `out`'s own by default.
        trust_labels: go on although the label probe finds that another label order fits a model clearly better.
        on_progress: see `OnProgress`.
        model_options: see `unbag.inference.naming.predictor_of`: `revision`, `dtype`, `device`, `label_map`, …

    Returns:
        One result for each model and set; none in the processes after the first.
    """
    several = len(models) > 1
    named = [predictor_of(model, **(_fitting(model, model_options) if several else model_options)) for model in models]
    requests = [item if isinstance(item, Request) else _default_request(item) for item in sets]
    built = [build(request) for request in requests]
    store = Path(out) / "predictions" if predictions is None else Path(predictions)
    done = []
    for predictor, name in named:
        known: dict[str, Any] = {"name": name, **(predictor.identity or {})}
        in_words = known.get("kind") in ("causal", "endpoint")
        if known.get("kind") == "transformer" or in_words:
            # A classifier declares its labels in a file that may be wrong; words say what they mean, so that the count
            # of right answers is for the record only.
            trust = trust_labels or in_words
            known["label_probe"] = _probed(predictor, {item.language for item in built}, trust=trust)
        for item in built:
            title = f"{item.request.name}, {name}" if several else item.request.name
            tell = _telling(on_progress, title)
            found = predict_rows(item.rows, predictor, store, progress=tell)
            if processes().rank == 0:
                probabilities = _array(found)
                unanswered = _unanswered(probabilities, title) if known.get("kind") == "endpoint" else None
                answers = Answers(probabilities, found.space, found.has_probabilities, unanswered)
                counts = {"truncated_pairs": found.truncated}
                if unanswered is not None:
                    counts["unanswered_pairs"] = int(unanswered.sum())
                done.append(score(item, answers, {**known, **counts}))
    if done:
        results.write(done, Path(out) / results.FILE)
    return done


def evaluate_file(path: Path, request: Request, *, out: Path | str) -> Result:
    """Score a file of predictions made elsewhere; leave `results.json` in a folder.

    Args:
        path: the file, as `unbag.prediction_files` reads it.
        request: the set that was predicted.
        out: the folder.

    Raises:
        ValueError: if the file does not have one valid prediction for each row of the set.
    """
    built = build(request)
    found = read_predictions(path, column(built.rows, "id").to_pylist())
    model = {"name": path.name, "kind": "file", "sha256": found.sha256}
    result = score(built, Answers(found.probabilities, found.space, found.doubts), model)
    results.write([result], Path(out) / results.FILE)
    return result


def score(built: BuiltSet, answers: Answers, model: Mapping[str, Any]) -> Result:
    """Score a `model`'s answers, and record what was scored."""
    return Result(
        set=built.request.name,
        config=built.config,
        model=model,
        data=built.data,
        scores=measures.score(built.request.name, built.rows, answers),
        environment=results.environment(),
    )


def _default_request(name: str) -> Request:
    config, options = config_name(name, None, None, {})
    return Request(name, config, options)


def _fitting(model: Model, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a model takes, where several models are given each its own."""
    if kind := prompted(model):
        return {name: value for name, value in options.items() if name in prompted_options(kind)}
    baseline = model in BASELINES if isinstance(model, str) else False
    fitting = (name for name in options.keys() - _ONLY_IN_WORDS if (name in _FOR_BASELINES) == baseline)
    return {name: options[name] for name in fitting}


def _array(predictions: Predictions) -> NDArray[np.float32]:
    """Return the probabilities in the order of the rows, shape (n, labels)."""
    table = predictions.table(list(predictions.space))
    return np.stack([values.to_numpy() for values in table.itercolumns()], axis=1)


def _unanswered(probabilities: NDArray[np.float32], title: str) -> NDArray[np.bool_]:
    """Return for which pairs no label is likelier than another, shape (n,), and say so if there are any."""
    unanswered: NDArray[np.bool_] = (probabilities == probabilities[:, :1]).all(axis=1)
    if n := int(unanswered.sum()):
        logger.warning(
            "%s: %s of %s answers name no label; they count as wrong", title, f"{n:,}", f"{len(unanswered):,}"
        )
    return unanswered


def _probed(predictor: Predictor, languages: Collection[str], *, trust: bool) -> dict[str, str]:
    """Return how many obvious pairs the model gets right as it declares its labels, by language.

    Raises:
        MislabelledError: if another order of the labels fits clearly better, unless the declared one is trusted.
    """
    right = {}
    for language in sorted(languages):
        report = probe(predictor, language)
        right[language] = f"{report.right_declared} of {report.pairs}"
        if report.mislabelled:
            if not trust:
                raise MislabelledError(report)
            logger.warning("%s", MislabelledError(report))
    return right


def _telling(on_progress: OnProgress | None, name: str) -> Callable[[int, int], None] | None:
    if on_progress is None:
        return None
    return lambda done, total: on_progress(name, done, total)
