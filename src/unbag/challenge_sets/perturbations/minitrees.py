"""What parts of speech a word usually stands among, counted in a training corpus (Sinha et al. 2021, section 6)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tagging import Tagged, Tagger
from unbag.scoring.pos_minitree import (
    DEFAULT_K,
    DEFAULT_RADIUS,
    TAGS,
    check_definition,
    encode_tags,
    neighbour_counts,
    neighbourhoods,
    signature_of_types,
    signatures,
    top_tags,
)

_AT_ONCE: Final = 10_000  # sentences tagged at a time


class MiniTrees:
    """ψ of each word type: how the tags are distributed over its neighbours in a corpus.

    All its occurrences' neighbours together (`code`), or the mean of its occurrences' distributions (`text`): they
    differ where an occurrence at the end of a sentence has fewer neighbours (`scoring.pos_minitree.Definition`).

    Words are lowercased: the first word of a sentence is no other word. Sums are kept by word, so memory grows with the
    vocabulary, not with the corpus.

    >>> trees = MiniTrees()
    >>> trees.add((("the", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")))
    >>> float(trees.usual(["cat"])[0][TAGS.index("DET")])
    0.5
    """

    def __init__(self, radius: int = DEFAULT_RADIUS, definition: str = "code") -> None:
        """Begin with no words.

        Raises:
            ValueError: if there is no such definition.
        """
        self.radius, self.definition = radius, check_definition(definition)
        self._numbers: dict[str, int] = {}
        self._sums = np.zeros((1024, len(TAGS)))
        self._totals = np.zeros(1024, dtype=np.int64)  # neighbours, or occurrences
        self._tops: dict[tuple[str, int], int] = {}

    @classmethod
    def of(
        cls,
        sentences: Iterable[str],
        tagger: Tagger,
        radius: int = DEFAULT_RADIUS,
        definition: str = "code",
    ) -> "MiniTrees":
        """Count the words of sentences, which are tagged some thousands at a time and never held all at once.

        A sentence that comes several times counts as often.
        """
        trees = cls(radius, definition)
        for some in _some(sentences):
            tagged = tagger.tags(some)
            for sentence in some:
                trees.add(tagged[sentence])
        return trees

    def add(self, tagged: Tagged) -> None:
        """Count the words of one sentence."""
        if not tagged:
            return
        self._tops.clear()
        pooled = self.definition == "code"
        tags = encode_tags([tag for _, tag in tagged])
        neighbours = neighbour_counts(tags, self.radius) if pooled else neighbourhoods(tags, self.radius)
        indices = [self._numbers.setdefault(word.lower(), len(self._numbers)) for word, _ in tagged]
        if len(self._numbers) > len(self._totals):
            size = 2 * len(self._numbers)  # doubled, so that all copying together is linear in the words
            self._sums = np.concatenate([self._sums, np.zeros((size - len(self._sums), len(TAGS)))])
            self._totals = np.concatenate([self._totals, np.zeros(size - len(self._totals), dtype=np.int64)])
        np.add.at(self._sums, indices, neighbours)
        np.add.at(self._totals, indices, neighbours.sum(axis=1) if pooled else 1)

    def __contains__(self, word: str) -> bool:
        return word.lower() in self._numbers

    def usual(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return ψ of words, shape (n, 17); zeros for a word that the corpus does not have."""
        indices = [self._numbers.get(word.lower(), -1) for word in words]
        shares = self._sums[indices] / np.maximum(self._totals[indices], 1)[:, None]
        shares[np.array(indices) < 0] = 0
        return shares

    def table(self) -> dict[str, list[float]]:
        """Return ψ of all words, as `scoring.pos_minitree.sentence_signature` and the `evaluate` module take it."""
        words = list(self._numbers)
        return dict(zip(words, self.usual(words).tolist(), strict=True))

    def signature(self, tagged: Tagged, k: int = DEFAULT_K) -> float:
        """Return β^k of a sentence as it stands; NaN where it has no words or, by the text, no known ones."""
        if self.definition == "text":
            return float(self.permuted(tagged, np.arange(len(tagged))[None], k)[0])
        words, tags = zip(*tagged, strict=True) if tagged else ((), ())
        usual = {word: bits for word in map(str.lower, words) if (bits := self._top(word, k))}
        return signature_of_types(words, encode_tags(tags), usual, radius=self.radius, k=k)

    def permuted(self, tagged: Tagged, orders: NDArray[np.int64], k: int = DEFAULT_K) -> NDArray[np.float64]:
        """Return β^k of a sentence in other orders by the paper's text: each word takes along the tag it has in order.

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
        tags = encode_tags([tag for _, tag in tagged])
        return signatures(tags[orders], usual[orders], known[orders], radius=self.radius, k=k)

    def _top(self, word: str, k: int) -> int:
        """Return the cached `top_tags` of a word in lower case (ties in the order of `TAGS`), 0 for an unknown word."""
        if (word, k) not in self._tops:
            self._tops[word, k] = int(top_tags(self.usual([word])[0], k)) if word in self else 0
        return self._tops[word, k]


class Ratios:
    """What the ratio β^k(permuted) / β^k(original) is made of: β^k of sentences in order and of their permutations."""

    def __init__(self, trees: MiniTrees, tagger: Tagger, k: int = DEFAULT_K) -> None:
        self._trees, self._tagger, self._k = trees, tagger, k

    def terms(
        self, sentences: Sequence[str], permuted: Sequence[Sequence[str]], orders: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return β^k of sentences, and of each one's q permutations.

        Args:
            sentences: in order.
            permuted: the permutations of each sentence, as text.
            orders: likewise, for each new position the old one of its word, shape (q, n).

        Returns:
            Shape (1 + q,) each, the sentence in order first; NaN where it is not defined. That is, by the paper's text,
            where training has none of the words, or the tagger cuts the sentence into other words.
        """
        tagged = self._tagger.tags(sentences)
        if self._trees.definition == "text":
            return [self._by_order(tagged[text], order) for text, order in zip(sentences, orders, strict=True)]
        again = self._tagger.tags((text for texts in permuted for text in texts), keep=False) | tagged
        signatures = {text: self._trees.signature(words, self._k) for text, words in again.items()}
        return [
            np.array([signatures[text] for text in (sentence, *texts)])
            for sentence, texts in zip(sentences, permuted, strict=True)
        ]

    def _by_order(self, tagged: Tagged, order: NDArray[np.int64]) -> NDArray[np.float64]:
        if order.shape[1] != len(tagged):
            return np.full(1 + len(order), np.nan)
        return self._trees.permuted(tagged, np.concatenate([np.arange(len(tagged))[None], order]), self._k)


def _some(sentences: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(sentences)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
