import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.training.dataloading import epoch_batches, select_part


@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.integers(1, 20), st.integers(0, 3))
def test_every_pair_is_in_one_batch_and_batches_are_of_a_size(lengths, size, epoch):
    batches = epoch_batches(np.array(lengths), size, seed=1, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    sizes = [len(batch) for batch in batches]
    assert max(sizes) <= size
    assert max(sizes) - min(sizes) <= 1
    assert len(batches) == -(-len(lengths) // size)


@given(st.integers(1, 40), st.integers(1, 8))
def test_the_shares_of_a_batch_are_the_batch(n, parts):
    batch = np.arange(n) * 3
    shares = [select_part(batch, parts, part) for part in range(parts)]
    assert sorted(np.concatenate(shares).tolist()) == batch.tolist()
    sizes = [len(one) for one in shares]
    assert max(sizes) - min(sizes) <= 1


def test_seed_and_epoch_decide_the_order():
    lengths = np.random.default_rng(0).integers(5, 60, size=500)

    def batches(seed, epoch):
        return [batch.tolist() for batch in epoch_batches(lengths, 16, seed=seed, epoch=epoch)]

    assert batches(1, 0) == batches(1, 0)
    assert batches(1, 0) != batches(1, 1)
    assert batches(1, 0) != batches(2, 0)


def test_pairs_of_similar_length_are_together():
    lengths = np.random.default_rng(0).integers(5, 60, size=5000)
    batches = epoch_batches(lengths, 32, seed=1, epoch=0)

    def padding(some):
        return 1 - sum(lengths[batch].sum() for batch in some) / sum(len(b) * lengths[b].max() for b in some)

    assert padding(batches) < 0.1
    assert padding(np.array_split(np.arange(5000), 157)) > 0.35
    means = [lengths[batch].mean() for batch in batches]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3, "batches come in order of length"


def test_no_pairs_make_no_batch():
    assert epoch_batches(np.array([], dtype=np.intp), 4, seed=0, epoch=0) == []
    with pytest.raises(ZeroDivisionError):
        epoch_batches(np.array([1]), 0, seed=0, epoch=0)
