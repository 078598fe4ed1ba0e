"""Permuted pairs: both sentences in a different word order (Sinha et al. 2021, section 4 and Appendix D).

Punctuation keeps its position, and every other token leaves its position. The derangement applies to positions, not to
word types. If a word occurs twice, one copy may move to the position of the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb, factorial
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tokens import TokenizedSentence
from unbag.utils.rng import compute_key, generate_random_numbers

BOTH: Final = "both"
HYPOTHESIS: Final = "hypothesis"
CLUMPS: Final = {"clumped_25": 0.25, "clumped_50": 0.5, "clumped_75": 0.75}
Mode = Literal["both", "hypothesis", "clumped_25", "clumped_50", "clumped_75"]
"""Modes of permutation: both sentences; the hypothesis only (Appendix C), with the original premise; or both sentences,
with a random run of words that moves as one unit (Appendix D). The run has int(share × tokens) words. Punctuation
counts as tokens here, as in the authors' code; the paper specifies only 25, 50 and 75 %."""
MODES: Final = get_args(Mode)

DEFAULT_Q: Final = 100
DEFAULT_MIN_WORDS: Final = 8
"""Minimum number of non-punctuation tokens in both sentences. The paper's text says 6, but 8 reproduces its Table 7
("used examples") exactly: SNLI dev 3,697 and SNLI test 3,671. The authors' code explains the difference: it uses a
sentence only if its 100 seeded derangements are all different. Sentences of 7 words have 96 different ones, sentences
of 8 words have 100."""
DEFAULT_SEED: Final = 13

BLEU_ORDERS: Final = (2, 3, 4)
_MAX_DRAWS: Final = 1000  # draws for one new permutation, far more than a pair with enough permutations needs
_TRIES_AT_ONCE: Final = 8  # a uniform permutation is a derangement with probability 1/e: 97 % succeed within 8


class TooFewPermutationsError(ValueError):
    """Raised for a pair with fewer than q different permutations."""


@dataclass(frozen=True)
class PermutedSentences:
    """All premises or all hypotheses of the q permutations of a pair."""

    texts: list[str]  # q sentences. If the sentence is not permuted, each is the original sentence, byte for byte.
    orders: NDArray[np.int64]  # original position of the token at each position, shape (q, tokens)
    tokens: NDArray[Any]  # tokens of the original sentence, shape (tokens,)

    @cached_property
    def bleu(self) -> NDArray[np.float64]:
        """BLEU-2/3/4 against the original, shape (q, 3)."""
        _, ids = np.unique(self.tokens.astype(str), return_inverse=True)
        return compute_reordering_bleu(ids.tolist(), ids[self.orders], BLEU_ORDERS)


@dataclass(frozen=True, slots=True)
class Permuter:
    """Generator of permuted pairs. The result depends only on the input and the seed."""

    q: int = DEFAULT_Q
    mode: Mode = BOTH
    # Random seed. Each permutation depends on the seed, the pair's source id and the permutation's index.
    seed: int = DEFAULT_SEED

    def permute_pair(
        self, source_id: str, premise: TokenizedSentence, hypothesis: TokenizedSentence
    ) -> tuple[PermutedSentences, PermutedSentences]:
        """Compute the q permutations of a pair, premises and hypotheses.

        Each permutation k has its own random stream. Permutation k is the first draw of this stream whose pair of texts
        differs from permutations 0 … k - 1. The result depends only on the seed, the mode, the source id, the two
        sentences and k. The result does not depend on q, on other pairs, or on the process.

        Raises:
            TooFewPermutationsError: If there are fewer than q different pairs. This happens with very short or very
                repetitive sentences, and in the clumped modes, in which a large run leaves few units to move.
        """
        both = self.mode != HYPOTHESIS
        sides = (
            _Shuffler(premise, compute_key(self.seed, self.mode, source_id, "premise"), self.mode, moves=both),
            _Shuffler(hypothesis, compute_key(self.seed, self.mode, source_id, "hypothesis"), self.mode, moves=True),
        )
        # The bound rejects short sentences at once. Equal words can make the number of different texts smaller, which
        # the limit of draws in the loop below detects.
        if sides[0].max_orders * sides[1].max_orders < self.q:
            raise TooFewPermutationsError(f"{source_id} has fewer than {self.q} different permutations")
        draw = np.zeros(self.q, dtype=np.int64)  # index of the draw that each permutation takes from its stream
        orders = [side.orders(np.arange(self.q), draw) for side in sides]
        texts = [side.texts(order) for side, order in zip(sides, orders, strict=True)]
        seen: set[tuple[str, str]] = set()
        for k in range(self.q):
            while (texts[0][k], texts[1][k]) in seen:
                draw[k] += 1
                if draw[k] == _MAX_DRAWS:
                    raise TooFewPermutationsError(f"{source_id} has fewer than {self.q} different permutations")
                for side, order, text in zip(sides, orders, texts, strict=True):
                    order[k] = side.orders(np.array([k]), draw[k : k + 1])[0]
                    text[k] = side.texts(order[k : k + 1])[0]
            seen.add((texts[0][k], texts[1][k]))
        premises, hypotheses = (
            PermutedSentences(text, order, side.tokens) for side, order, text in zip(sides, orders, texts, strict=True)
        )
        return premises, hypotheses

    def permute_texts(
        self, source_id: str, premise: TokenizedSentence, hypothesis: TokenizedSentence
    ) -> list[tuple[str, str]]:
        """Compute the q permutations of a pair (`permute_pair`), as tuples (premise, hypothesis)."""
        premises, hypotheses = self.permute_pair(source_id, premise, hypothesis)
        return list(zip(premises.texts, hypotheses.texts, strict=True))

    def permute_once(
        self, source_id: str, premise: TokenizedSentence, hypothesis: TokenizedSentence, k: int
    ) -> tuple[str, str]:
        """Compute permutation k of a pair, as a tuple (premise, hypothesis).

        >>> from unbag.data.text.tokens import tokenize
        >>> pair = tokenize("Two dogs chase a red ball in the park."), tokenize("Some animals play with a toy today.")
        >>> sides = Permuter(q=5).permute_pair("a", *pair)
        >>> Permuter().permute_once("a", *pair, 3) == (sides[0].texts[3], sides[1].texts[3])
        True
        """
        return Permuter(k + 1, self.mode, self.seed).permute_texts(source_id, premise, hypothesis)[k]


def draw_derangement(tokens: TokenizedSentence, stream_key: tuple[object, ...], draw_index: int) -> str:
    """Shuffle the words of one sentence so that no word keeps its position.

    A sentence of fewer than two words is returned unchanged. The key (`utils.rng.compute_key`) names the random stream,
    and the index the order in this stream.
    """
    side = _Shuffler(tokens, compute_key(*stream_key), BOTH, moves=len(tokens.words) > 1)
    [text] = side.texts(side.orders(np.zeros(1, dtype=np.int64), np.full(1, draw_index)))
    return text


@lru_cache(maxsize=1 << 12)
def _placements(n: int, barred: int) -> int:
    """Count the permutations of n items in which each of `barred` items avoids one position of its own."""
    # Inclusion and exclusion. With `barred` = n, these are the derangements: 0, 1, 2, 9, 44 from n = 1.
    return sum((-1) ** i * comb(barred, i) * factorial(n - i) for i in range(barred + 1))


@lru_cache(maxsize=1 << 12)
def _clumped_count(words: int, run: int) -> int:
    """Count the ways to choose a run of words and to move the run and the other words so that no word stays."""
    # If the run moves by d positions, then min(d, `run`) of the other words lose their old position to the run. These
    # words may take any free position.
    others = words - run
    return sum(2 * (others + 1 - d) * _placements(others, others - min(d, run)) for d in range(1, others + 1))


class _Shuffler:
    """All reorderings of one sentence."""

    def __init__(self, tokens: TokenizedSentence, key: np.uint64, mode: str, moves: bool) -> None:
        self._key, self._moves = key, moves
        self._sentence, self._joiner = tokens.sentence, tokens.joiner
        self.tokens = np.array(tokens.texts, dtype=object)
        self._words = np.array(tokens.words, dtype=np.int64)
        n = len(self._words)
        self._run = max(1, int(CLUMPS[mode] * len(self.tokens))) if mode in CLUMPS else 1
        self._units = n - self._run + 1  # units that move: the run, and each of the other words

    # Cached, and not computed in the constructor, since the computation is slow for long sentences.
    @cached_property
    def max_orders(self) -> int:
        """Upper bound on the number of different word orders."""
        n = len(self._words)
        if not self._moves:
            return 1
        return _placements(n, n) if self._run == 1 else _clumped_count(n, self._run)

    def orders(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw permutations: the original index of the token at each position, shape (len(k), tokens)."""
        order = np.broadcast_to(np.arange(len(self.tokens)), (len(k), len(self.tokens))).copy()
        if self._moves:
            order[:, self._words] = self._words[self._word_orders(k, draw)]
        return order

    def _word_orders(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._run == 1:
            return self._units_in_order(k, draw, np.zeros(len(k), dtype=np.int64))
        # The start of the run is uniform over all positions where the run fits. The counter -1 separates this draw from
        # the draws of the orders, whose try numbers start at 0.
        start = (generate_random_numbers(self._key, k, draw, np.full(1, -1)) % np.uint64(self._units)).astype(np.int64)
        units = self._units_in_order(k, draw, start)
        n = len(self._words)
        word = np.arange(n)[None, :]
        # Unit of each word: words before the run keep their index, and words of the run share the unit `start`.
        unit = np.clip(word - start[:, None] - self._run + 1, 0, None) + np.minimum(word, start[:, None])  # (q, n)
        rank = np.argsort(units, axis=1)  # (q, units): new position of each unit (the inverse permutation)
        # Sort the words by the position of their unit, then by their original position within the unit.
        return np.argsort(np.take_along_axis(rank, unit, axis=1) * n + word, axis=1)

    def _units_in_order(
        self, k: NDArray[np.int64], draw: NDArray[np.int64], start: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Draw orders of the units in which no word keeps its position, shape (len(k), units)."""
        # All such orders are equally likely, by rejection sampling: uniform permutations of the units, without those
        # that leave a word in its position. Unit number `start`, shape (len(k),), is the run. Because the run has
        # several words, its move shifts the other words, and can shift a word back to its old position.
        ordered = np.empty((len(k), self._units), dtype=np.int64)
        pending = np.arange(len(k))  # permutations without a valid order so far
        place = np.arange(self._units)
        extra_words = self._run - 1  # words of the run beyond the one that a unit counts for
        n_tried = 0
        while len(pending):
            tries = np.arange(n_tried, n_tried + _TRIES_AT_ONCE)
            # Each random number depends only on its counters (permutation, draw, try, unit), so that the result is the
            # same for every batch size. Sorting random keys gives a uniform permutation.
            counters = k[pending, None, None], draw[pending, None, None], tries[None, :, None], place[None, None, :]
            candidates = np.argsort(generate_random_numbers(self._key, *counters), axis=2)  # (pending, tries, units)
            if extra_words:
                run = start[pending, None, None]
                place_of_run = (candidates == run).argmax(axis=2, keepdims=True)
                # Convert unit positions to word positions: units after the run are shifted by `run - 1` words.
                new_position = place + extra_words * (place > place_of_run)
                moved = new_position != candidates + extra_words * (candidates > run)
            else:
                moved = place != candidates
            valid = moved.all(axis=2)
            hit = valid.any(axis=1)
            ordered[pending[hit]] = candidates[hit, valid[hit].argmax(axis=1)]  # the first valid try
            pending = pending[~hit]
            n_tried += _TRIES_AT_ONCE
        return ordered

    def texts(self, orders: NDArray[np.int64]) -> list[str]:
        if not self._moves:
            return [self._sentence] * len(orders)  # joining the tokens could change the spaces
        return [self._joiner.join(row) for row in self.tokens[orders].tolist()]


def compute_reordering_bleu(
    original: Sequence[int], reordered: NDArray[np.int64], ngram_orders: Sequence[int]
) -> NDArray[np.float64]:
    """Compute sentence BLEU-n of q reorderings of a sentence against the original, shape (q, len(ngram_orders)).

    BLEU-n (Papineni et al. 2002, https://aclanthology.org/P02-1040) with uniform weights on the n-gram precisions 1 … n
    and no smoothing. The brevity penalty and unigram precision of a reordering are 1. The value is 0 if some n-gram
    length up to n has no match, and if the sentence is shorter than n words. The reorderings, shape (q, l), have the
    word ids of the original, shape (l,), in other orders.

    >>> orders = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]])
    >>> compute_reordering_bleu([0, 1, 2, 3], orders, [2]).round(3).tolist()
    [[1.0], [0.577], [0.0]]
    """
    logs = np.zeros((len(reordered), max(ngram_orders)))
    for n in range(2, max(ngram_orders) + 1):
        with np.errstate(divide="ignore"):  # log(0) = -inf gives BLEU 0, as intended
            logs[:, n - 1] = np.log(_compute_precision(np.asarray(original), reordered, n))
    with np.errstate(invalid="ignore"):
        means = np.cumsum(logs, axis=1)[:, [n - 1 for n in ngram_orders]] / np.asarray(ngram_orders)
    bleu: NDArray[np.float64] = np.exp(means)
    return bleu


def _compute_precision(original: NDArray[np.int64], reordered: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Compute the clipped n-gram precision of each row, shape (q,)."""
    rows, length = reordered.shape
    if length < n:
        return np.zeros(rows)
    original_grams, allowed = np.unique(_encode_ngrams(original[None, :], n)[0], return_counts=True)
    grams = _encode_ngrams(reordered, n)  # (q, l - n + 1)
    # The insertion point of an n-gram that the original lacks may be past the end: clamp the index, then compare.
    index = np.minimum(np.searchsorted(original_grams, grams), len(original_grams) - 1)
    is_match = original_grams[index] == grams
    cells = np.arange(rows)[:, None] * len(original_grams) + index
    counts = np.bincount(cells[is_match], minlength=rows * len(original_grams)).reshape(rows, len(original_grams))
    matched: NDArray[np.float64] = np.minimum(counts, allowed).sum(axis=1) / grams.shape[1]
    return matched


def _encode_ngrams(ids: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Encode each window of n ids as one integer, shape (q, l - n + 1)."""
    base = int(ids.max()) + 1  # 4-grams at most, and ids below the sentence's length: far below 2^63
    width = ids.shape[1] - n + 1
    grams = np.zeros((len(ids), width), dtype=np.int64)
    for offset in range(n):
        grams = grams * base + ids[:, offset : offset + width]
    return grams
