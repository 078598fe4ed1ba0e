"""Baseline predictors: bag of words, hypothesis only, label distribution, WordNet, and natural logic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.fitting import Recipe, fit_cached, load, training_sources
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, reader_of
from unbag.data import labels
from unbag.inference.predictor import validate_pairs


class LexicalPredictor:
    """A fitted lexical model as a predictor, which uses the words of both sentences without their order.

    If words count by their tags in context (`Recipe.tags`), the predictions depend a little on the order, through the
    tags.

    Args:
        folder: Folder of the model, from `fitting.fit_cached` or the Hub.
        revision: Commit of the Hub repository, or None.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS

    def __init__(self, folder: Path, revision: str | None = None) -> None:
        self._model = load(folder)
        record = self._model.record
        self._reader = reader_of(record)
        self.identity: Mapping[str, str] = {
            "kind": "lexical",
            "recipe": self._model.recipe,
            "words": _words(record["words"], self._reader.identity),
            "tags": str(record["tags"]),
            "training": ", ".join(f"{part['origin']} {part['split']}".strip() for part in record["training"]),
            "pairs": str(record["pairs"]),
            "l2": f"{record['l2']:g}",
            "hypothesis_only": str(record["hypothesis_only"]),
            **({"revision": revision} if revision else {}),
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the probabilities of n pairs, shape (n, 3)."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        words = self._reader.read({*premises, *hypotheses})
        sides = [()] * len(premises) if self._model.record["hypothesis_only"] else [words[text] for text in premises]
        pairs = list(zip(sides, (words[text] for text in hypotheses), strict=True))
        return self._model.probabilities(pairs).astype(np.float32)


def _words(fitted_by: str, read_by: str) -> str:
    """Format how the words of a model were selected, and how they are read now if that differs."""
    return read_by if read_by == fitted_by else f"{fitted_by}; read as {read_by}"


class MajorityPredictor:
    """A predictor of the label distribution of the training pairs, for every input.

    Args:
        recipe: Options that select the training pairs.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS

    def __init__(self, recipe: Recipe) -> None:
        sources = training_sources(recipe)
        # `label_id` rejects not_entailment, which is no label of this model.
        ids = Counter(labels.get_label_id(example.label) for source in sources for example in source.examples())
        counts = {label: ids[labels.get_label_id(label)] for label in labels.LABELS}
        total = ids.total()
        self._shares = np.array([counts[label] / total for label in labels.LABELS], dtype=np.float32)
        self.identity: Mapping[str, str] = {
            "kind": "majority",
            "training": ", ".join(f"{source.origin} {source.split}".strip() for source in sources),
            "shares": ", ".join(f"{label} {counts[label]}" for label in labels.LABELS),
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label distribution for each of n pairs, shape (n, 3)."""
        return np.tile(self._shares, (len(validate_pairs(premises, hypotheses)[0]), 1))


def _lexical(recipe: Recipe) -> LexicalPredictor:
    return LexicalPredictor(fit_cached(recipe))


def _hypothesis_only(recipe: Recipe) -> LexicalPredictor:
    # All words count: "not" and "nobody" are the strongest artifacts of hypotheses (Gururangan et al. 2018).
    words = Recipe(
        recipe.train_data,
        recipe.language,
        ALL,
        hypothesis_only=True,
        max_train_pairs=recipe.max_train_pairs,
        seed=recipe.seed,
    )
    return LexicalPredictor(fit_cached(words))


def _wordnet(_: Recipe) -> Any:
    # WordNet needs no training, so the recipe, which a run shares among its baselines, has no effect.
    from unbag.baselines.wordnet.predictor import WordNetPredictor  # imports NLTK, an optional dependency

    return WordNetPredictor.load()


def _natlog(recipe: Recipe) -> Any:
    from unbag.baselines.natlog.sentences import NatlogPredictor  # imports spaCy and NLTK, optional dependencies
    from unbag.data.text.tagging import PIPELINE

    return NatlogPredictor.load(recipe.pipeline or PIPELINE)


BASELINES: Final[Mapping[str, Any]] = {
    "lexical": _lexical,
    "hypothesis-only": _hypothesis_only,
    "majority": MajorityPredictor,
    "wordnet": _wordnet,
    "natlog": _natlog,
}
"""Constructors of the built-in models from a `Recipe`, by model name."""


def is_order_blind(model: Mapping[str, Any]) -> bool:
    """Check whether a recorded model ignores word order by construction.

    Its predictions for shuffled sentences equal those for the originals, so the shuffled control needs no run. A
    lexical model whose words count by their tags in context does not qualify, since tags depend on the order.
    """
    return model.get("kind") == "majority" or (model.get("kind") == "lexical" and model.get("tags") != BY_CONTEXT)


def is_baseline(model: Mapping[str, Any]) -> bool:
    """Check whether a recorded model (`results.Result.model`) is a baseline, built in or fitted by a user."""
    return model["name"] in BASELINES or model.get("kind") in BASELINES
