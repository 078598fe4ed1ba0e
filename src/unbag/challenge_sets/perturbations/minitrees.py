"""POS mini-trees: tags of the neighbours of each word, counted in a training corpus (Sinha et al. 2021, section 6)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tagging import Tagged, Tagger
from unbag.scoring.pos_minitree import (
    DEFAULT_K,
    DEFAULT_RADIUS,
    TAGS,
    Definition,
    compute_neighbor_distributions,
    compute_signatures,
    compute_type_signature,
    count_neighbor_tags,
    encode_tags,
    find_top_tags,
)

_CHUNK_SIZE: Final = 10_000  # sentences tagged together


class MiniTrees:
    """POS mini-tree statistics of a corpus: for each word, the distribution ψ of the POS tags of its neighbours.

    By the paper's code (`code`), ψ pools the neighbours of all occurrences. By the paper's text (`text`), ψ is the mean
    of the distributions of the single occurrences. The two differ if an occurrence near the edge of a sentence has
    fewer neighbours (`scoring.pos_minitree.Definition`).

    Words are lowercased, so that the first word of a sentence counts as the same word. The class keeps sums by word, so
    memory grows with the vocabulary, not with the corpus.

    >>> trees = MiniTrees()
    >>> trees.add((("the", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")))
    >>> float(trees.compute_tag_distributions(["cat"])[0][TAGS.index("DET")])
    0.5
    """

    def __init__(self, radius: int = DEFAULT_RADIUS, definition: Definition = "code") -> None:
        """Initialize empty counts of `radius` neighbours on each side of a word, by the given definition."""
        self.radius, self.definition = radius, definition
        self._sums: defaultdict[str, NDArray[np.float64]] = defaultdict(lambda: np.zeros(len(TAGS)))
        self._totals: Counter[str] = Counter()  # number of neighbours (`code`) or of occurrences (`text`)
        self._tops: dict[tuple[str, int], int] = {}

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[str],
        tagger: Tagger,
        radius: int = DEFAULT_RADIUS,
        definition: Definition = "code",
    ) -> "MiniTrees":
        """Build mini-tree statistics from the sentences of a corpus. At most a few thousand sentences are in memory.

        Repeated sentences are counted each time. `radius` and `definition` are those of the constructor.
        """
        trees = cls(radius, definition)
        stream = iter(sentences)
        while chunk := list(islice(stream, _CHUNK_SIZE)):
            tagged = tagger.tag(chunk)
            for sentence in chunk:
                trees.add(tagged[sentence])
        return trees

    def add(self, tagged: Tagged) -> None:
        """Add the words of a tagged sentence to the counts."""
        self._tops.clear()
        tags = encode_tags([tag for _, tag in tagged])
        is_pooled = self.definition == "code"
        neighbours = (count_neighbor_tags if is_pooled else compute_neighbor_distributions)(tags, self.radius)
        totals = neighbours.sum(axis=1).tolist() if is_pooled else [1] * len(tagged)
        for (word, _), row, total in zip(tagged, neighbours, totals, strict=True):
            self._sums[word.lower()] += row
            self._totals[word.lower()] += total

    def __contains__(self, word: str) -> bool:
        return word.lower() in self._totals

    def compute_tag_distributions(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Compute the tag distributions ψ of n words, shape (n, 17). Words that are not in the corpus get zeros."""
        shares = np.zeros((len(words), len(TAGS)))
        for share, word in zip(shares, map(str.lower, words), strict=True):
            if word in self._totals:
                share[:] = self._sums[word] / max(self._totals[word], 1)
        return shares

    def compute_table(self) -> dict[str, list[float]]:
        """Compute the tag distributions ψ of all words in the corpus, as a dict from words to lists.

        The dict is an input of `pos_minitree.compute_sentence_signature` and of the mini-tree metric.
        """
        words = list(self._totals)
        return dict(zip(words, self.compute_tag_distributions(words).tolist(), strict=True))

    def compute_signature(self, tagged: Tagged, k: int = DEFAULT_K) -> float:
        """Compute the signature β^k of a sentence. Return NaN if β^k is undefined, e.g. for an empty sentence.

        By the paper's text, β^k is also undefined if no word of the sentence occurs in the corpus.
        """
        if self.definition == "text":
            return float(self.compute_permuted_signatures(tagged, np.arange(len(tagged))[None], k)[0])
        words, tags = zip(*tagged, strict=True) if tagged else ((), ())
        usual = {word: bits for word in map(str.lower, words) if (bits := self._top(word, k))}
        return compute_type_signature(words, encode_tags(tags), usual, radius=self.radius, k=k)

    def compute_permuted_signatures(
        self, tagged: Tagged, orders: NDArray[np.int64], k: int = DEFAULT_K
    ) -> NDArray[np.float64]:
        """Compute the signatures β^k of permutations of a sentence. As in the paper, words keep their original tags.

        Args:
            tagged: Tagged sentence in its original order, n words.
            orders: Original position of the word at each new position, shape (q, n).
            k: Number of most frequent neighbour tags that are compared (default: `DEFAULT_K`).

        Returns:
            β^k of each reordering, shape (q,).
        """
        if orders.ndim != 2 or orders.shape[1] != len(tagged):
            raise ValueError(f"orders: expected shape (q, {len(tagged)}), got {orders.shape}")
        words = [word for word, _ in tagged]
        usual = find_top_tags(self.compute_tag_distributions(words), k)
        known = np.array([word in self for word in words], dtype=bool)
        tags = encode_tags([tag for _, tag in tagged])
        return compute_signatures(tags[orders], usual[orders], known[orders], radius=self.radius, k=k)

    def _top(self, word: str, k: int) -> int:
        """Compute `find_top_tags` of a lower-case word, cached; ties in the order of `TAGS`; 0 for an unknown word."""
        if (word, k) not in self._tops:
            self._tops[word, k] = (
                int(find_top_tags(self.compute_tag_distributions([word])[0], k)) if word in self else 0
            )
        return self._tops[word, k]


class MiniTreeRatioCalculator:
    """Calculator for the numerators and denominators of the mini-tree ratio β^k(permuted) / β^k(original)."""

    def __init__(self, trees: MiniTrees, tagger: Tagger, k: int = DEFAULT_K) -> None:
        self._trees, self._tagger, self._k = trees, tagger, k

    def compute_terms(
        self, sentences: Sequence[str], permuted: Sequence[Sequence[str]], orders: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Compute the terms of the mini-tree ratio: β^k of each sentence and of its q permutations.

        Args:
            sentences: Sentences in their original order.
            permuted: Permutations of each sentence, as text.
            orders: Permutations of each sentence, as the original position of the word at each new position, each of
                shape (q, n).

        Returns:
            For each sentence, an array of shape (1 + q,) with the original order first. By the paper's text, β^k is
            NaN if training contains none of the words, or if the tagger splits the sentence into other words.
        """
        tagged = self._tagger.tag(sentences)
        if self._trees.definition == "text":
            return [self._by_order(tagged[text], order) for text, order in zip(sentences, orders, strict=True)]
        # By the paper's code, each permutation is tagged again. Permutations are rarely reused, so they are not cached.
        all_tagged = self._tagger.tag((text for texts in permuted for text in texts), keep=False) | tagged
        signatures = {text: self._trees.compute_signature(words, self._k) for text, words in all_tagged.items()}
        return [
            np.array([signatures[text] for text in (sentence, *texts)])
            for sentence, texts in zip(sentences, permuted, strict=True)
        ]

    def _by_order(self, tagged: Tagged, order: NDArray[np.int64]) -> NDArray[np.float64]:
        if order.shape[1] != len(tagged):
            return np.full(1 + len(order), np.nan)
        return self._trees.compute_permuted_signatures(
            tagged, np.concatenate([np.arange(len(tagged))[None], order]), self._k
        )
