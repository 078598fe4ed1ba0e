"""Batches of pairs with similar length, in which groups of augmented pairs stay together.

Every batch is a pure function of seed, epoch and position, so that an interrupted run resumes with the same batches.
The batches do not depend on the number of processes.
"""

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
    groups: Sequence[Rows] = (),
    strata: Sequence[Sequence[Rows]] = (),
) -> list[Rows]:
    """Split the pairs of an epoch into batches of similar length, in random order.

    Every pair is in exactly one batch. There are `ceil(n / size)` batches, whose sizes differ by at most one, so that
    no step learns from a few left-over pairs. The result does not depend on the number of processes.

    Args:
        lengths: Number of tokens of each pair, shape (n,).
        batch_size: Maximum number of pairs per batch.
        seed: Random seed.
        epoch: Number of the epoch, which changes the random numbers.
        groups: Rows of each group, whose pairs come into one batch (default: no groups). Without groups, and without
            strata, the batches are the same as if these arguments did not exist. Groups have no effect with strata.
        strata: Units of each stratum: the rows of a group, or the row of a pair without a group. Each stratum is spread
            evenly: every batch has the mean number of its units, rounded down or up, as long as there is room.
            Default: no strata, so that random numbers place all pairs.

    Raises:
        ValueError: If a group fits into no batch.

    >>> [batch.tolist() for batch in build_epoch_batches(np.array([9, 3, 8, 4, 7]), 2, seed=0, epoch=0)]
    [[3, 4], [2, 0], [1]]
    """
    n = len(lengths)
    count = -(-n // batch_size)
    key = rng.compute_key(seed, "order", epoch)
    # Integer division spreads the remainder, so that sizes differ by at most one.
    sizes = np.diff(np.arange(count + 1) * n // max(count, 1))
    added_rows = _spread(strata, lengths, sizes, key)
    is_free = np.ones(n, bool)
    is_free[[row for rows in added_rows for row in rows]] = False
    batches = _fill(np.flatnonzero(is_free), lengths, sizes - np.array(list(map(len, added_rows)), np.intp), key)
    for number, rows in enumerate(added_rows):
        if rows:
            batches[number] = _sorted(np.array([*batches[number], *rows], np.intp), lengths)
    if not strata:
        _join_groups(batches, lengths, groups)
    turns = np.argsort(rng.generate_random_numbers(key, np.ones(1, np.int64), np.arange(count)), kind="stable")
    return [batches[i] for i in turns.tolist()]


def _fill(rows: Rows, lengths: NDArray[np.integer], sizes: Rows, key: np.uint64) -> list[Rows]:
    """Cut some rows into batches of given sizes, in an order that is random except for the lengths."""
    order = rows[np.argsort(rng.generate_random_numbers(key, np.zeros(1, np.int64), rows), kind="stable")]
    count = len(sizes)
    bounds = np.concatenate([np.zeros(1, np.intp), np.cumsum(sizes)])
    # Sorting within windows only: sorting all pairs would give every epoch the same batches.
    for first in range(0, count, _SORTED_TOGETHER):
        start, stop = bounds[first], bounds[min(first + _SORTED_TOGETHER, count)]
        order[start:stop] = _sorted(order[start:stop], lengths)
    return [order[bounds[i] : bounds[i + 1]] for i in range(count)]


def _sorted(rows: Rows, lengths: NDArray[np.integer]) -> Rows:
    return rows[np.argsort(lengths[rows], kind="stable")]


def _join_groups(batches: list[Rows], lengths: NDArray[np.integer], groups: Sequence[Rows]) -> None:
    """Exchange pairs between batches until each group is in a single batch.

    The pairs of a group come into the batch of its first pair, in exchange for pairs of the most similar length. So the
    sizes stay the same, and padding hardly changes.
    """
    is_fixed = np.zeros(sum(map(len, batches)), bool)
    batch_of = np.empty(len(is_fixed), np.intp)
    for number, batch in enumerate(batches):
        batch_of[batch] = number
    changed: set[int] = set()
    for group in groups:
        is_fixed[group] = True
        target = _find_target(group, batches, batch_of, is_fixed)
        for row in group[batch_of[group] != target].tolist():
            exchangeable = batches[target][~is_fixed[batches[target]]]
            other = exchangeable[np.argmin(np.abs(lengths[exchangeable] - lengths[row]))]
            origin = int(batch_of[row])
            batches[target][batches[target] == other] = row
            batches[origin][batches[origin] == row] = other
            batch_of[row], batch_of[other] = target, origin
            changed |= {target, origin}
    for number in changed:
        batches[number] = _sorted(batches[number], lengths)


def _find_target(group: Rows, batches: Sequence[Rows], batch_of: Rows, is_fixed: NDArray[np.bool_]) -> int:
    """Find the batch of a group: that of its first pair, or the next one in cyclic order with room for the group."""
    first = int(batch_of[group[0]])
    for number in (*range(first, len(batches)), *range(first)):
        missing, exchangeable = batch_of[group] != number, ~is_fixed[batches[number]]
        if exchangeable.sum() >= missing.sum():
            return int(number)
    raise _no_room(group)


def _no_room(group: Rows) -> ValueError:
    return ValueError(
        f"batch_size: expected batches with room for a group of {len(group)} added pairs, got smaller batches; "
        "increase batch_size, or add fewer grouped pairs"
    )


def _spread(
    strata: Sequence[Sequence[Rows]], lengths: NDArray[np.integer], sizes: Rows, key: np.uint64
) -> list[list[int]]:
    """Assign the units of all strata to batches, and return the rows of each batch."""
    count = len(sizes)
    added_rows: list[list[int]] = [[] for _ in range(count)]
    overflow: list[tuple[int, Rows]] = []
    # Large units first, because small ones fit into what is left.
    for number, units in sorted(enumerate(strata), key=lambda each: -max(map(len, each[1]), default=0)):
        for batch, unit in _slots(units, lengths, count, rng.compute_key(key, "stratum", number)):
            if len(added_rows[batch]) + len(unit) <= sizes[batch]:
                added_rows[batch] += unit.tolist()
            else:
                overflow.append((batch, unit))
    for batch, unit in overflow:
        room = [i for i in range(count) if len(added_rows[i]) + len(unit) <= sizes[i]]
        if not room:
            raise _no_room(unit)
        added_rows[min(room, key=lambda i: (abs(i - batch), i))] += unit.tolist()
    return added_rows


def _slots(units: Sequence[Rows], lengths: NDArray[np.integer], count: int, key: np.uint64) -> list[tuple[int, Rows]]:
    """Distribute m units over `count` batches at equal distances, and return (batch, unit).

    Within each window of batches, whose pairs are sorted by length, the units are sorted by length too.
    """
    m = len(units)
    order = np.argsort(rng.generate_random_numbers(key, np.arange(m)), kind="stable").tolist()
    # Integers instead of fractions: j + phase, in units of 1 / _PHASES. The phase differs between the strata, so that
    # rare strata do not all come into the same batches.
    phase = int(key) % _PHASES
    batches = [(j * _PHASES + phase) * count // (m * _PHASES) for j in range(m)]
    windows = [batch // _SORTED_TOGETHER for batch in batches]
    unit_lengths = [int(lengths[unit].max()) for unit in units]
    in_windows = sorted(zip(windows, order, strict=True), key=lambda each: (each[0], unit_lengths[each[1]]))
    return [(batch, units[unit]) for batch, (_, unit) in zip(batches, in_windows, strict=True)]


def find_augmented_groups(examples: Sequence[Example]) -> list[Rows]:
    """Find the rows of each group of augmented pairs, in order of appearance."""
    groups: dict[str, list[int]] = {}
    for row, example in enumerate(examples):
        if (group := parse_pair_group(example.source_id)) is not None:
            groups.setdefault(group, []).append(row)
    return [np.array(rows, np.intp) for rows in groups.values()]


def find_augmented_strata(examples: Sequence[Example]) -> list[list[Rows]]:
    """Divide the augmented pairs into strata by the kind of augmentation and the gold labels.

    A unit of a stratum is a group of pairs, or a single pair without a group. The labels of a group are those of its
    pairs, in their order.
    """
    units: dict[str, list[int]] = {}
    for row, example in enumerate(examples):
        if parse_pair_kind(example.source_id) is not None:
            units.setdefault(parse_pair_group(example.source_id) or example.source_id, []).append(row)
    strata: dict[tuple[str | None, ...], list[Rows]] = {}
    for rows in units.values():
        labels = (examples[row].label for row in rows)
        strata.setdefault((parse_pair_kind(examples[rows[0]].source_id), *labels), []).append(np.array(rows, np.intp))
    return [strata[name] for name in sorted(strata, key=str)]


def select_micro_batch(batch: Rows, n_micro_batches: int, index: int) -> Rows:
    """Split a batch into `n_micro_batches` parts of equal size (±1) and similar lengths, and return part `index`.

    >>> [select_micro_batch(np.arange(5), 2, part).tolist() for part in (0, 1)]
    [[0, 2, 4], [1, 3]]
    """
    # Batches are sorted by length within windows, so strided parts have similar lengths and equal work.
    return batch[index::n_micro_batches]
