from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.challenge_sets.perturbations.augmentation import parse_pair_kind
from unbag.data.sources import Example
from unbag.training.batching import (
    build_epoch_batches,
    find_augmented_units,
)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.integers(1, 20), st.integers(0, 3))
def test_batches_cover_all_pairs_and_only_last_is_smaller(lengths, size, epoch):
    batches = build_epoch_batches(np.array(lengths), size, seed=1, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    sizes = [len(batch) for batch in batches]
    assert sizes[:-1] == [size] * (len(batches) - 1)
    assert 1 <= sizes[-1] <= size


def test_order_depends_on_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(5, 60, size=500)

    def batches(seed, epoch):
        return [batch.tolist() for batch in build_epoch_batches(lengths, 16, seed=seed, epoch=epoch)]

    assert batches(1, 0) == batches(1, 0)
    assert batches(1, 0) != batches(1, 1)
    assert batches(1, 0) != batches(2, 0)


def test_batches_contain_pairs_of_similar_length():
    lengths = np.random.default_rng(0).integers(5, 60, size=5000)
    batches = build_epoch_batches(lengths, 32, seed=1, epoch=0)

    def padding(some):
        return 1 - sum(lengths[batch].sum() for batch in some) / sum(len(b) * lengths[b].max() for b in some)

    assert padding(batches) < 0.1
    assert padding(np.array_split(np.arange(5000), 157)) > 0.35
    means = [lengths[batch].mean() for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3, "batches come in order of length"


def _batches_with_groups(seed, *, stratified, n=400, size=32):
    """Return examples, groups and batches of plain pairs, two-label pairs, mirrored pairs and groups of four."""
    ids = [(f"own-{i}", "neutral") for i in range(n)]
    ids += [(f"{i}#soswap#0.0", "neutral" if i % 3 else "entailment") for i in range(60)]
    ids += [(f"{i}#negation#0.0#{j}", ("entailment", "neutral")[j]) for i in range(35) for j in range(2)]
    ids += [(f"{i}#contrast#0.0#{j}", "entailment") for i in range(20) for j in range(4)]
    examples = [Example(name, "", "", label) for name, label in ids]
    lengths = np.random.default_rng(seed).integers(5, 60, size=len(ids))
    [groups] = find_augmented_units(examples, stratified=False)
    strata = find_augmented_units(examples, stratified=stratified)
    return examples, groups, build_epoch_batches(lengths, size, seed=seed, epoch=0, strata=strata)


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("size", [7, 32])
def test_groups_stay_in_one_batch(stratified, size):
    for seed in range(20):
        examples, groups, batches = _batches_with_groups(seed, stratified=stratified, size=size)
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(examples)))
        sizes = [len(batch) for batch in batches]
        assert sizes[:-1] == [size] * (len(batches) - 1)
        batch_of = {row: number for number, batch in enumerate(batches) for row in batch.tolist()}
        assert len(groups) == 55
        assert all(len({batch_of[row] for row in group.tolist()}) == 1 for group in groups)


def test_strata_are_spread_evenly():
    for seed in range(10):
        examples, _, batches = _batches_with_groups(seed, stratified=True)
        strata = Counter((parse_pair_kind(each.source_id), each.label) for each in examples)
        for (kind, label), n in strata.items():
            if kind is not None:
                counts = [
                    sum(
                        (parse_pair_kind(examples[row].source_id), examples[row].label) == (kind, label)
                        for row in batch
                    )
                    for batch in batches[:-1]
                ]
                whole = 4 if kind == "contrast" else 1
                mean = n / whole / len(counts)
                assert {count / whole for count in counts} <= {np.floor(mean), np.ceil(mean)}


def test_group_larger_than_batch_raises_error():
    with pytest.raises(ValueError, match="--batch-size: expected room for a group of 3 added pairs"):
        build_epoch_batches(np.full(6, 9), 2, seed=0, epoch=0, strata=[[np.array([0, 1, 2])]])
