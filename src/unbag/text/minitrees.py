"""What parts of speech a word usually stands among, counted in a training corpus (Sinha et al. 2021, section 6)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.scoring.pos_minitree import DEFAULT_K, DEFAULT_RADIUS, TAGS, neighbourhoods, numbered, signatures, top_tags
from unbag.text.tags import Tagged, Tagger

_AT_ONCE: Final = 10_000  # sentences tagged at a time


class MiniTrees:
    """ψ of each word type: the mean, over its occurrences in a corpus, of its neighbours' distribution of tags.

    Words are lowercased: the first word of a sentence is no other word. Numbers of occurrences are kept by word, so
    memory grows with the vocabulary, not with the corpus.

    >>> trees = MiniTrees()
    >>> trees.add((("the", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")))
    >>> float(trees.usual(["cat"])[0][TAGS.index("DET")])
    0.5
    """

    def __init__(self, radius: int = DEFAULT_RADIUS) -> None:
        self.radius = radius
        self._numbers: dict[str, int] = {}
        self._sums = np.zeros((1024, len(TAGS)))
        self._counts = np.zeros(1024, dtype=np.int64)

    @classmethod
    def of(cls, sentences: Iterable[str], tagger: Tagger, radius: int = DEFAULT_RADIUS) -> "MiniTrees":
        """Count the words of sentences, which are tagged some thousands at a time and never held all at once.

        A sentence that comes several times counts as often.
        """
        trees = cls(radius)
        for some in _some(sentences):
            tagged = tagger.tags(some)
            for sentence in some:
                trees.add(tagged[sentence])
        return trees

    def add(self, tagged: Tagged) -> None:
        """Count the words of one sentence."""
        if not tagged:
            return
        neighbours = neighbourhoods(numbered([tag for _, tag in tagged]), self.radius)
        indices = [self._numbers.setdefault(word.lower(), len(self._numbers)) for word, _ in tagged]
        if len(self._numbers) > len(self._counts):
            size = 2 * len(self._numbers)  # doubled, so that all copying together is linear in the words
            self._sums = np.concatenate([self._sums, np.zeros((size - len(self._sums), len(TAGS)))])
            self._counts = np.concatenate([self._counts, np.zeros(size - len(self._counts), dtype=np.int64)])
        np.add.at(self._sums, indices, neighbours)
        np.add.at(self._counts, indices, 1)

    def __contains__(self, word: str) -> bool:
        return word.lower() in self._numbers

    def usual(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return ψ of words, shape (n, 17); zeros for a word that the corpus does not have."""
        indices = [self._numbers.get(word.lower(), -1) for word in words]
        shares = self._sums[indices] / np.maximum(self._counts[indices], 1)[:, None]
        shares[np.array(indices) < 0] = 0
        return shares

    def table(self) -> dict[str, list[float]]:
        """Return ψ of all words, as `scoring.pos_minitree.sentence_signature` and the `evaluate` module take it."""
        words = list(self._numbers)
        return dict(zip(words, self.usual(words).tolist(), strict=True))

    def signature(self, tagged: Tagged, k: int = DEFAULT_K) -> float:
        """Return β^k of a sentence; NaN if the corpus has none of its words."""
        order = np.arange(len(tagged))[None]
        return float(self.permuted(tagged, order, k)[0])

    def permuted(self, tagged: Tagged, orders: NDArray[np.int64], k: int = DEFAULT_K) -> NDArray[np.float64]:
        """Return β^k of a sentence in other orders.

        Each word takes along the tag it has in order: what a tagger would make of the words in disorder is not what a
        reader knows of them.

        Args:
            tagged: the sentence in order.
            orders: for each new position the old one of its word, shape (q, n).
            k: k.

        Returns:
            Shape (q,).
        """
        if orders.ndim != 2 or orders.shape[1] != len(tagged):
            raise ValueError(f"expected orders of {len(tagged)} words, shape (q, {len(tagged)}), found {orders.shape}")
        words = [word for word, _ in tagged]
        usual = top_tags(self.usual(words), k)
        known = np.array([word in self for word in words], dtype=bool)
        tags = numbered([tag for _, tag in tagged])
        return signatures(tags[orders], usual[orders], known[orders], radius=self.radius, k=k)


class Ratios:
    """How much better or worse placed words are than in their sentence in order: β^k(permuted) / β^k(original)."""

    def __init__(self, trees: MiniTrees, tagger: Tagger, k: int = DEFAULT_K) -> None:
        self._trees, self._tagger, self._k = trees, tagger, k

    def of(self, sentences: Sequence[str], orders: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float64]]:
        """Return the ratios of sentences' permutations.

        Args:
            sentences: in order.
            orders: of each sentence, for each new position the old one of its word, shape (q, n).

        Returns:
            Shape (q,) each; NaN where the original's β is 0, none of its words is known, or the tagger cuts the
            sentence into other words.
        """
        tagged = self._tagger.tags(sentences)
        ratios = []
        for sentence, order in zip(sentences, orders, strict=True):
            ratio = np.full(len(order), np.nan)
            if order.shape[1] == len(tagged[sentence]):
                original = self._trees.signature(tagged[sentence], self._k)
                if original > 0:
                    ratio = self._trees.permuted(tagged[sentence], order, self._k) / original
            ratios.append(ratio)
        return ratios


def _some(sentences: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(sentences)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
