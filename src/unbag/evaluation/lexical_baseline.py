"""Lexical baseline: predictions of a bag-of-words model on the same rows, for comparison with a model's scores."""

import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.baselines.lexical.predictors import LexicalPredictor
from unbag.baselines.lexical.words import ALL, PIPELINES
from unbag.challenge_sets.request import BuiltSet, SetRequest, prebuild_sets
from unbag.data.corpora import LANGUAGES
from unbag.data.predictions import SetPredictions
from unbag.evaluation.outcome import EvaluationCallbacks
from unbag.inference.distributed import connect_process_group
from unbag.inference.predictor import Predictor
from unbag.inference.runner import predict_rows

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess
    from multiprocessing.sharedctypes import SynchronizedArray
    from multiprocessing.synchronize import Event

PAIRS: Final = {
    **{language: (f"xnli_{language}", 20_000, ALL) for language in LANGUAGES},
    "en": ("snli", 20_000, PIPELINES["en"]),
    "zh": ("ocnli", 10_000, ALL),
}
"""Default training data by language: corpus, number of training pairs, and tagger for word selection. All Chinese
words are used: segmentation depends on word order, so an unordered bag of words cannot be tagged."""

FITTING: Final = "fitting the lexical model"
"""Name of the progress stage for fitting."""

_POLL: Final = 0.1  # seconds between two looks at the progress of the fit
logger = logging.getLogger(__name__)


class BaselinePredictions(NamedTuple):
    """Predictions of the lexical baseline on a set, and the identity of the baseline.

    Both are None if there is no baseline.
    """

    answers: SetPredictions | None = None
    identity: Mapping[str, str] | None = None


class LexicalBaseline:
    """Bag-of-words baseline for the skill score: the model `lexical`, fitted to 20,000 SNLI pairs by default.

    Elsewhere the model `lexical` is fitted to all of SNLI and MNLI by default, which takes half an hour of tagging.

    Args:
        options: `train_data`, `max_train_pairs` and `pipeline` of `baselines.lexical.fitting.LexicalTrainingOptions`
            that differ from the defaults.
        callbacks: Callbacks of the evaluation. Training pairs and predicted rows are reported as steps of it.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        callbacks: EvaluationCallbacks = EvaluationCallbacks(),  # noqa: B008 (immutable)
    ) -> None:
        self._options = {name: value for name, value in options.items() if value is not None}
        self._callbacks = callbacks
        self._by_language: dict[str, Predictor | None] = {}
        self._process: SpawnProcess | None = None
        self._is_fitted: Event
        self._fitted_pairs: SynchronizedArray[int]

    def start_fitting(self, language: str, requests: Sequence[SetRequest]) -> None:
        """Fit the model for a language in a second process, which then builds sets, the last one first.

        This process builds the sets from the first to the last, so that both rarely need the same set. The second
        process fills the caches in which this process looks first, so it affects no result. If it dies, this process
        does the remaining work.
        """
        import datasets

        with suppress(OSError, ValueError):  # no second process, or invalid options, which `predict` reports
            if (recipe := self.build_recipe(language)) is None:
                return
            context = multiprocessing.get_context("spawn")  # a fork would inherit the locks of our threads
            self._is_fitted, self._fitted_pairs = context.Event(), context.Array("q", 2)
            arguments = (recipe, requests, datasets.config.HF_DATASETS_CACHE, self._is_fitted, self._fitted_pairs)
            # A daemon ends with this process.
            self._process = context.Process(target=_fit_and_build, args=arguments, daemon=True)
            # Otherwise, the process would import the user's script, which may have no `if __name__ == "__main__"`.
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                self._process.start()
            finally:
                sys.modules["__main__"] = main

    @property
    def is_fitting(self) -> bool:
        """Whether a second process is still fitting the model. If so, `predict` blocks."""
        return self._process is not None and self._process.is_alive() and not self._is_fitted.is_set()

    def stop(self) -> None:
        """End the second process, if there is one."""
        if self._process is not None and self._process.pid is not None:
            self._process.kill()
            self._process.join()

    def predict(self, built_set: BuiltSet, store: Path | str) -> BaselinePredictions:
        """Predict all rows of a set. If the model cannot be fitted, log a warning once and return no predictions.

        `store` is the folder or URL of stored predictions.
        """
        if built_set.language not in self._by_language:
            self._by_language[built_set.language] = self._fit(built_set.language)
        predictor = self._by_language[built_set.language]
        if predictor is None:
            return BaselinePredictions()
        progress = self._callbacks.for_step(f"{built_set.request.name}, lexical")
        predicted = predict_rows(built_set.rows, predictor, store, progress=progress)
        if connect_process_group().rank:  # the first process scores
            return BaselinePredictions()
        return BaselinePredictions(predicted.to_set_predictions(), dict(predictor.identity or {}))

    def build_recipe(self, language: str) -> LexicalTrainingOptions | None:
        """Build the recipe (training options) for a language. Return None if there is no training data."""
        options = {**self._options, "language": language}
        if "train_data" not in options:
            if language not in PAIRS:
                return None
            corpus, pairs, pipeline = PAIRS[language]
            options = {"train_data": (corpus,), "max_train_pairs": pairs, "pipeline": pipeline} | options
        return LexicalTrainingOptions(**options)

    def _fit(self, language: str) -> Predictor | None:
        progress = self._callbacks.for_step(FITTING)
        try:
            if (recipe := self.build_recipe(language)) is None:
                return None
            while self._process is not None and self.is_fitting:
                done, total = self._fitted_pairs[:]
                if progress is not None and total:
                    progress(done, total)
                time.sleep(_POLL)
            return connect_process_group().main_process_first(
                lambda: LexicalPredictor(fit_or_load_lexical_model(recipe, progress=progress))
            )
        except Exception as error:
            logger.warning(
                "the lexical baseline could not be fitted (%s); the skill scores of this run do not include it; fix "
                "the cause and evaluate again",
                error,
            )
            return None


def _fit_and_build(
    recipe: LexicalTrainingOptions,
    requests: Sequence[SetRequest],
    datasets_cache: Path,
    is_fitted: "Event",
    progress: "SynchronizedArray[int]",
) -> None:
    import datasets

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides what Ctrl-C means
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the first process repeats what fails, and shows the error
    os.dup2(1, 2)
    datasets.config.HF_DATASETS_CACHE = datasets_cache

    def report(done: int, total: int) -> None:
        progress[:] = [done, total]

    with suppress(Exception):
        fit_or_load_lexical_model(recipe, progress=report)
    is_fitted.set()
    for request in reversed(requests):
        if (parent := multiprocessing.parent_process()) is not None and parent.is_alive():
            prebuild_sets([request])
