"""The lexical model that every score is held against: what counting words gets on the same rows."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.baselines.lexical.fitting import Progress, Recipe, fit_cached
from unbag.baselines.lexical.predictors import LexicalPredictor
from unbag.baselines.lexical.words import ALL, PIPELINES
from unbag.challenge_sets.request import BuiltSet
from unbag.data.corpora import LANGUAGES
from unbag.data.predictions import SetPredictions
from unbag.inference.distributed import process_group
from unbag.inference.predictor import Predictor
from unbag.inference.runner import predict_rows
from unbag.utils.progress import OnProgress

PAIRS: Final = {
    **{language: (f"xnli_{language}", 20_000, ALL) for language in LANGUAGES},
    "en": ("snli", 20_000, PIPELINES["en"]),
    "zh": ("ocnli", 10_000, ALL),
}
"""What it is fitted to by default, by language: a corpus, how many pairs of its training split, and what tells which
words count. Chinese words are all counted: what the words are depends on their order, so none has a tag of its own."""

FITTING: Final = "fitting the lexical model"
"""What goes on while it is fitted."""

logger = logging.getLogger(__name__)


class BaselinePredictions(NamedTuple):
    """A lexical model's answers to a set, and its record; None where it was not asked."""

    answers: SetPredictions | None = None
    about: Mapping[str, str] | None = None


class LexicalBaseline:
    """The built-in model `lexical`, fitted to 20,000 pairs of SNLI by default, asked of each set in turn.

    All of SNLI and MNLI, what the model `lexical` is fitted to where it is named, takes half an hour of tagging.

    Args:
        options: `train_data`, `max_train_pairs` and `pipeline` of `baselines.lexical.fitting.Recipe`, where they are
            not the defaults.
        progress_callback: Called with (stage, done, total): of the pairs it is fitted to, and of the rows it predicts.
    """

    def __init__(self, options: Mapping[str, Any], progress_callback: OnProgress | None = None) -> None:
        self._options = {name: value for name, value in options.items() if value is not None}
        self._on_progress = progress_callback
        self._by_language: dict[str, Predictor | None] = {}

    def of(self, built: BuiltSet, store: Path | str) -> BaselinePredictions:
        """Return its answers to a set; none where the model cannot be had, which is warned of once.

        Args:
            built: the set.
            store: the folder where predictions are kept, or its address.
        """
        if built.language not in self._by_language:
            self._by_language[built.language] = self._fitted(built.language)
        predictor = self._by_language[built.language]
        if predictor is None:
            return BaselinePredictions()
        progress = self._progress(f"{built.request.name}, lexical")
        predicted = predict_rows(built.rows, predictor, store, progress=progress)
        if process_group().rank:  # the first process scores
            return BaselinePredictions()
        answers = SetPredictions(predicted.array(), predicted.label_space, predicted.has_probabilities)
        return BaselinePredictions(answers, dict(predictor.identity or {}))

    def _fitted(self, language: str) -> Predictor | None:
        options = {**self._options, "language": language}
        if "train_data" not in options:
            if language not in PAIRS:
                return None
            corpus, pairs, pipeline = PAIRS[language]
            options = {"train_data": (corpus,), "max_train_pairs": pairs, "pipeline": pipeline} | options
        try:
            recipe, progress = Recipe(**options), self._progress(FITTING)
            return process_group().main_process_first(lambda: LexicalPredictor(fit_cached(recipe, progress=progress)))
        except Exception as error:
            logger.warning(
                "the lexical model that scores are held against cannot be had (%s); 0 of the skill score is a "
                "guess in this run",
                error,
            )
            return None

    def _progress(self, name: str) -> Progress | None:
        tell = self._on_progress
        return None if tell is None else lambda done, total: tell(name, done, total)
