import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.baselines.lexical.rearrangement import NO_PARTITION, SPLITS, rearrange_examples
from unbag.scoring.uncertainty_partitions import PARTITIONS

TRAIN, VALIDATION, TEST = range(3)


def build_ids(uncertainty):
    """Build ids in the order of the examples."""
    return [f"{number:04d}" for number in range(len(uncertainty))]


@st.composite
def problems(draw):
    values = draw(st.lists(st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.9, 1.0]), min_size=1, max_size=90))
    k_te = draw(st.integers(1, len(values)))
    k_dv = draw(st.integers(0, len(values) - k_te))
    return np.array(values), k_te, k_dv, draw(st.integers(0, 5))


def test_splits_equal_manual_example():
    uncertainty = np.array([0.2, 0.8, 0.8, 0.1, 0.9, 0.3, 0.8])
    split, partition = rearrange_examples(uncertainty, build_ids(uncertainty), 3, 0, seed=0)
    # 0.9, then the first two of three pairs with 0.8, of which the second has the easiest partition.
    assert [SPLITS[number] for number in split] == ["train", "test", "test", "train", "test", "train", "train"]
    assert partition.tolist() == [-1, 1, 0, -1, 2, -1, -1]


@given(problems())
def test_test_set_is_most_uncertain_with_ties_by_id(problem):
    uncertainty, k_te, k_dv, seed = problem
    split, _ = rearrange_examples(uncertainty, build_ids(uncertainty), k_te, k_dv, seed=seed)
    expected = sorted(range(len(uncertainty)), key=lambda i: (-uncertainty[i], i))[:k_te]
    assert sorted(expected) == np.flatnonzero(split == TEST).tolist()
    assert [int((split == number).sum()) for number in range(3)] == [len(uncertainty) - k_te - k_dv, k_dv, k_te]


def test_ties_are_broken_by_id_in_any_order():
    uncertainty, ids = np.array([0.8, 0.2, 0.8, 0.8, 0.1]), ["d", "e", "b", "c", "a"]
    split, partition = rearrange_examples(uncertainty, ids, 2, 0, seed=0)
    assert [ids[i] for i in np.flatnonzero(split == TEST)] == ["b", "c"]
    assert partition.tolist() == [-1, -1, 1, 0, -1]


@given(problems())
def test_partitions_are_equal_and_ordered(problem):
    uncertainty, k_te, k_dv, seed = problem
    split, partition = rearrange_examples(uncertainty, build_ids(uncertainty), k_te, k_dv, seed=seed)
    assert ((partition == NO_PARTITION) == (split != TEST)).all()
    numbers, sizes = np.unique(partition[split == TEST], return_counts=True)
    assert numbers.tolist() == list(range(min(PARTITIONS, k_te)))
    assert sizes.max() - sizes.min() <= 1
    for easier, harder in pairwise(numbers):
        assert uncertainty[partition == easier].max() <= uncertainty[partition == harder].min()


def test_seed_changes_only_validation_set():
    uncertainty = np.random.default_rng(0).random(400)
    one, same, other = (
        rearrange_examples(uncertainty, build_ids(uncertainty), 50, 100, seed=seed) for seed in (1, 1, 2)
    )
    assert (one.split == same.split).all()
    assert (one.split != other.split).any()
    assert ((one.split == TEST) == (other.split == TEST)).all()
    assert (one.partition == other.partition).all()


def test_validation_set_is_uniform_sample():
    uncertainty = np.linspace(0, 1, 4000)
    drawn = sum(
        (rearrange_examples(uncertainty, build_ids(uncertainty), 1000, 1000, seed=seed).split == VALIDATION).astype(int)
        for seed in range(60)
    )
    shares = drawn[:3000].reshape(30, 100).mean(axis=1) / 60
    assert shares == pytest.approx(1 / 3, abs=0.03)  # 7 standard errors


@pytest.mark.parametrize(("k_te", "k_dv"), [(0, 1), (1, -1), (3, 1)])
def test_rearrange_with_impossible_sizes_raises(k_te, k_dv):
    with pytest.raises(ValueError, match=re.escape(f"(3), got k_te={k_te} and k_dv={k_dv}")):
        rearrange_examples(np.array([0.1, 0.2, 0.3]), ["a", "b", "c"], k_te, k_dv, seed=0)


def test_rearrange_with_nan_raises():
    with pytest.raises(ValueError, match="got NaN"):
        rearrange_examples(np.array([0.1, np.nan]), ["a", "b"], 1, 0, seed=0)
