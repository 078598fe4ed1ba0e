"""The lexical features of a pair (Nie et al. 2019, section 5): indicators of words and of pairs of words.

Three kinds: a word of the premise, a word of the hypothesis, and a pair of one word of each. Only nouns, verbs,
adjectives and adverbs count. Exchanging premise and hypothesis exchanges the first two kinds and mirrors the third.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unbag.text.tags import Tagged

CONTENT: Final = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "ADV"})
"""Universal POS tags of the words that count, proper nouns included."""

Words = tuple[str, ...]
"""Content words of a sentence: lower-cased, each once, sorted."""


class Feature(NamedTuple):
    """A feature by name: a word of either side, or both for a pair; None where a side says nothing."""

    premise: str | None
    hypothesis: str | None


def content_words(tagged: Tagged) -> Words:
    """Return the content words of a tagged sentence.

    >>> content_words((("Two", "NUM"), ("dogs", "NOUN"), ("chase", "VERB"), ("dogs", "NOUN"), (".", "PUNCT")))
    ('chase', 'dogs')
    """
    return tuple(sorted({token.lower() for token, tag in tagged if tag in CONTENT}))


def features(premise: Words, hypothesis: Words) -> Iterator[Feature]:
    """Yield the features of a pair, each once.

    >>> [tuple(feature) for feature in features(("dog",), ("animal", "runs"))]
    [('dog', None), (None, 'animal'), (None, 'runs'), ('dog', 'animal'), ('dog', 'runs')]
    """
    for word in premise:
        yield Feature(word, None)
    for word in hypothesis:
        yield Feature(None, word)
    for word in premise:
        for other in hypothesis:
            yield Feature(word, other)


class Vocabulary:
    """Numbers for features, in the order they were first seen.

    A feature is kept as one integer (the numbers of its two words), which takes a fifth of the memory of its name: with
    SNLI and MNLI there are tens of millions.
    """

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._columns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def matrix(self, pairs: Iterable[tuple[Words, Words]], *, grow: bool = False) -> sparse.csr_matrix:
        """Return the indicators of pairs, shape (n, len(self)), float32.

        Args:
            pairs: content words of premise and hypothesis.
            grow: number features that were not seen before; otherwise they are left out.
        """
        indices: list[NDArray[np.int32]] = []
        ends = [0]
        for premise, hypothesis in pairs:
            row = self._row(premise, hypothesis, grow)
            indices.append(row)
            ends.append(ends[-1] + len(row))
        columns = np.concatenate(indices) if indices else np.empty(0, dtype=np.int32)
        ones = np.ones(len(columns), dtype=np.float32)
        return sparse.csr_matrix((ones, columns, np.array(ends)), shape=(len(ends) - 1, len(self)))

    def _row(self, premise: Words, hypothesis: Words, grow: bool) -> NDArray[np.int32]:
        left, right = ([self._word(word, grow) for word in words] for words in (premise, hypothesis))
        # Number 0 is no word: a side that says nothing.
        codes = [*(a << 32 for a in left), *right, *(a << 32 | b for a in left for b in right)]
        if grow:
            columns = [self._columns.setdefault(code, len(self._columns)) for code in codes]
        else:
            columns = [column for code in codes if (column := self._columns.get(code)) is not None]
        return np.array(columns, dtype=np.int32)

    def _word(self, word: str, grow: bool) -> int:
        # A word that was never seen has the number -1, in no feature.
        return self._words.setdefault(word, len(self._words) + 1) if grow else self._words.get(word, -1)

    def names(self, columns: NDArray[np.integer[Any]]) -> list[Feature]:
        """Return the features of some columns."""
        codes, words = self.codes(), (None, *self._words)
        return [Feature(words[code >> 32], words[code & 0xFFFFFFFF]) for code in codes[columns].tolist()]

    def words(self) -> list[str]:
        """Return the words, by their numbers from 1."""
        return list(self._words)

    def codes(self) -> NDArray[np.int64]:
        """Return each column's feature as an integer, shape (features,): what `of` reads."""
        return np.fromiter(self._columns, dtype=np.int64, count=len(self._columns))

    @classmethod
    def of(cls, words: Sequence[str], codes: NDArray[np.int64]) -> "Vocabulary":
        """Return the vocabulary with these words and features."""
        made = cls()
        made._words = {word: number for number, word in enumerate(words, start=1)}
        made._columns = {code: column for column, code in enumerate(codes.tolist())}
        return made
