"""Which pairs make a batch, and which process takes which of them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.utils import rng

_SORTED_TOGETHER: Final = 64
"""Batches' worth of pairs that are sorted by length among themselves. Of 22,590 pairs of SNLI in batches of 32, 45 % is
padding unsorted, 8 % with 16 of them, 3 % with 64, 1 % with 256; fewer keep batches more random."""


def epoch_batches(lengths: NDArray[np.integer], size: int, *, seed: int, epoch: int) -> list[NDArray[np.intp]]:
    """Cut an epoch's pairs into batches of pairs of similar length, in random order.

    Every pair is in exactly one batch, and the batches' sizes differ by one at most: `ceil(n / size)` of them, so that
    no step learns from a few left-over pairs. Seed and epoch decide all of it, whatever the number of processes.

    Args:
        lengths: tokens of each pair, shape (n,).
        size: the most pairs a batch.
        seed: see above.
        epoch: see above.

    >>> [batch.tolist() for batch in epoch_batches(np.array([9, 3, 8, 4, 7]), 2, seed=0, epoch=0)]
    [[3, 4], [2, 0], [1]]
    """
    n = len(lengths)
    count = -(-n // size)
    key = rng.key(seed, "order", epoch)
    order = np.argsort(rng.numbers(key, np.zeros(1, np.int64), np.arange(n)), kind="stable")
    bounds = np.arange(count + 1) * n // max(count, 1)
    for first in range(0, count, _SORTED_TOGETHER):
        start, stop = bounds[first], bounds[min(first + _SORTED_TOGETHER, count)]
        chunk = order[start:stop]
        order[start:stop] = chunk[np.argsort(lengths[chunk], kind="stable")]
    batches = [order[bounds[i] : bounds[i + 1]] for i in range(count)]
    turns = np.argsort(rng.numbers(key, np.ones(1, np.int64), np.arange(count)), kind="stable")
    return [batches[i] for i in turns.tolist()]


def share(batch: NDArray[np.intp], parts: int, part: int) -> NDArray[np.intp]:
    """Return one part of a batch, cut so that the parts' sizes differ by one at most and their lengths hardly.

    >>> [share(np.arange(5), 2, part).tolist() for part in (0, 1)]
    [[0, 2, 4], [1, 3]]
    """
    return batch[part::parts]
