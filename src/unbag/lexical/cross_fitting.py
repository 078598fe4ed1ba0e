"""What a bag of words says of the very pairs that it is fitted to: each is scored by a model that never saw it.

The pairs are put into folds by the words of their premises, and a model is fitted to all folds but one, for each of
them. So the pairs of one premise are in one fold, as are equal pairs, and pairs whose words stand in another order. A
pair that was not among them, say one made of a training premise, is scored by the model without its premise's fold.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.lexical.content import Words
from unbag.lexical.model import LexicalModel, fit_lexical_model
from unbag.lexical.training import DEFAULT_SEED, FOLDS, code_hash
from unbag.lexical.words import ALL, word_reader
from unbag.utils import checksums, rng
from unbag.utils.files import cache_folder
from unbag.utils.hashing import text_hash

FLOOR: Final = 1e-6
"""The least probability that is told, so that its logarithm is a number a network can learn beside."""


class CrossFitted:
    """A bag of all words, fitted to pairs in folds.

    All words count, not content words alone: they tell more (on 22,588 pairs of SNLI 60 % of the labels, not 57 %),
    need no tagger, and are the same in any order. The models are kept in the user's cache, each as soon as it is
    fitted.

    Attributes:
        identity: all that decides what it says, as text.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        language: str = "en",
        hypothesis_only: bool = False,
        folds: int = FOLDS,
        seed: int = DEFAULT_SEED,
        cache: Path | None = None,
    ) -> None:
        """Fit the models, those that are not in the cache. The penalty is chosen once, on all pairs.

        Args:
            examples: the pairs to be scored, with their labels.
            language: of the sentences, as `text.tokens` knows them.
            hypothesis_only: whether the words of the premise are left out.
            folds: how many.
            seed: decides in which fold a premise is.
            cache: the folder for fitted models; by default `unbag/lexical` in the user's cache folder.

        Raises:
            ValueError: if some fold leaves no pair of some label to fit a model to, or there are too few pairs.
        """
        self._reader = word_reader(ALL, language)
        self._hypothesis_only, self._folds, self._seed = hypothesis_only, folds, seed
        self._words: dict[str, Words] = {}
        record = {
            "pairs": text_hash((example.premise, example.hypothesis, example.label) for example in examples),
            "words": self._reader.identity,
            **{"hypothesis_only": hypothesis_only, "folds": folds, "seed": seed},
            "code": code_hash("lexical/cross_fitting.py"),
        }
        key = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]
        self.identity = f"cross-fitted {'hypothesis' if hypothesis_only else 'lexical'} {key}"
        self._folder = (cache or cache_folder("lexical")) / f"cross-fitted-{key}"
        self._fit(examples)

    def log_probabilities(self, examples: Sequence[Example]) -> NDArray[np.float32]:
        """Return the logarithms of the probabilities of `labels.LABELS`, each at least `FLOOR`, shape (n, 3)."""
        self._read(examples)
        folds = self._folds_of(examples)
        found = np.empty((len(examples), len(LABELS)), dtype=np.float32)
        for fold in range(self._folds):  # one model in memory at a time: of all of SNLI it takes hundreds of MB
            rows = np.flatnonzero(folds == fold)
            if len(rows):
                model = LexicalModel.load(self._path(fold))
                found[rows] = model.probabilities([self._pair(examples[row]) for row in rows.tolist()])
        logarithms: NDArray[np.float32] = np.log(np.maximum(found, np.float32(FLOOR)))
        return logarithms

    def _fit(self, examples: Sequence[Example]) -> None:
        missing = [fold for fold in range(self._folds) if not self._is_there(self._path(fold))]
        if not missing:
            return
        self._read(examples)
        folds = self._folds_of(examples)
        pairs = [self._pair(example) for example in examples]
        labels = [example.label for example in examples]
        for fold in missing:
            if lacking := set(LABELS) - {label for label, at in zip(labels, folds, strict=True) if at != fold}:
                raise ValueError(
                    f"expected pairs of every label with premises enough to fit a bag of words without each fifth of "
                    f"them, found none of {', '.join(sorted(lacking))} in {len(set(folds.tolist()))} folds of "
                    f"{len(examples):,} pairs; take more pairs, or name another bias"
                )
        l2 = self._penalty(pairs, labels)
        for fold in missing:
            rows = np.flatnonzero(folds != fold).tolist()
            fit_lexical_model([pairs[row] for row in rows], [labels[row] for row in rows], l2=l2).save(self._path(fold))

    def _penalty(self, pairs: Sequence[tuple[Words, Words]], labels: Sequence[str]) -> float:
        folder = self._folder / "penalty"  # kept as the model of all pairs, so that a killed fit goes on
        if not self._is_there(folder):
            fit_lexical_model(pairs, labels, seed=self._seed).save(folder)
        return float(LexicalModel.load(folder).record["l2"])

    def _is_there(self, folder: Path) -> bool:
        if not checksums.is_sealed(folder):
            return False
        if damage := checksums.damage(folder):
            checksums.set_aside(folder, damage)
        return not damage

    def _path(self, fold: int) -> Path:
        return self._folder / f"without-{fold}"

    def _read(self, examples: Iterable[Example]) -> None:
        texts = {text for example in examples for text in (example.premise, example.hypothesis)}
        self._words |= self._reader.read(texts - self._words.keys())

    def _pair(self, example: Example) -> tuple[Words, Words]:
        return () if self._hypothesis_only else self._words[example.premise], self._words[example.hypothesis]

    def _folds_of(self, examples: Sequence[Example]) -> NDArray[np.int64]:
        premises = {example.premise for example in examples}
        fold = {text: int(rng.key(self._seed, "fold", *self._words[text])) % self._folds for text in premises}
        return np.array([fold[example.premise] for example in examples], dtype=np.int64)
