"""The lexical model that every score is held against: what counting words gets on the same rows."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.answers import Answers
from unbag.inference.predictor import Predictor
from unbag.inference.process_group import process_group
from unbag.inference.run import predict_rows
from unbag.predictors import predictor_of
from unbag.request import BuiltSet

PAIRS: Final = {"en": ("snli", 20_000), "zh": ("ocnli", 10_000)}
"""What it is fitted to by default, by language: a corpus, and how many pairs of its training split."""

logger = logging.getLogger(__name__)


class Words(NamedTuple):
    """A lexical model's answers to a set, and its record; None where it was not asked."""

    answers: Answers | None = None
    about: Mapping[str, str] | None = None


class WordCounter:
    """The built-in model `lexical`, fitted to 20,000 pairs of SNLI by default, asked of each set in turn.

    All of SNLI and MNLI, what the model `lexical` is fitted to where it is named, takes half an hour of tagging.

    Args:
        options: `training`, `pairs` and `pipeline` of `lexical.training.Recipe`, where they are not as by default.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = {name: value for name, value in options.items() if value is not None}
        self._by_language: dict[str, Predictor | None] = {}

    def of(self, built: BuiltSet, store: Path) -> Words:
        """Return its answers to a set; none where the model cannot be had, which is warned of once.

        Args:
            built: the set.
            store: the folder where predictions are kept.
        """
        if built.language not in self._by_language:
            self._by_language[built.language] = self._fitted(built.language)
        predictor = self._by_language[built.language]
        if predictor is None:
            return Words()
        predicted = predict_rows(built.rows, predictor, store)
        if process_group().rank:  # the first process scores
            return Words()
        answers = Answers(predicted.array(), predicted.label_space, predicted.has_probabilities)
        return Words(answers, dict(predictor.identity or {}))

    def _fitted(self, language: str) -> Predictor | None:
        options = dict(self._options)
        if "training" not in options:
            if language not in PAIRS:
                return None
            corpus, pairs = PAIRS[language]
            options |= {"training": (corpus,), "pairs": pairs, "language": language}
        try:
            return process_group().main_process_first(lambda: predictor_of("lexical", **options)[0])
        except Exception as error:
            logger.warning(
                "the lexical model that scores are held against cannot be had (%s); 0 of the score beyond words is a "
                "guess in this run",
                error,
            )
            return None
