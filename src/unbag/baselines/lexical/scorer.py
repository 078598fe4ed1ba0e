"""Lexically misleading scores of examples, and the rows of the CS_λ set (Nie et al. 2019, sections 5.3 and 5.4)."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.baselines.lexical.contributions import LOGIT_DECIMALS
from unbag.baselines.lexical.fitting import FOLDS, Fold, Recipe, fitted, fold_of, training_sources
from unbag.baselines.lexical.model import Contribution, LexicalModel
from unbag.baselines.lexical.regression import lms
from unbag.baselines.lexical.words import reader_of
from unbag.data.columns import PAIR, ROWS_PER_TABLE, decimals, real, round_to_field
from unbag.data.labels import LABELS, label_id
from unbag.data.sources import Example, Source

PROBABILITY: Final = real("probability", 4)
LMS: Final = real("lms", 4)
LOGIT: Final = real("logit", LOGIT_DECIMALS)


class Score(NamedTuple):
    """What a lexical model says of an example.

    Attributes:
        probabilities: of `data.labels.LABELS`, rounded, shape (3,).
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
            probabilities = round_to_field(model.probabilities(pairs), PROBABILITY)
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


PROBABILITIES: Final = tuple(f"lexical_{label}" for label in LABELS)
SCHEMA: Final = pa.schema(
    [
        *PAIR,
        LMS,
        *(real(name, decimals(PROBABILITY)) for name in PROBABILITIES),
        # The features that most favour the likeliest wrong label; a side of one word alone is null.
        (
            "misleading",
            pa.list_(pa.struct([("premise", pa.string()), ("hypothesis", pa.string()), LOGIT])),
        ),
        ("annotator_labels", pa.list_(pa.int64())),
    ]
)


def scored_tables(examples: Iterator[Example], scorer: Scorer, *, least_lms: float) -> Iterator[pa.Table]:
    """Yield the examples whose LMS is at least `least_lms` as tables of `SCHEMA`, 10,000 examples each."""
    while chunk := list(islice(examples, ROWS_PER_TABLE)):
        rows = [
            _row(example, score)
            for example, score in zip(chunk, scorer.score(chunk), strict=True)
            if score.lms >= least_lms
        ]
        yield pa.Table.from_pylist(rows, schema=SCHEMA)


def _row(example: Example, score: Score) -> dict[str, Any]:
    return {
        "id": example.source_id,
        "source_id": example.source_id,
        "premise": example.premise,
        "hypothesis": example.hypothesis,
        "label": label_id(example.label),
        "lms": score.lms,
        **dict(zip(PROBABILITIES, score.probabilities.tolist(), strict=True)),
        "misleading": [
            {**contribution.feature._asdict(), "logit": contribution.logit} for contribution in score.misleading
        ],
        "annotator_labels": [label_id(label) for label in example.annotators],
    }
