"""Permuted pairs: the words of both sentences in another order (Sinha et al. 2021, section 4 and Appendix D).

Punctuation keeps its place; every other token leaves its own. Indices are deranged, not word types: where a word occurs
twice, one copy may land where the other was.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb, factorial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.data.text.tokens import Tokens
from unbag.scoring.bleu import bleu_of_reorderings
from unbag.utils.rng import key, numbers

BOTH: Final = "both"
HYPOTHESIS: Final = "hypothesis"
CLUMPS: Final = {"clumped_25": 0.25, "clumped_50": 0.5, "clumped_75": 0.75}
MODES: Final = (BOTH, HYPOTHESIS, *CLUMPS)
"""What is permuted: both sentences; the hypothesis only (Appendix C), while the premise stays as it was written; both,
with a random run of words moving as one (Appendix D). The run has int(share × tokens) words, where punctuation counts
as tokens too, as in the authors' code: the paper says no more than 25, 50 and 75 %."""

DEFAULT_Q: Final = 100
DEFAULT_MIN_WORDS: Final = 8
"""Non-punctuation tokens that both sentences must have. The paper's text says 6, but its Table 7 ("used examples") is
what 8 gives: SNLI dev 3,697 and SNLI test 3,671, exactly. The authors' code says why: it uses a sentence whose 100
seeded derangements are all different, of which 7 words have 96 and 8 words have 100."""
DEFAULT_SEED: Final = 13

BLEU_ORDERS: Final = (2, 3, 4)
_MOST_DRAWS: Final = 1000  # for one permutation that is new; a pair with few different ones runs out well before
_TRIES_AT_ONCE: Final = 8  # a uniform permutation is a derangement with probability 1/e: 97 % succeed within 8


class TooFewPermutationsError(ValueError):
    """A pair that has no q different permutations."""


class Side(NamedTuple):
    """One sentence of the q permuted pairs.

    Attributes:
        texts: the sentences, q of them; a side that is not permuted has the original, byte for byte.
        bleu: BLEU-2/3/4 against the original, shape (q, 3).
        orders: which token of the original stands at each place, shape (q, tokens).
    """

    texts: list[str]
    bleu: NDArray[np.float64]
    orders: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Permuter:
    """How pairs are permuted.

    Attributes:
        q: permutations of each pair.
        mode: one of `MODES`.
        seed: decides every permutation, together with the pair's source id and the permutation's index.
    """

    q: int = DEFAULT_Q
    mode: str = BOTH
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"expected one of the modes {', '.join(MODES)}, found {self.mode!r}")
        if self.q < 1:
            raise ValueError(f"expected at least one permutation a pair, found q = {self.q}")

    def pair(self, source_id: str, premise: Tokens, hypothesis: Tokens) -> tuple[Side, Side]:
        """Permute one pair.

        Permutation k is the first draw of its own stream whose pair of texts differs from permutations 0 … k - 1. It
        depends on nothing but the seed, the mode, the source id, the two sentences and k: not on q, on other pairs, or
        on the process that asks.

        Returns:
            The premise's and the hypothesis's side, each with q texts.

        Raises:
            TooFewPermutationsError: if there are no q different pairs (of very short or very repetitive sentences, and
                in the clumped modes, where a large clump leaves few units to move).
        """
        sides, orders, texts = self._drawn(source_id, premise, hypothesis)
        premise_side, hypothesis_side = (
            Side(text, side.bleu(order), order) for side, order, text in zip(sides, orders, texts, strict=True)
        )
        return premise_side, hypothesis_side

    def texts(self, source_id: str, premise: Tokens, hypothesis: Tokens) -> list[tuple[str, str]]:
        """Return the q permutations of a pair without their BLEU, which takes longer than the rest: for training.

        Raises:
            TooFewPermutationsError: as `pair` does.
        """
        _, _, texts = self._drawn(source_id, premise, hypothesis)
        return list(zip(*texts, strict=True))

    def one(self, source_id: str, premise: Tokens, hypothesis: Tokens, k: int) -> tuple[str, str]:
        """Return permutation k of a pair alone: premise and hypothesis.

        >>> from unbag.data.text.tokens import tokenize
        >>> pair = tokenize("Two dogs chase a red ball in the park."), tokenize("Some animals play with a toy today.")
        >>> every = Permuter(q=5).pair("a", *pair)
        >>> Permuter().one("a", *pair, 3) == (every[0].texts[3], every[1].texts[3])
        True
        """
        return Permuter(k + 1, self.mode, self.seed).texts(source_id, premise, hypothesis)[k]

    def _drawn(
        self, source_id: str, premise: Tokens, hypothesis: Tokens
    ) -> tuple[tuple["_Shuffler", "_Shuffler"], list[NDArray[np.int64]], list[list[str]]]:
        """Return both sentences, their q orders, and the texts these give, each premise first."""
        both = self.mode != HYPOTHESIS
        sides = (
            _Shuffler(premise, key(self.seed, self.mode, source_id, "premise"), self.mode, moves=both),
            _Shuffler(hypothesis, key(self.seed, self.mode, source_id, "hypothesis"), self.mode, moves=True),
        )
        if sides[0].at_most * sides[1].at_most < self.q:
            raise TooFewPermutationsError(f"{source_id} has fewer than {self.q} different permutations")
        draw = np.zeros(self.q, dtype=np.int64)  # which draw of its stream each permutation takes
        orders = [side.orders(np.arange(self.q), draw) for side in sides]
        texts = [side.texts(order) for side, order in zip(sides, orders, strict=True)]
        seen: set[tuple[str, str]] = set()
        for k in range(self.q):
            while (texts[0][k], texts[1][k]) in seen:
                draw[k] += 1
                if draw[k] == _MOST_DRAWS:
                    raise TooFewPermutationsError(f"{source_id} has fewer than {self.q} different permutations")
                for side, order, text in zip(sides, orders, texts, strict=True):
                    order[k] = side.orders(np.array([k]), draw[k : k + 1])[0]
                    text[k] = side.texts(order[k : k + 1])[0]
            seen.add((texts[0][k], texts[1][k]))
        return sides, orders, texts


def derangement(tokens: Tokens, stream: tuple[object, ...], draw: int) -> str:
    """Shuffle the words of one sentence so that none keeps its place; one of fewer than two words stays as written.

    Args:
        tokens: of the sentence.
        stream: what decides the order, together with the draw (`utils.rng.key`).
        draw: which order of the stream.
    """
    side = _Shuffler(tokens, key(*stream), BOTH, moves=len(tokens.words) > 1)
    [text] = side.texts(side.orders(np.zeros(1, dtype=np.int64), np.full(1, draw)))
    return text


@lru_cache(maxsize=1 << 12)
def _placements(n: int, barred: int) -> int:
    """Return in how many ways n things fill n places if so many of them have a place each that is barred to them.

    By inclusion and exclusion. If all are barred from their own, these are the derangements: 0, 1, 2, 9, 44 from n = 1.
    """
    return sum((-1) ** i * comb(barred, i) * factorial(n - i) for i in range(barred + 1))


@lru_cache(maxsize=1 << 12)
def _clumped_count(words: int, run: int) -> int:
    """Return how many ways there are to choose a run of words and to move it and the others, so that none stays.

    Where the run goes d places further, d of the others (at most `run`) had their places in it and may go anywhere.
    """
    others = words - run
    return sum(2 * (others + 1 - d) * _placements(others, others - min(d, run)) for d in range(1, others + 1))


class _Shuffler:
    """One sentence and all its reorderings."""

    def __init__(self, tokens: Tokens, key: np.uint64, mode: str, moves: bool) -> None:
        self._key, self._moves = key, moves
        self._sentence, self._joiner = tokens.sentence, tokens.joiner
        self._texts = np.array(tokens.texts, dtype=object)
        self._words = np.array(tokens.words, dtype=np.int64)
        n = len(self._words)
        self._run = max(1, int(CLUMPS[mode] * len(self._texts))) if mode in CLUMPS else 1
        self._units = n - self._run + 1  # the run, wherever it begins, and each of the other words

    @cached_property
    def at_most(self) -> int:
        """How many orders there are, or fewer; of a text of thousands of words it takes long to count them."""
        n = len(self._words)
        if not self._moves:
            return 1
        return _placements(n, n) if self._run == 1 else _clumped_count(n, self._run)

    def orders(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which token stands at each place in each permutation, shape (len(k), tokens)."""
        order = np.broadcast_to(np.arange(len(self._texts)), (len(k), len(self._texts))).copy()
        if self._moves:
            order[:, self._words] = self._words[self._word_orders(k, draw)]
        return order

    def _word_orders(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._run == 1:
            return self._units_in_order(k, draw, np.zeros(len(k), dtype=np.int64))
        # The run begins at any place where it fits.
        start = (numbers(self._key, k, draw, np.full(1, -1)) % np.uint64(self._units)).astype(np.int64)
        units = self._units_in_order(k, draw, start)
        n = len(self._words)
        word = np.arange(n)[None, :]
        unit = np.clip(word - start[:, None] - self._run + 1, 0, None) + np.minimum(word, start[:, None])  # (q, n)
        rank = np.argsort(units, axis=1)  # (q, units): at which place each unit comes
        # Words by the place of their unit, and within it as they were.
        return np.argsort(np.take_along_axis(rank, unit, axis=1) * n + word, axis=1)

    def _units_in_order(
        self, k: NDArray[np.int64], draw: NDArray[np.int64], start: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return which unit comes at each place, shape (len(k), units), so that no word is left where it was.

        Any such order is as likely as another: uniform permutations of the units, less those that leave a word in its
        place. Unit number `start`, shape (len(k),), is the run; it may carry the others back to where they were.
        """
        ordered = np.empty((len(k), self._units), dtype=np.int64)
        open_ = np.arange(len(k))
        place = np.arange(self._units)
        longer = self._run - 1
        tried = 0
        while len(open_):
            tries = np.arange(tried, tried + _TRIES_AT_ONCE)
            counters = k[open_, None, None], draw[open_, None, None], tries[None, :, None], place[None, None, :]
            candidates = np.argsort(numbers(self._key, *counters), axis=2)  # (open, tries, units)
            if longer:
                run = start[open_, None, None]
                place_of_run = (candidates == run).argmax(axis=2, keepdims=True)
                # In words: what comes after the run is as much further back.
                moved = place + longer * (place > place_of_run) != candidates + longer * (candidates > run)
            else:
                moved = place != candidates
            valid = moved.all(axis=2)
            hit = valid.any(axis=1)
            ordered[open_[hit]] = candidates[hit, valid[hit].argmax(axis=1)]  # the first try that is one
            open_ = open_[~hit]
            tried += _TRIES_AT_ONCE
        return ordered

    def texts(self, orders: NDArray[np.int64]) -> list[str]:
        if not self._moves:
            return [self._sentence] * len(orders)  # joined again it might have other spaces
        return [self._joiner.join(row) for row in self._texts[orders].tolist()]

    def bleu(self, orders: NDArray[np.int64]) -> NDArray[np.float64]:
        _, ids = np.unique(self._texts.astype(str), return_inverse=True)
        return bleu_of_reorderings(ids.tolist(), ids[orders], BLEU_ORDERS)
