"""Lexically misleading scores of examples, and rows of the CS_λ set (Nie et al. 2019, sections 5.3 and 5.4)."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.baselines.lexical.features import LOGIT_DECIMALS, FeatureContribution
from unbag.baselines.lexical.fitting import (
    FOLDS,
    LexicalTrainingOptions,
    TrainingFold,
    compute_fold_index,
    fit_or_load_lexical_model,
    open_training_sources,
)
from unbag.baselines.lexical.model import LexicalModel
from unbag.baselines.lexical.regression import compute_lms
from unbag.baselines.lexical.words import build_model_word_selector
from unbag.data.columns import PAIR, ROWS_PER_TABLE, declare_float_field, get_decimals, round_to_field
from unbag.data.labels import LABELS, get_label_id
from unbag.data.sources import Example, PairSource, compute_source_id

PROBABILITY: Final = declare_float_field("probability", 4)
LMS: Final = declare_float_field("lms", 4)
LOGIT: Final = declare_float_field("logit", LOGIT_DECIMALS)


class LexicalScore(NamedTuple):
    """Prediction and lexically misleading score of an example."""

    probabilities: NDArray[np.float64]  # rounded, of `data.labels.LABELS`, shape (3,)
    lms: float  # lexically misleading score: the highest probability of a wrong label
    # Features that favor the most likely wrong label over the gold label most strongly, by rounded logit.
    misleading: list[FeatureContribution]


class ExampleScorer:
    """Scorer that applies a lexical model, or the out-of-fold models of cross-fitting, to examples.

    Args:
        models: A single model, or the models of all folds in order.
    """

    def __init__(self, models: Sequence[LexicalModel], seed: int, *, max_features: int = 3) -> None:
        self.models = models
        self._seed = seed
        self._top = max_features
        record = models[0].record
        self._reader = build_model_word_selector(record)
        self._hypothesis_only = record["hypothesis_only"]

    def score(self, examples: Sequence[Example]) -> list[LexicalScore]:
        """Score examples, in order. With cross-fitting, an example is scored by the model fitted without its fold."""
        words = self._reader.select_words(
            {text for example in examples for text in (example.premise, example.hypothesis)}
        )
        positions_by_fold: list[list[int]] = [[] for _ in self.models]
        for position, example in enumerate(examples):
            positions_by_fold[compute_fold_index(example, len(self.models), self._seed)].append(position)
        scores: dict[int, LexicalScore] = {}
        for model, positions in zip(self.models, positions_by_fold, strict=True):
            subset = [examples[position] for position in positions]
            pairs = [(() if self._hypothesis_only else words[e.premise], words[e.hypothesis]) for e in subset]
            # All following steps use the rounded probabilities, which are the same on every machine.
            probabilities = round_to_field(model.probabilities(pairs), PROBABILITY)
            highest = compute_lms(probabilities, np.array([get_label_id(e.label) for e in subset], dtype=np.int64))
            misleading = model.rank_misleading(pairs, probabilities, [e.label for e in subset], self._top)
            scores |= zip(positions, map(LexicalScore, probabilities, map(float, highest), misleading), strict=True)
        return [scores[position] for position in range(len(examples))]


def compute_lexical_score(
    model: LexicalModel, premise: str, hypothesis: str, gold: str, *, max_features: int = 3
) -> LexicalScore:
    """Compute the lexically misleading score of a single pair, with at most `max_features` misleading features."""
    return ExampleScorer([model], seed=0, max_features=max_features).score([Example("", premise, hypothesis, gold)])[0]


def fit_or_load_scorer_models(
    options: LexicalTrainingOptions, source: PairSource, *, n_folds: int = FOLDS
) -> list[Path]:
    """Fit the lexical models that score the examples of a source, or find them in the cache. Returns their folders.

    There is one folder, or one folder per fold if the source is part of the training data. Each example is then scored
    by the model that was fitted without its fold, so no model scores its own training examples.
    """
    training = {(s.origin, s.split, s.revision) for s in open_training_sources(options)}
    if (source.origin, source.split, source.revision) not in training:
        return [fit_or_load_lexical_model(options)]
    return [
        fit_or_load_lexical_model(options, TrainingFold(number, n_folds, options.seed)) for number in range(n_folds)
    ]


PROBABILITIES: Final = tuple(f"lexical_{label}" for label in LABELS)
SCHEMA: Final = pa.schema(
    [
        *PAIR,
        LMS,
        *(declare_float_field(name, get_decimals(PROBABILITY)) for name in PROBABILITIES),
        # The features that favor the most likely wrong label most strongly; a missing word is null.
        (
            "misleading",
            pa.list_(pa.struct([("premise", pa.string()), ("hypothesis", pa.string()), LOGIT])),
        ),
        ("annotator_labels", pa.list_(pa.int64())),
    ]
)


def iter_misleading_example_tables(
    examples: Iterator[Example], scorer: ExampleScorer, *, min_lms: float
) -> Iterator[pa.Table]:
    """Score examples, and yield tables (schema: `SCHEMA`) of the examples whose LMS is at least `min_lms`.

    Each table contains the selected examples from a chunk of 10,000 examples.
    """
    while chunk := list(islice(examples, ROWS_PER_TABLE)):
        rows = [
            _row(example, score)
            for example, score in zip(chunk, scorer.score(chunk), strict=True)
            if score.lms >= min_lms
        ]
        yield pa.Table.from_pylist(rows, schema=SCHEMA)


def _row(example: Example, score: LexicalScore) -> dict[str, Any]:
    return {
        "id": example.source_id,
        "source_id": compute_source_id(example),
        "premise": example.premise,
        "hypothesis": example.hypothesis,
        "label": get_label_id(example.label),
        "lms": score.lms,
        **dict(zip(PROBABILITIES, score.probabilities.tolist(), strict=True)),
        "misleading": [
            {**contribution.feature._asdict(), "logit": contribution.logit} for contribution in score.misleading
        ],
        "annotator_labels": [get_label_id(label) for label in example.annotators],
    }
