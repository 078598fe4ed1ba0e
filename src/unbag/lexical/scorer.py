"""Examples scored by lexical models: how far their words mislead (Nie et al. 2019, section 5.3)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.data.columns import real, rounded
from unbag.data.labels import label_id
from unbag.data.sources import Example, Source
from unbag.lexical.contributions import LOGIT_DECIMALS
from unbag.lexical.model import Contribution, LexicalModel
from unbag.lexical.regression import lms
from unbag.lexical.training import FOLDS, Fold, Recipe, fitted, fold_of, training_sources
from unbag.lexical.words import reader_of

PROBABILITY: Final = real("probability", 4)
LMS: Final = real("lms", 4)
LOGIT: Final = real("logit", LOGIT_DECIMALS)


class Score(NamedTuple):
    """What a lexical model says of an example.

    Attributes:
        probabilities: of `labels.LABELS`, rounded, shape (3,).
        lms: the highest of these of a wrong label.
        misleading: the features that most favour the likeliest wrong label over the gold one, by their rounded logits.
    """

    probabilities: NDArray[np.float64]
    lms: float
    misleading: list[Contribution]


class Scorer:
    """One lexical model for all examples, or one for each fold of them, which has not seen it.

    Args:
        models: the model, or those of the folds in their order.
        seed: decides the folds.
        top: how many misleading features to name.
    """

    def __init__(self, models: Sequence[LexicalModel], seed: int, *, top: int = 3) -> None:
        self.models = models
        self._seed = seed
        self._top = top
        record = models[0].record
        self._reader = reader_of(record)
        self._hypothesis_only = record["hypothesis_only"]

    def score(self, examples: Sequence[Example]) -> list[Score]:
        """Score examples, in their order."""
        words = self._reader.read({text for example in examples for text in (example.premise, example.hypothesis)})
        of_model: list[list[int]] = [[] for _ in self.models]
        for position, example in enumerate(examples):
            of_model[fold_of(example, len(self.models), self._seed)].append(position)
        scores: dict[int, Score] = {}
        for model, positions in zip(self.models, of_model, strict=True):
            some = [examples[position] for position in positions]
            pairs = [(() if self._hypothesis_only else words[e.premise], words[e.hypothesis]) for e in some]
            probabilities = rounded(model.probabilities(pairs), PROBABILITY)
            highest = lms(probabilities, np.array([label_id(e.label) for e in some], dtype=np.int64))
            misleading = model.misleading(pairs, probabilities, [e.label for e in some], self._top)
            scores |= zip(positions, map(Score, probabilities, map(float, highest), misleading), strict=True)
        return [scores[position] for position in range(len(examples))]


def score_pair(model: LexicalModel, premise: str, hypothesis: str, gold: str, *, top: int = 3) -> Score:
    """Score one pair as if `gold` were its label, with the `top` features that mislead most."""
    return Scorer([model], seed=0, top=top).score([Example("", premise, hypothesis, gold)])[0]


def scorer_folders(recipe: Recipe, source: Source, *, folds: int = FOLDS) -> list[Path]:
    """Return the models that may score a source, fitting them where needed.

    Returns:
        One folder; or one a fold, if the source is among those that the recipe trains on: each example is then scored
        by the model that was fitted without its fold, so never by one that saw it.
    """
    trained_on = {(s.origin, s.split, s.revision) for s in training_sources(recipe)}
    if (source.origin, source.split, source.revision) not in trained_on:
        return [fitted(recipe)]
    return [fitted(recipe, Fold(number, folds, recipe.seed)) for number in range(folds)]
