"""Permuted pairs: the words of both sentences in another order (Sinha et al. 2021, section 4 and Appendix D).

Punctuation keeps its place; every other token leaves its own. Indices are deranged, not word types: where a word occurs
twice, one copy may land where the other was.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag import counter_rng
from unbag.scoring.bleu import bleu_of_reorderings
from unbag.text.tokens import Tokens

BOTH: Final = "both"
HYPOTHESIS: Final = "hypothesis"
CLUMPS: Final = {"clumped_25": 0.25, "clumped_50": 0.5, "clumped_75": 0.75}
MODES: Final = (BOTH, HYPOTHESIS, *CLUMPS)
"""What is permuted: both sentences; the hypothesis only (Appendix C); both, with a random run of 25, 50 or 75 % of the
words moving as one (Appendix D)."""

DEFAULT_Q: Final = 100
DEFAULT_MIN_WORDS: Final = 8
"""Non-punctuation tokens that both sentences must have. The paper's text says 6, but its Table 7 ("used examples") is
what 8 gives: SNLI dev 3,697 and SNLI test 3,671, exactly."""
DEFAULT_SEED: Final = 13

BLEU_ORDERS: Final = (2, 3, 4)
_MOST_DRAWS: Final = 1000  # for one permutation that is new; a pair with few different ones runs out well before
_TRIES_AT_ONCE: Final = 8  # a uniform permutation is a derangement with probability 1/e: 97 % succeed within 8


class TooFewPermutationsError(ValueError):
    """A pair that has no q different permutations."""


class Side(NamedTuple):
    """One sentence of the q permuted pairs.

    Attributes:
        texts: the sentences, q of them.
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

        >>> from unbag.text.tokens import tokenize
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
            _Shuffler(premise, counter_rng.key(self.seed, self.mode, source_id, "premise"), self.mode, moves=both),
            _Shuffler(
                hypothesis, counter_rng.key(self.seed, self.mode, source_id, "hypothesis"), self.mode, moves=True
            ),
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


def _derangement_count(n: int) -> int:
    """Return how many permutations of n things leave none in its place.

    Euler's recurrence D(n) = n D(n - 1) + (-1)^n, so 0, 1, 2, 9, 44 from n = 1 on.
    """
    count = 1
    for i in range(1, n + 1):
        count = i * count + (-1) ** i
    return count


class _Shuffler:
    """One sentence and all its reorderings."""

    def __init__(self, tokens: Tokens, key: np.uint64, mode: str, moves: bool) -> None:
        self._key, self._moves = key, moves
        self._texts = np.array(tokens.texts, dtype=object)
        self._joiner = tokens.joiner
        self._words = np.array(tokens.words, dtype=np.int64)
        n = len(self._words)
        # At 25 % of a short sentence the run would be one word, which is no clump.
        self._run = max(2, round(CLUMPS[mode] * n)) if mode in CLUMPS else 1
        self._units = n - self._run + 1
        self._starts = self._units if self._run > 1 else 1  # places where the run can begin
        self.at_most = self._starts * _derangement_count(self._units) if moves else 1  # orders there are, or fewer

    def orders(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which token stands at each place in each permutation, shape (len(k), tokens)."""
        order = np.broadcast_to(np.arange(len(self._texts)), (len(k), len(self._texts))).copy()
        if self._moves:
            order[:, self._words] = self._words[self._word_orders(k, draw)]
        return order

    def _word_orders(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        units = self._derangements(k, draw)  # (q, units): which unit comes at each place
        if self._run == 1:
            return units
        n = len(self._words)
        # The run begins at any place where it fits.
        start = (counter_rng.numbers(self._key, k, draw, np.full(1, -1)) % np.uint64(self._starts)).astype(np.int64)
        word = np.arange(n)[None, :]
        unit = np.clip(word - start[:, None] - self._run + 1, 0, None) + np.minimum(word, start[:, None])  # (q, n)
        rank = np.argsort(units, axis=1)  # (q, units): at which place each unit comes
        # Words by the place of their unit, and within it as they were.
        return np.argsort(np.take_along_axis(rank, unit, axis=1) * n + word, axis=1)

    def _derangements(self, k: NDArray[np.int64], draw: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return uniform derangements of the units, shape (len(k), units): uniform permutations, less the others."""
        derangements = np.empty((len(k), self._units), dtype=np.int64)
        open_ = np.arange(len(k))
        home = np.arange(self._units)
        tried = 0
        while len(open_):
            tries = np.arange(tried, tried + _TRIES_AT_ONCE)
            counters = k[open_, None, None], draw[open_, None, None], tries[None, :, None], home[None, None, :]
            candidates = np.argsort(counter_rng.numbers(self._key, *counters), axis=2)  # (open, tries, units)
            deranged = (candidates != home).all(axis=2)
            hit = deranged.any(axis=1)
            derangements[open_[hit]] = candidates[hit, deranged[hit].argmax(axis=1)]  # the first try that is one
            open_ = open_[~hit]
            tried += _TRIES_AT_ONCE
        return derangements

    def texts(self, orders: NDArray[np.int64]) -> list[str]:
        return [self._joiner.join(row) for row in self._texts[orders].tolist()]

    def bleu(self, orders: NDArray[np.int64]) -> NDArray[np.float64]:
        _, ids = np.unique(self._texts.astype(str), return_inverse=True)
        return bleu_of_reorderings(ids.tolist(), ids[orders], BLEU_ORDERS)
