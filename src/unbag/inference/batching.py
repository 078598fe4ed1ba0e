"""Batches by length: little padding, and few enough tokens at once to stay in the cache."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

CPU_BATCH_TOKENS: Final = 1024
"""Tokens a batch on a CPU. With MiniLM-L6 on two cores (27 tokens a pair) the speed relative to this was 0.71 with 128
tokens, 0.84 with 256, 0.97 with 512, 1.00 with 2,048 and 0.91 with 4,096: smaller batches leave the kernels idle,
larger ones do not fit the cache."""

GPU_BATCH_TOKENS: Final = 16_384
"""Tokens a batch elsewhere: enough to fill a GPU, and at most 0.4 GB of activations a layer for a large model."""


def token_batches(lengths: Sequence[int], budget: int) -> Iterator[NDArray[np.intp]]:
    """Cut rows into batches of similar length, longest first.

    Deterministic: rows of equal length keep their order. The longest come first, so that a batch too large for the
    memory fails at once and not after hours.

    Args:
        lengths: tokens of each row, shape (n,).
        budget: the most tokens a batch may hold, padding included. A row longer than that makes a batch of its own.

    Yields:
        The positions of a batch's rows; every row is in exactly one batch.

    >>> [batch.tolist() for batch in token_batches([3, 9, 3, 4], budget=9)]
    [[1], [3, 0], [2]]
    """
    if budget < 1:
        raise ValueError(f"expected a budget of at least 1 token a batch, got {budget}")
    sizes = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-sizes, kind="stable")
    start = 0
    while start < len(order):
        longest = max(1, int(sizes[order[start]]))
        stop = start + max(1, budget // longest)
        yield order[start:stop]
        start = stop


def wanted(
    batches: Iterator[NDArray[np.intp]], done: NDArray[np.bool_] | None, share: tuple[int, int] | None
) -> Iterator[NDArray[np.intp]]:
    """Yield those batches that are asked for, as `predictor.BatchPredictor.batches` takes `done` and `share`.

    >>> some = [np.array([0, 1]), np.array([2]), np.array([3])]
    >>> [batch.tolist() for batch in wanted(iter(some), np.array([True, False, True, False]), (0, 2))]
    [[0, 1], [3]]
    """
    number, of = share or (0, 1)
    for place, rows in enumerate(batches):
        if place % of == number and (done is None or not done[rows].all()):
            yield rows


def shared(batches: Sequence[NDArray[np.intp]], world: int, rank: int) -> Iterator[tuple[NDArray[np.intp], bool]]:
    """Yield the batches of one of several processes, and whether each is wanted.

    As many in each process, since a sharded or wrapped model waits for all: in the last round there may be batches for
    some, and the others ask the last one again, for nothing.

    >>> batches = [np.array([row]) for row in range(3)]
    >>> [(batch.tolist(), wanted) for batch, wanted in shared(batches, world=2, rank=1)]
    [([1], True), ([2], False)]
    """
    for number in range(rank, rank + len(batches), world):
        yield batches[min(number, len(batches) - 1)], number < len(batches)


def pad(sequences: Sequence[Sequence[int]], value: int, side: Literal["left", "right"]) -> NDArray[np.int64]:
    """Return the sequences as one array, shape (n, longest), filled up with `value`.

    >>> pad([[5, 6], [7]], value=0, side="right").tolist()
    [[5, 6], [7, 0]]
    """
    longest = max(len(sequence) for sequence in sequences)
    array = np.full((len(sequences), longest), value, dtype=np.int64)
    for row, sequence in zip(array, sequences, strict=True):
        if side == "right":
            row[: len(sequence)] = sequence
        else:
            row[longest - len(sequence) :] = sequence
    return array
