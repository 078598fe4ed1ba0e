"""Lexically misleading scores of examples, and rows of the CS_λ set (Nie et al. 2019, sections 5.3 and 5.4)."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.baselines.lexical.features import (
    LOGIT_DECIMALS,
    FeatureContribution,
    compute_lms,
    rank_misleading_features,
)
from unbag.baselines.lexical.fitting import (
    FOLDS,
    LexicalTrainingOptions,
    compute_fold_index,
    fit_or_load_lexical_models,
)
from unbag.baselines.lexical.model import LexicalModel
from unbag.data.columns import PAIR, ROWS_PER_TABLE, declare_float_field, round_to_field
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


def score_examples(
    models: Sequence[LexicalModel], examples: Sequence[Example], *, seed: int = 0, max_features: int = 3
) -> list[LexicalScore]:
    """Compute the scores of examples, in order, with at most `max_features` misleading features each.

    `models` has a single model, or the models of all folds in order. With cross-fitting, an example is scored by the
    model fitted without its fold.
    """
    pairs = models[0].select_words([e.premise for e in examples], [e.hypothesis for e in examples])
    gold = np.array([get_label_id(example.label) for example in examples], dtype=np.int64)
    folds = np.array([compute_fold_index(example, len(models), seed) for example in examples], dtype=np.int64)
    scores: dict[int, LexicalScore] = {}
    for fold, model in enumerate(models):
        positions = np.flatnonzero(folds == fold)
        matrix = model.vocabulary.matrix([pairs[position] for position in positions])
        # All following steps use the rounded probabilities, which are the same on every machine.
        probabilities = round_to_field(model.regression.probabilities(matrix), PROBABILITY)
        highest = compute_lms(probabilities, gold[positions]).tolist()
        misleading = rank_misleading_features(
            model.vocabulary, model.regression.weights, matrix, probabilities, gold[positions], max_features
        )
        scores |= zip(positions.tolist(), map(LexicalScore, probabilities, highest, misleading), strict=True)
    return [scores[position] for position in range(len(examples))]


def fit_or_load_scorer_models(
    options: LexicalTrainingOptions, source: PairSource, *, n_folds: int = FOLDS
) -> list[Path]:
    """Fit the lexical models that score the examples of a source, or find them in the cache. Returns their folders.

    There is one folder, or one folder per fold if the source is part of the training data. Each example is then scored
    by the model that was fitted without its fold, so no model scores its own training examples.
    """
    is_trained_on = source.record in [training.record for training in options.open_sources()]
    return fit_or_load_lexical_models(options, n_folds if is_trained_on else 1)


PROBABILITIES: Final = tuple(f"lexical_{label}" for label in LABELS)
SCHEMA: Final = pa.schema(
    [
        *PAIR,
        LMS,
        *map(PROBABILITY.with_name, PROBABILITIES),
        # The features that favor the most likely wrong label most strongly; a missing word is null.
        (
            "misleading",
            pa.list_(pa.struct([("premise", pa.string()), ("hypothesis", pa.string()), LOGIT])),
        ),
        ("annotator_labels", pa.list_(pa.int64())),
    ]
)


def iter_misleading_example_tables(
    examples: Iterator[Example], models: Sequence[LexicalModel], *, seed: int, min_lms: float
) -> Iterator[pa.Table]:
    """Score examples, and yield tables (schema: `SCHEMA`) of the examples whose LMS is at least `min_lms`.

    Each table contains the selected examples from a chunk of 10,000 examples.
    """
    while chunk := list(islice(examples, ROWS_PER_TABLE)):
        scores = score_examples(models, chunk, seed=seed)
        rows = [_row(example, score) for example, score in zip(chunk, scores, strict=True) if score.lms >= min_lms]
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
            {"premise": each.premise, "hypothesis": each.hypothesis, "logit": each.logit} for each in score.misleading
        ],
        "annotator_labels": [get_label_id(label) for label in example.annotators],
    }
