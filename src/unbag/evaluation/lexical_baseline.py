"""Lexical baseline: predictions of a bag-of-words model on the same rows, for comparison with a model's scores."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, Progress, fit_or_load_lexical_model
from unbag.baselines.lexical.predictors import LexicalPredictor
from unbag.baselines.lexical.words import ALL, PIPELINES
from unbag.challenge_sets.request import BuiltSet
from unbag.data.corpora import LANGUAGES
from unbag.data.predictions import SetPredictions
from unbag.evaluation.background import BackgroundBuild
from unbag.inference.distributed import connect_process_group
from unbag.inference.predictor import Predictor
from unbag.inference.runner import predict_rows
from unbag.utils.progress import OnProgress

PAIRS: Final = {
    **{language: (f"xnli_{language}", 20_000, ALL) for language in LANGUAGES},
    "en": ("snli", 20_000, PIPELINES["en"]),
    "zh": ("ocnli", 10_000, ALL),
}
"""Default training data by language: corpus, number of training pairs, and tagger for word selection. All Chinese
words are used: segmentation depends on word order, so an unordered bag of words cannot be tagged."""

FITTING: Final = "fitting the lexical model"
"""Name of the progress stage for fitting."""

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
        progress_callback: Called with (stage, done, total), for the training pairs and for the predicted rows.

    Attributes:
        background: Process that fits the model, if there is one.
    """

    def __init__(self, options: Mapping[str, Any], progress_callback: OnProgress | None = None) -> None:
        self._options = {name: value for name, value in options.items() if value is not None}
        self._on_progress = progress_callback
        self._by_language: dict[str, Predictor | None] = {}
        self.background: BackgroundBuild | None = None

    @property
    def is_fitting(self) -> bool:
        """Whether a background process is still fitting the model. If so, `predict` blocks."""
        return self.background is not None and self.background.is_fitting

    def predict(self, built_set: BuiltSet, store: Path | str) -> BaselinePredictions:
        """Predict all rows of a set. If the model cannot be fitted, log a warning once and return no predictions.

        Args:
            built_set: Set to predict.
            store: Folder or URL of stored predictions.
        """
        if built_set.language not in self._by_language:
            self._by_language[built_set.language] = self._fit(built_set.language)
        predictor = self._by_language[built_set.language]
        if predictor is None:
            return BaselinePredictions()
        progress = self._progress(f"{built_set.request.name}, lexical")
        predicted = predict_rows(built_set.rows, predictor, store, progress=progress)
        if connect_process_group().rank:  # the first process scores
            return BaselinePredictions()
        answers = SetPredictions(predicted.load_probabilities(), predicted.label_space, predicted.has_probabilities)
        return BaselinePredictions(answers, dict(predictor.identity or {}))

    def build_recipe(self, language: str) -> LexicalTrainingOptions | None:
        """Build the recipe (training options) for a language. Return None if there is no training data.

        Raises:
            ValueError: If an option has an invalid value.
        """
        options = {**self._options, "language": language}
        if "train_data" not in options:
            if language not in PAIRS:
                return None
            corpus, pairs, pipeline = PAIRS[language]
            options = {"train_data": (corpus,), "max_train_pairs": pairs, "pipeline": pipeline} | options
        return LexicalTrainingOptions(**options)

    def _fit(self, language: str) -> Predictor | None:
        progress = self._progress(FITTING)
        try:
            if (recipe := self.build_recipe(language)) is None:
                return None
            if self.background is not None and self.background.recipe == recipe:
                if (folder := self.background.wait_until_fitted(progress)) is not None:
                    return LexicalPredictor(folder)
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

    def _progress(self, name: str) -> Progress | None:
        callback = self._on_progress
        return None if callback is None else lambda done, total: callback(name, done, total)
