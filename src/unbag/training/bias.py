"""Biased models for debiasing: log-probabilities for training pairs, and weights for groups of pairs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unbag.baselines.lexical.features import compute_lms
from unbag.baselines.lexical.fitting import FLOOR, CrossFittedModel
from unbag.challenge_sets.perturbations.augmentation import parse_pair_kind
from unbag.data.labels import LABELS, get_label_id
from unbag.data.sources import Example
from unbag.inference.prediction_store import StoredPredictions
from unbag.inference.runner import predict_rows
from unbag.training.recipes import WORDS
from unbag.utils.hashing import hash_texts

LEXICAL, HYPOTHESIS, BOTH = WORDS
_MANIFEST: Final = "manifest.json"  # marks the folder of a prediction store


class BiasedModel(NamedTuple):
    """Biased model, whose predictions another model is trained not to imitate."""

    identity: str  # models whose predictions may differ have different identities
    # Computes log-probabilities of n examples in the order of `labels.LABELS`, shape (n, 3), at least log(`FLOOR`).
    predict: Callable[[Sequence[Example]], NDArray[np.float32]]

    def with_cache(self) -> "BiasedModel":
        """Build a copy of the model that predicts each pair once."""
        cached: dict[tuple[str, str], NDArray[np.float32]] = {}

        def predict(examples: Sequence[Example]) -> NDArray[np.float32]:
            # By text, not by id: copies of a pair in an epoch have ids of their own.
            new = {(e.premise, e.hypothesis): e for e in examples if (e.premise, e.hypothesis) not in cached}
            if new:
                cached.update(zip(new, self.predict(list(new.values())), strict=True))
            rows = [cached[example.premise, example.hypothesis] for example in examples]
            return np.array(rows, dtype=np.float32).reshape(len(examples), len(LABELS))

        return BiasedModel(self.identity, predict)

    def without_pairs(self, training_pairs: Iterable[Example]) -> "BiasedModel":
        """Build a copy of the model with uniform probabilities for the pairs that the model was trained on."""
        pairs = {(example.premise, example.hypothesis) for example in training_pairs}

        def predict(examples: Sequence[Example]) -> NDArray[np.float32]:
            values = self.predict(examples).copy()
            # A uniform distribution has no effect in a product of experts: it adds a constant to the logits.
            values[[(e.premise, e.hypothesis) in pairs for e in examples]] = -np.log(len(LABELS))
            return values

        return BiasedModel(f"{self.identity}, not of {hash_texts(sorted(pairs))}", predict)

    def with_gold_labels_of_added_pairs(self) -> "BiasedModel":
        """Build a teacher for distillation. Of added pairs, all labels except the gold label get −∞."""

        def predict(examples: Sequence[Example]) -> NDArray[np.float32]:
            is_added = np.array([parse_pair_kind(example.source_id) is not None for example in examples], dtype=bool)
            values = np.full((len(examples), len(LABELS)), -np.inf, dtype=np.float32)
            values[np.arange(len(examples)), [get_label_id(example.label) for example in examples]] = 0.0
            corpus_pairs = [example for example, added in zip(examples, is_added, strict=True) if not added]
            values[~is_added] = self.predict(corpus_pairs)
            return values

        return BiasedModel(self.identity, predict)


def build_lexical_biased_model(name: str, examples: Sequence[Example], *, language: str) -> BiasedModel:
    """Build a bag of words of both sentences or only the hypothesis, cross-fitted to the pairs, or their product."""
    models = [
        CrossFittedModel(examples, language=language, hypothesis_only=only == HYPOTHESIS)
        for only in ((LEXICAL, HYPOTHESIS) if name == BOTH else (name,))
    ]

    def predict(examples: Sequence[Example]) -> NDArray[np.float32]:
        if name != BOTH:
            return models[0].compute_log_probabilities(examples)
        total = np.sum([model.compute_log_probabilities(examples) for model in models], axis=0)
        # A product of two models can fall below the floor again.
        normed: NDArray[np.float32] = np.maximum(special.log_softmax(total, axis=1), np.log(FLOOR)).astype(np.float32)
        return normed

    return BiasedModel(" × ".join(model.identity for model in models), predict).with_cache()


def load_network_biased_model(model: str | Path, store: Path, **options: Any) -> BiasedModel:
    """Load an NLI classifier as a biased model. All processes compute its predictions together and store them.

    `options` are arguments of `TransformerPredictor.load`.
    """
    from datasets import Dataset

    from unbag.inference.transformer import TransformerPredictor

    predictor = TransformerPredictor.load(model, **options)
    labels = predictor.label_space
    if set(labels) != set(LABELS):
        raise ValueError(
            f"{model}: expected a classifier with the labels {', '.join(LABELS)}, got {', '.join(labels)}; use "
            "another model"
        )

    def predict(examples: Sequence[Example]) -> NDArray[np.float32]:
        ids = [str(number) for number in range(len(examples))]
        columns = {"id": ids, "source_id": ids}
        columns |= {name: [getattr(example, name) for example in examples] for name in ("premise", "hypothesis")}
        predicted = predict_rows(Dataset.from_dict(columns), predictor, store)
        return _logarithms(predicted.load_probabilities(LABELS))

    identity = f"network {hash_texts(sorted((predictor.identity or {}).items()))}"
    return BiasedModel(identity, predict).with_cache()


def read_biased_predictions(folder: Path) -> BiasedModel:
    """Read a biased model from the stored predictions of one model on one set.

    The predictions are looked up by example id. A copy of a pair, which a weight above 1 makes, has the prediction of
    the pair. A pair without a prediction raises a `ValueError`.
    """
    stores = sorted(manifest.parent for manifest in folder.rglob(_MANIFEST))
    if len(stores) != 1:
        listing = f"{len(stores)}: {', '.join(map(str, stores[:3]))}" if stores else "none"
        raise ValueError(
            f"{folder}: expected predictions of one model on one set (a folder with {_MANIFEST}) or a model (a "
            f"folder with config.json), got {listing}; pass one such folder"
        )
    stored = StoredPredictions.from_folder(stores[0])
    if set(stored.label_space) != set(LABELS) or not stored.has_probabilities:
        raise ValueError(
            f"{stores[0]}: expected probabilities of {', '.join(LABELS)}, got other labels or none; predict with a "
            "three-label model"
        )
    ids = stored.table["source_id"].to_pylist()
    probabilities = stored.load_probabilities(LABELS)
    row_of = {name: row for row, name in enumerate(ids)}
    if len(row_of) < len(ids):
        raise ValueError(
            f"{folder}: expected one prediction per id, got {len(ids):,} for {len(row_of):,} ids; pass the "
            "folder with the predictions of one model on one set"
        )
    logarithms = _logarithms(probabilities)

    def predict(examples: Sequence[Example]) -> NDArray[np.float32]:
        names = [example.source_id for example in examples]
        # `mix_datasets` names the copies of a pair `ID#1`, `ID#2`, …; they share its prediction.
        rows = [row_of.get(name, row_of.get(name.rpartition("#")[0], -1)) for name in names]
        if missing := [name for name, row in zip(names, rows, strict=True) if row < 0]:
            raise ValueError(
                f"{folder}: expected a prediction for each of {len(examples):,} training pairs, got none for "
                f"{len(missing):,}, such as {missing[0]!r}; predict the training pairs and keep their ids"
            )
        return logarithms[rows]

    rows = zip(ids, probabilities.tolist(), strict=True)
    return BiasedModel(f"predictions {hash_texts((name, *map(str, row)) for name, row in rows)}", predict)


def _logarithms(probabilities: NDArray[Any]) -> NDArray[np.float32]:
    # The floor keeps the loss finite where a model rules a label out.
    logarithms: NDArray[np.float32] = np.log(np.maximum(probabilities, FLOOR)).astype(np.float32)
    return logarithms


EDGES: Final = (0.3, 0.5, 0.7)
"""LMS boundaries of the groups: predictive, weakly predictive, misleading, and misleading as in CS_0.7."""


def assign_lms_groups(probabilities: NDArray[np.floating[Any]], gold: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign pairs to groups by lexically misleading score (LMS), shape (n,). Group 0 has the lowest scores.

    The LMS of a pair (Nie et al. 2019, section 5.3) is the highest probability that a bag of words gives a wrong label.
    """
    group: NDArray[np.int64] = np.digitize(compute_lms(probabilities, gold), EDGES).astype(np.int64)
    return group


def compute_group_weights(probabilities: NDArray[np.floating[Any]], gold: NDArray[np.int64]) -> NDArray[np.float32]:
    """Compute pair weights that give every non-empty LMS group the same total weight, shape (n,).

    w_i = n / (G · n_g(i)) for n pairs in G groups, n_g(i) in the group of pair i; the mean weight is 1. After Sagawa et
    al. 2020 (https://arxiv.org/abs/1911.08731), who train on minority groups, and Liu et al. 2021
    (https://arxiv.org/abs/2107.09044), who give a larger weight to the errors of a first model.

    >>> three_and_one = np.array([[0.8, 0.1, 0.1]] * 3 + [[0.1, 0.8, 0.1]])
    >>> [round(weight, 3) for weight in compute_group_weights(three_and_one, np.zeros(4, np.int64)).tolist()]
    [0.667, 0.667, 0.667, 2.0]
    """
    group = assign_lms_groups(probabilities, gold)
    sizes = np.bincount(group, minlength=len(EDGES) + 1)
    # Empty groups do not count, so that the mean weight is 1.
    weights: NDArray[np.float32] = (len(gold) / ((sizes > 0).sum() * sizes[group])).astype(np.float32)
    return weights


BIAS: Final = "bias"
ORIGINAL: Final = "original"
TEACHER: Final = "teacher"
WEIGHT: Final = "weight"

Columns = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class BiasFeatures:
    """Features of training pairs: predictions of a biased model, a teacher and the original model, and group weights.

    The features of a model are log-probabilities, shape (n, 3), in the order of `labels.LABELS`. All processes compute
    equal features.
    """

    models: Mapping[str, BiasedModel]  # by feature: `BIAS`, `TEACHER`, `ORIGINAL`
    balanced: bool = False  # whether to add `WEIGHT` (`compute_group_weights`); requires `BIAS`

    @property
    def identity(self) -> str:
        """Identifier of the models that compute the features. Different features imply different identifiers."""
        return "; ".join(f"{'' if name == BIAS else f'{name} '}{each.identity}" for name, each in self.models.items())

    def __call__(self, examples: Sequence[Example]) -> Columns:
        """Compute the features of the pairs in one epoch."""
        features = {name: model.predict(examples) for name, model in self.models.items()}
        if self.balanced:
            gold = np.array([get_label_id(example.label) for example in examples], dtype=np.int64)
            features[WEIGHT] = compute_group_weights(np.exp(features[BIAS]), gold)
        return features
