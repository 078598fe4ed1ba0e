"""Baselines: what words, the hypothesis alone, the shares of the labels, WordNet or natural logic tell."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.fitting import Recipe, fitted, load, training_sources
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, reader_of
from unbag.data import labels
from unbag.inference.predictor import validate_pairs


class LexicalPredictor:
    """A fitted lexical model as a predictor: it sees the words of both sentences and nothing of their order.

    One whose words count by their tags in context (`Recipe.tags`) sees a little of the order through the tags.

    Args:
        folder: what `fitting.fitted` made.
        revision: the commit of the Hub that it is from.
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
        """Return the probabilities of n pairs, shape (n, 3)."""
        premises, hypotheses = validate_pairs(premises, hypotheses)
        words = self._reader.read({*premises, *hypotheses})
        sides = [()] * len(premises) if self._model.record["hypothesis_only"] else [words[text] for text in premises]
        pairs = list(zip(sides, (words[text] for text in hypotheses), strict=True))
        return self._model.probabilities(pairs).astype(np.float32)


def _words(fitted_by: str, read_by: str) -> str:
    """Return which words a model has, and how they are read now, where that says more."""
    return read_by if read_by == fitted_by else f"{fitted_by}; read as {read_by}"


class MajorityPredictor:
    """The shares of the labels in the training pairs, whatever it is asked.

    Args:
        recipe: which training pairs.
    """

    label_space: ClassVar[tuple[str, ...]] = labels.LABELS

    def __init__(self, recipe: Recipe) -> None:
        sources = training_sources(recipe)
        counts = Counter(example.label for source in sources for example in source.examples())
        total = counts.total()
        self._shares = np.array([counts[label] / total for label in labels.LABELS], dtype=np.float32)
        self.identity: Mapping[str, str] = {
            "kind": "majority",
            "training": ", ".join(f"{source.origin} {source.split}".strip() for source in sources),
            "shares": ", ".join(f"{label} {counts[label]}" for label in labels.LABELS),
        }

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the shares n times, shape (n, 3)."""
        return np.tile(self._shares, (len(validate_pairs(premises, hypotheses)[0]), 1))


def _lexical(recipe: Recipe) -> LexicalPredictor:
    return LexicalPredictor(fitted(recipe))


def _hypothesis_only(recipe: Recipe) -> LexicalPredictor:
    # All words: that a hypothesis says "not" or "nobody" is most of what it gives away (Gururangan et al. 2018).
    words = Recipe(recipe.training, recipe.language, ALL, hypothesis_only=True, pairs=recipe.pairs, seed=recipe.seed)
    return LexicalPredictor(fitted(words))


def _wordnet(_: Recipe) -> Any:
    # Fitted to nothing: a recipe that is meant for the other baselines of a run says nothing here.
    from unbag.baselines.wordnet.predictor import WordNetPredictor  # NLTK only where it is asked for

    return WordNetPredictor.load()


def _natlog(recipe: Recipe) -> Any:
    from unbag.baselines.natlog.sentences import NatlogPredictor  # spaCy and NLTK only where it is asked for
    from unbag.data.text.tagging import PIPELINE

    return NatlogPredictor.load(recipe.pipeline or PIPELINE)


BASELINES: Final[Mapping[str, Any]] = {
    "lexical": _lexical,
    "hypothesis-only": _hypothesis_only,
    "majority": MajorityPredictor,
    "wordnet": _wordnet,
    "natlog": _natlog,
}
"""What makes each built-in model from a `Recipe`, by the name that stands for it wherever a model is named."""


def is_order_blind(model: Mapping[str, Any]) -> bool:
    """Check whether the record of a model is of one that is blind to word order by construction.

    Its answers to shuffled words are its answers, so that nobody has to ask. A lexical model whose words count by their
    tags in context is none: tags depend on the order.
    """
    return model.get("kind") == "majority" or (model.get("kind") == "lexical" and model.get("tags") != BY_CONTEXT)


def is_baseline(model: Mapping[str, Any]) -> bool:
    """Tell whether the record of a model (`results.Result.model`) is a baseline's, built in or fitted by a user."""
    return model["name"] in BASELINES or model.get("kind") in BASELINES
