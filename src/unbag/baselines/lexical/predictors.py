"""Baseline predictors: bag of words, hypothesis only, label distribution, WordNet, and natural logic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model, load_lexical_model
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, BY_TYPE
from unbag.data import labels
from unbag.inference.predictor import LabelSource, validate_pairs


class LexicalPredictor:
    """Predictor that runs a fitted lexical model, a bag of words over both sentences.

    If words are selected by their tags in context (`LexicalTrainingOptions.tags`), the predictions depend slightly on
    word order. The attribute `is_order_invariant` is then False.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS
    label_source: ClassVar[LabelSource] = "fitted"

    def __init__(self, folder: Path, revision: str | None = None) -> None:
        self._model = load_lexical_model(folder)
        record = self._model.record
        self.is_order_invariant = record["tags"] != BY_CONTEXT
        self.identity: Mapping[str, str] = {
            "kind": "lexical",
            "recipe": self._model.record_hash,
            # How the words were selected for fitting, and how they are selected now if this differs.
            "words": "; read as ".join(dict.fromkeys((record["words"], self._model.selector.identity))),
            "tags": str(record["tags"]),
            "training": ", ".join(f"{part['origin']} {part['split']}".strip() for part in record["training"]),
            "pairs": str(record["pairs"]),
            "l2": f"{record['l2']:g}",
            "hypothesis_only": str(record["hypothesis_only"]),
            **({"revision": revision} if revision else {}),
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, shape (n, 3)."""
        pairs = self._model.select_words(*validate_pairs(premises, hypotheses))
        return self._model.probabilities(pairs).astype(np.float32)


class MajorityPredictor:
    """Predictor that returns the label distribution of the training pairs for every pair."""

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS
    label_source: ClassVar[LabelSource] = "fitted"
    is_order_invariant = True

    def __init__(self, recipe: LexicalTrainingOptions) -> None:
        sources = recipe.open_sources()
        # `get_label_id` rejects not_entailment, which is not a label of this model.
        ids = Counter(labels.get_label_id(example.label) for source in sources for example in source.iter_examples())
        counts = {label: ids[labels.get_label_id(label)] for label in labels.LABELS}
        total = ids.total()
        self._shares = np.array([counts[label] / total for label in labels.LABELS], dtype=np.float32)
        self.identity: Mapping[str, str] = {
            "kind": "majority",
            "training": ", ".join(f"{source.origin} {source.split}".strip() for source in sources),
            "shares": ", ".join(f"{label} {counts[label]}" for label in labels.LABELS),
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the label distribution of the training pairs for each of n pairs, shape (n, 3)."""
        return np.tile(self._shares, (len(validate_pairs(premises, hypotheses)[0]), 1))


def _hypothesis_only(recipe: LexicalTrainingOptions) -> LexicalPredictor:
    # All words are used, because "not" and "nobody" are the strongest hypothesis artifacts (Gururangan et al. 2018).
    words = replace(recipe, pipeline=ALL, tags=BY_TYPE, hypothesis_only=True, l2=None)
    return LexicalPredictor(fit_or_load_lexical_model(words))


def _wordnet(_: LexicalTrainingOptions) -> Any:
    # WordNet requires no training, so the recipe, which all baselines of a run share, has no effect.
    from unbag.baselines.wordnet.predictor import WordNetPredictor  # imports NLTK, an optional dependency

    return WordNetPredictor.load()


def _natlog(recipe: LexicalTrainingOptions) -> Any:
    from unbag.baselines.natlog.labeler import NatlogPredictor  # imports spaCy and NLTK, optional dependencies
    from unbag.data.text.tagging import PIPELINE

    return NatlogPredictor.load(recipe.pipeline or PIPELINE)


BASELINES: Final[Mapping[str, Any]] = {
    "lexical": lambda recipe: LexicalPredictor(fit_or_load_lexical_model(recipe)),
    "hypothesis-only": _hypothesis_only,
    "majority": MajorityPredictor,
    "wordnet": _wordnet,
    "natlog": _natlog,
}
"""Functions that build the built-in models from a `LexicalTrainingOptions`, by model name."""


def is_baseline(model_record: Mapping[str, Any]) -> bool:
    """Check whether a model is a baseline (built-in or user-fitted), based on its JSON record."""
    return model_record["name"] in BASELINES or model_record.get("kind") in BASELINES
