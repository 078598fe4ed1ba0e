"""BLEU of reorderings of one sentence, all at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def bleu_of_reorderings(
    original: Sequence[int], reordered: NDArray[np.int64], orders: Sequence[int]
) -> NDArray[np.float64]:
    """Return sentence BLEU of each reordering against the original sentence.

    BLEU-n (Papineni et al. 2002) with uniform weights on the n-gram precisions 1 … n and no smoothing. A reordering has
    the original's length and words, so the brevity penalty and the unigram precision are 1 and only the longer n-grams
    are counted.

    Args:
        original: word ids of the sentence, shape (l,).
        reordered: the same ids in other orders, shape (q, l).
        orders: the n of each BLEU-n wanted, each at least 1.

    Returns:
        Shape (q, len(orders)), in [0, 1]. 0 where some n-gram length up to n has no match, and where the sentence is
        shorter than n words.

    >>> bleu_of_reorderings([0, 1, 2, 3], np.array([[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]]), [2]).round(3).tolist()
    [[1.0], [0.577], [0.0]]
    """
    logs = np.zeros((len(reordered), max(orders)))
    for n in range(2, max(orders) + 1):
        with np.errstate(divide="ignore"):  # log(0) = -inf makes BLEU 0, which is what is meant
            logs[:, n - 1] = np.log(_precision(np.asarray(original), reordered, n))
    with np.errstate(invalid="ignore"):
        means = np.cumsum(logs, axis=1)[:, [n - 1 for n in orders]] / np.asarray(orders)
    bleu: NDArray[np.float64] = np.exp(means)
    return bleu


def _precision(original: NDArray[np.int64], reordered: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Return the clipped n-gram precision of each row, shape (q,)."""
    rows, length = reordered.shape
    if length < n:
        return np.zeros(rows)
    known, allowed = np.unique(_grams(original[None, :], n)[0], return_counts=True)
    grams = _grams(reordered, n)  # (q, l - n + 1)
    # The insertion point of an unknown n-gram may be past the end; the comparison tells that it is none of them.
    index = np.minimum(np.searchsorted(known, grams), len(known) - 1)
    hit = known[index] == grams
    cells = np.arange(rows)[:, None] * len(known) + index
    counts = np.bincount(cells[hit], minlength=rows * len(known)).reshape(rows, len(known))
    matched: NDArray[np.float64] = np.minimum(counts, allowed).sum(axis=1) / grams.shape[1]
    return matched


def _grams(ids: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return each run of n ids as one number, shape (q, l - n + 1)."""
    base = int(ids.max()) + 1  # at most 4-grams of ids below the sentence's length: far below 2^63
    width = ids.shape[1] - n + 1
    grams = np.zeros((len(ids), width), dtype=np.int64)
    for offset in range(n):
        grams = grams * base + ids[:, offset : offset + width]
    return grams
