"""Lexical features of a pair (Nie et al. 2019, section 5): indicators of words and word pairs.

There are three types: a word of the premise, a word of the hypothesis, and a pair of one word from each. The module
`unbag.baselines.lexical.words` defines which words count. Exchanging premise and hypothesis exchanges the first two
types and transposes the third.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, count, islice, pairwise, repeat
from typing import Any, Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from unbag.data.labels import LABELS
from unbag.data.text.tokens import tokenize

Words = tuple[str, ...]
"""Words of a sentence that are used as features: lowercase, unique, sorted."""


def collect_words(sentence: str, language: str) -> Words:
    """Collect the distinct words of a sentence, without punctuation. The result does not depend on word order.

    >>> collect_words("The dog isn't the cat.", "en")
    ('cat', 'dog', 'is', "n't", 'the')
    """
    tokens = tokenize(sentence, language)
    parts = (part for position in tokens.words for part in _parts(tokens.texts[position], language))
    return tuple(sorted({part.lower() for part in parts}))


@lru_cache(maxsize=1 << 16)
def _parts(token: str, language: str) -> tuple[str, ...]:
    """Split a token recursively into the parts that the tokenizer finds without context."""
    # The tokenizer splits "id", but not in "x-id". Without this step, a permuted sentence, in which spaces join the
    # tokens, would be tokenized into different words.
    tokens = tokenize(token, language)
    if tokens.texts == (token,):
        return (token,) if tokens.words else ()
    return tuple(part for position in tokens.words for part in _parts(tokens.texts[position], language))


_SHIFT: Final = 32  # a code has the index of the premise word in the upper 32 bits and the other index in the lower 32
_LOW: Final = (1 << _SHIFT) - 1
_PAIRS: Final = 2**15  # pairs per batch: a single batch exceeds the processor caches and takes three times as long
_UNKNOWN: Final = -1  # code of a feature with an out-of-vocabulary word; below all other codes


class FeatureVocabulary:
    """Mapping from features to matrix columns.

    A feature is encoded as one integer, which combines the indices of its two words. Its column is the rank of this
    integer. SNLI and MNLI have tens of millions of features, for which arrays need a tenth of the memory and time of
    dictionaries.

    The attribute `words` has the words by index, from 1; index 0 means no word. `codes` has the code of each column, in
    ascending order.
    """

    def __init__(self, words: Sequence[str], codes: NDArray[np.int64]) -> None:
        self.words = tuple(words)
        self.codes = codes
        self._by_number = (None, *self.words)
        self._numbers = {word: number for number, word in enumerate(self.words, start=1)}

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_valid(self) -> bool:
        """Whether `codes` is ascending and refers only to words of the vocabulary. Downloaded files may be invalid."""
        if len(set(self.words)) < len(self.words) or (np.diff(self.codes, prepend=0) <= 0).any():
            return False
        return len(self.codes) == 0 or max((self.codes >> _SHIFT).max(), (self.codes & _LOW).max()) <= len(self.words)

    @classmethod
    def fit(cls, pairs: Iterable[tuple[Words, Words]]) -> tuple["FeatureVocabulary", "scipy.sparse.csr_matrix"]:
        """Build the vocabulary of all features in n pairs, and the pairs' indicator matrix, shape (n, features)."""
        numbers: defaultdict[str, int] = defaultdict(count(1).__next__)
        remaining, batches, sizes = iter(pairs), [], [np.zeros(1, dtype=np.int64)]
        while batch := list(islice(remaining, _PAIRS)):
            batch_codes, ends = _codes(*_sides(batch, lambda words: map(numbers.__getitem__, words)))
            batches.append(_ranked(batch_codes))
            sizes.append(np.diff(ends))
        codes = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *(distinct for distinct, _ in batches)]))
        codes = codes[np.diff(codes, prepend=_UNKNOWN) > 0]
        batch_columns = (np.searchsorted(codes, distinct).astype(np.int32)[ranks] for distinct, ranks in batches)
        columns = np.concatenate([np.empty(0, dtype=np.int32), *batch_columns])
        return cls(list(numbers), codes), _indicators(columns, np.cumsum(np.concatenate(sizes)), len(codes))

    def matrix(self, pairs: Iterable[tuple[Words, Words]]) -> "scipy.sparse.csr_matrix":
        """Build the indicator matrix of n pairs, float32, shape (n, features). Unknown features are ignored."""
        # An out-of-vocabulary word has the index -1, which occurs in no feature.
        codes, ends = _codes(*_sides(list(pairs), lambda words: map(self._numbers.get, words, repeat(-1))))
        columns = np.searchsorted(self.codes, codes)
        # `searchsorted` returns the length for codes above the last one; the appended value differs from all codes.
        is_feature = np.append(self.codes, _UNKNOWN - 1)[columns] == codes
        counts = np.concatenate([[0], np.cumsum(is_feature)])
        return _indicators(columns[is_feature].astype(np.int32), counts[ends], len(self.codes))

    def get_features(self, columns: NDArray[np.integer[Any]]) -> list[tuple[str | None, str | None]]:
        """Get the features of the given matrix columns: premise word and hypothesis word. A missing word is None."""
        words = self._by_number
        return [(words[code >> _SHIFT], words[code & _LOW]) for code in self.codes[columns].tolist()]


NumberedSide = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Premises or hypotheses of n pairs: the concatenated word indices of all pairs, and the number of words per pair."""


def _sides(
    pairs: Sequence[tuple[Words, Words]], numbered: Callable[[Iterable[str]], Iterable[int]]
) -> tuple[NumberedSide, NumberedSide]:
    sides = list(chain.from_iterable(pairs))
    sizes = np.fromiter(map(len, sides), dtype=np.int64, count=len(sides))
    numbers = np.fromiter(numbered(chain.from_iterable(sides)), dtype=np.int64, count=sizes.sum())
    is_premise = np.repeat(np.arange(len(sides)) % 2 == 0, sizes)
    return (numbers[is_premise], sizes[::2]), (numbers[~is_premise], sizes[1::2])


def _codes(premise: NumberedSide, hypothesis: NumberedSide) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Encode the features of n pairs as integers, pair by pair, and compute the pair boundaries, shape (n + 1,)."""
    (left, n_left), (right, n_right) = premise, hypothesis
    # Each premise word is combined with all words of its hypothesis, which start at `first`.
    meets = np.repeat(n_right, n_left)
    first = np.repeat(np.repeat(np.cumsum(n_right) - n_right, n_left), meets)
    steps = np.arange(len(first)) - np.repeat(np.cumsum(meets) - meets, meets)
    alone = left << _SHIFT
    crossed = np.repeat(alone, meets)
    partner = right[first + steps]
    crossed = np.where((crossed < 0) | (partner < 0), _UNKNOWN, crossed | partner)
    parts = (np.where(alone < 0, _UNKNOWN, alone), right, crossed)
    sizes = np.stack([n_left, n_right, n_left * n_right], axis=1)
    ends = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
    codes = np.empty(ends[-1], dtype=np.int64)
    starts = ends[:-1]
    for part, size in zip(parts, sizes.T, strict=True):
        codes[np.repeat(starts - (np.cumsum(size) - size), size) + np.arange(len(part))] = part
        starts = starts + size
    return codes, ends


def _ranked(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Compute the distinct codes in ascending order, and the index of each code among them."""
    # As `np.unique` with `return_inverse`, but three times as fast, because NumPy sorts 16-bit integers by radix sort.
    digits = ((codes >> shift).astype(np.uint16) for shift in range(0, 64, 16))
    order = np.lexsort([digit for i, digit in enumerate(digits) if i == 0 or digit.any()])
    ascending = codes[order]
    new = np.diff(ascending, prepend=_UNKNOWN) > 0
    ranks = np.empty(len(codes), dtype=np.int32)
    ranks[order] = np.cumsum(new, dtype=np.int32) - 1
    return ascending[new], ranks


def _indicators(columns: NDArray[np.int32], ends: NDArray[np.int64], n_columns: int) -> "scipy.sparse.csr_matrix":
    ones = np.ones(len(columns), dtype=np.float32)
    return scipy.sparse.csr_matrix((ones, columns, ends), shape=(len(ends) - 1, n_columns))


def compute_lms(probabilities: NDArray[np.floating[Any]], gold: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Compute the lexically misleading score (LMS) of each example, the maximum probability of a wrong label.

    Nie et al. 2019, section 5. Probabilities have shape (n, labels), gold label ids shape (n,).

    >>> compute_lms(np.array([[0.2, 0.7, 0.1], [0.2, 0.7, 0.1]]), np.array([0, 1])).tolist()
    [0.7, 0.2]
    """
    highest: NDArray[np.floating[Any]] = _mask_gold(probabilities, gold).max(axis=1)
    return highest


def _mask_gold(probabilities: NDArray[Any], gold: NDArray[np.int64]) -> NDArray[Any]:
    wrong = probabilities.copy()
    wrong[np.arange(len(gold)), gold] = -1  # below all probabilities: never the maximum
    return wrong


LOGIT_DECIMALS: Final = 3
"""Number of decimals of a contribution. Features are sorted by rounded contribution, with ties by position."""


class FeatureContribution(NamedTuple):
    """Contribution of a feature to the log-odds of a wrong label versus the gold label (Nie et al. 2019, Figure 2).

    The feature is a word of the premise, a word of the hypothesis, or a pair of both. A missing word is None.
    """

    premise: str | None
    hypothesis: str | None
    label: str
    logit: float


def rank_misleading_features(
    vocabulary: FeatureVocabulary,
    weights: NDArray[Any],
    matrix: "scipy.sparse.csr_matrix",
    probabilities: NDArray[Any],
    gold: NDArray[np.int64],
    max_features: int,
) -> list[list[FeatureContribution]]:
    """Rank the features of each pair that favor the most likely wrong label over the gold label, most misleading first.

    Args:
        weights: Weights of the model, shape (features, labels).
        matrix: Features of the pairs, shape (n, features).
        probabilities: Label probabilities, shape (n, labels). Among equally likely wrong labels, the first one counts.
        gold: Gold label ids, shape (n,).
    """
    wrong = _mask_gold(probabilities, gold).argmax(axis=1)
    contributions = []
    for row, (begin, end) in enumerate(pairwise(matrix.indptr)):
        columns = matrix.indices[begin:end]
        gains = np.round(weights[columns][:, wrong[row]] - weights[columns][:, gold[row]], LOGIT_DECIMALS)
        # The sort is stable, so that features with equal rounded gains have the same order on all machines.
        order = [i for i in np.argsort(-gains, kind="stable")[:max_features] if gains[i] > 0]
        features = zip(vocabulary.get_features(columns[order]), gains[order].tolist(), strict=True)
        contributions.append([FeatureContribution(*words, LABELS[wrong[row]], logit) for words, logit in features])
    return contributions
