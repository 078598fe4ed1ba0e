"""Batches of pairs with similar length, in which groups of augmented pairs stay together.

Every batch is a pure function of seed, epoch and position, so that an interrupted run resumes with the same batches.
The batches do not depend on the number of processes.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.challenge_sets.perturbations.augmentation import parse_pair_group, parse_pair_kind
from unbag.data.sources import Example
from unbag.utils import rng

_SORTED_TOGETHER: Final = 64
"""Number of batches whose pairs are sorted by length together. For 22,590 pairs of SNLI in batches of 32, padding is
45 % of the tokens without sorting, 8 % with 16 batches, 3 % with 64, 1 % with 256. Fewer keep more randomness."""
_PHASES: Final = 1 << 16

Rows = NDArray[np.intp]
"""Positions of pairs in the epoch."""


def build_epoch_batches(
    lengths: NDArray[np.integer],
    batch_size: int,
    *,
    seed: int,
    epoch: int,
    strata: Sequence[Sequence[Rows]] = (),
) -> list[Rows]:
    """Split the pairs of an epoch into batches of similar length, in random order.

    All batches have `batch_size` pairs, except the last one, which has the rest.

    Args:
        lengths: Number of tokens of each pair, shape (n,).
        strata: Units of each stratum (`find_augmented_units`). Each stratum is spread evenly: every full batch has the
            mean number of its units, rounded down or up, as long as there is room. A group that fits into no batch
            raises a `ValueError`.

    >>> [batch.tolist() for batch in build_epoch_batches(np.array([9, 3, 8, 4, 7]), 2, seed=0, epoch=0)]
    [[4, 0], [1, 3], [2]]
    """
    n = len(lengths)
    count = -(-n // batch_size)
    key = rng.compute_key(seed, "order", epoch)
    sizes = np.full(count, batch_size, np.intp)
    sizes[-1:] = n - batch_size * (count - 1)
    added_rows = _spread(strata, lengths, sizes, key)
    is_free = np.ones(n, bool)
    is_free[[row for rows in added_rows for row in rows]] = False
    batches = _fill(np.flatnonzero(is_free), lengths, sizes - np.array(list(map(len, added_rows)), np.intp), key)
    for number, rows in enumerate(added_rows):
        if rows:
            batches[number] = _sorted(np.array([*batches[number], *rows], np.intp), lengths)
    # The last batch stays the last one: it may be smaller, and `Trainer` cuts the order into batches of equal size.
    numbers = rng.generate_random_numbers(key, np.ones(1, np.int64), np.arange(max(count - 1, 0)))
    return [*(batches[i] for i in np.argsort(numbers, kind="stable").tolist()), *batches[-1:]]


def _fill(rows: Rows, lengths: NDArray[np.integer], sizes: Rows, key: np.uint64) -> list[Rows]:
    """Cut some rows into batches of given sizes, in an order that is random except for the lengths."""
    order = rows[np.argsort(rng.generate_random_numbers(key, np.zeros(1, np.int64), rows), kind="stable")]
    count = len(sizes)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    # Sorting within windows only: sorting all pairs would give every epoch the same batches. The last batch, which may
    # be small, is a random sample.
    for first in (*range(0, count - 1, _SORTED_TOGETHER), count - 1):
        last = min(first + _SORTED_TOGETHER, count - 1) if first < count - 1 else count
        start, stop = bounds[first], bounds[last]
        order[start:stop] = _sorted(order[start:stop], lengths)
    return [order[bounds[i] : bounds[i + 1]] for i in range(count)]


def _sorted(rows: Rows, lengths: NDArray[np.integer]) -> Rows:
    return rows[np.argsort(lengths[rows], kind="stable")]


def _spread(
    strata: Sequence[Sequence[Rows]], lengths: NDArray[np.integer], sizes: Rows, key: np.uint64
) -> list[list[int]]:
    """Assign the units of all strata to batches, and return the rows of each batch."""
    added_rows: list[list[int]] = [[] for _ in sizes]
    if not strata:
        return added_rows
    count = len(sizes) - int(sizes[-1] < sizes[0])  # a smaller last batch has room for fewer units
    overflow: list[tuple[int, Rows]] = []
    # Large units first, because small ones fit into what is left.
    for number, units in sorted(enumerate(strata), key=lambda each: -max(map(len, each[1]), default=0)):
        for batch, unit in _slots(units, lengths, count, rng.compute_key(key, "stratum", number)):
            if len(added_rows[batch]) + len(unit) <= sizes[batch]:
                added_rows[batch] += unit.tolist()
            else:
                overflow.append((batch, unit))
    for batch, unit in overflow:
        room = [i for i in range(len(sizes)) if len(added_rows[i]) + len(unit) <= sizes[i]]
        if not room:
            raise ValueError(
                f"--batch-size: expected room for a group of {len(unit)} added pairs, got smaller batches; increase "
                "--batch-size, or add fewer grouped pairs"
            )
        added_rows[min(room, key=lambda i: (abs(i - batch), i))] += unit.tolist()
    return added_rows


def _slots(units: Sequence[Rows], lengths: NDArray[np.integer], count: int, key: np.uint64) -> list[tuple[int, Rows]]:
    """Distribute m units over `count` batches at equal distances, and return (batch, unit)."""
    m = len(units)
    order = np.argsort(rng.generate_random_numbers(key, np.arange(m)), kind="stable").tolist()
    # Integers instead of fractions: j + phase, in units of 1 / _PHASES. The phase differs between the strata, so that
    # rare strata do not all come into the same batches.
    phase = int(key) % _PHASES
    batches = [(j * _PHASES + phase) * count // (m * _PHASES) for j in range(m)]
    # The pairs of a window of batches are sorted by length (`_fill`), so sort its units by length too.
    in_windows = sorted(
        zip((batch // _SORTED_TOGETHER for batch in batches), order, strict=True),
        key=lambda each: (each[0], int(lengths[units[each[1]]].max())),
    )
    return [(batch, units[unit]) for batch, (_, unit) in zip(batches, in_windows, strict=True)]


def find_augmented_units(examples: Sequence[Example], *, stratified: bool) -> list[list[Rows]]:
    """Divide the augmented pairs into units, the units into strata.

    A unit is a group of pairs, or a single pair without a group. If `stratified`, a stratum has the units of one kind
    of augmentation and with the same gold labels. Otherwise there is one stratum of all groups with several pairs;
    other pairs are in no stratum.
    """
    units: dict[str, list[int]] = defaultdict(list)
    for row, example in enumerate(examples):
        if parse_pair_kind(example.source_id) is not None:
            units[parse_pair_group(example.source_id) or example.source_id].append(row)
    strata: dict[tuple[str | None, ...], list[Rows]] = defaultdict(list)
    for rows in units.values():
        kind, labels = parse_pair_kind(examples[rows[0]].source_id), (examples[row].label for row in rows)
        if stratified or len(rows) > 1:
            strata[(kind, *labels) if stratified else ()].append(np.array(rows, np.intp))
    return [strata[name] for name in sorted(strata, key=str)]
