"""Sentence BLEU of many reorderings of one sentence, in one vectorized computation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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
            logs[:, n - 1] = np.log(_precision(np.asarray(original), reordered, n))
    with np.errstate(invalid="ignore"):
        means = np.cumsum(logs, axis=1)[:, [n - 1 for n in ngram_orders]] / np.asarray(ngram_orders)
    bleu: NDArray[np.float64] = np.exp(means)
    return bleu


def _precision(original: NDArray[np.int64], reordered: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Compute the clipped n-gram precision of each row, shape (q,)."""
    rows, length = reordered.shape
    if length < n:
        return np.zeros(rows)
    original_grams, allowed = np.unique(_grams(original[None, :], n)[0], return_counts=True)
    grams = _grams(reordered, n)  # (q, l - n + 1)
    # The insertion point of an n-gram that the original lacks may be past the end: clamp the index, then compare.
    index = np.minimum(np.searchsorted(original_grams, grams), len(original_grams) - 1)
    is_match = original_grams[index] == grams
    cells = np.arange(rows)[:, None] * len(original_grams) + index
    counts = np.bincount(cells[is_match], minlength=rows * len(original_grams)).reshape(rows, len(original_grams))
    matched: NDArray[np.float64] = np.minimum(counts, allowed).sum(axis=1) / grams.shape[1]
    return matched


def _grams(ids: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Encode each window of n ids as one integer, shape (q, l - n + 1)."""
    base = int(ids.max()) + 1  # 4-grams at most, and ids below the sentence's length: far below 2^63
    width = ids.shape[1] - n + 1
    grams = np.zeros((len(ids), width), dtype=np.int64)
    for offset in range(n):
        grams = grams * base + ids[:, offset : offset + width]
    return grams
