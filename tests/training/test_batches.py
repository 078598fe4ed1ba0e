"""Tests of the batches of an epoch: lengths, groups of added pairs, features, and the parts of several processes."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.inference.fixtures import ORDER
from tests.training.conftest import PAIRS
from unbag.challenge_sets.perturbations.augmentation import parse_pair_group, parse_pair_kind
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.training.batching import build_epoch_batches, find_augmented_units
from unbag.training.bias import BIAS, WEIGHT, BiasedModel, BiasFeatures
from unbag.training.data import PairDataset
from unbag.training.dataset import BatchSampler, EncodedPairArray, PairCollator, TrainingPairs

EXAMPLES = [Example(f"pairs-{row}", *pair) for row, pair in enumerate(PAIRS)]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=300), st.integers(1, 20), st.integers(0, 3))
def test_batches_cover_all_pairs_and_only_last_is_smaller(lengths, size, epoch):
    batches = build_epoch_batches(np.array(lengths), size, seed=1, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    sizes = [len(batch) for batch in batches]
    assert sizes[:-1] == [size] * (len(batches) - 1)
    assert 1 <= sizes[-1] <= size


def test_batches_have_similar_lengths_and_depend_on_seed_and_epoch():
    lengths = np.random.default_rng(0).integers(5, 60, size=5000)

    def build_batches(seed, epoch):
        return [batch.tolist() for batch in build_epoch_batches(lengths, 32, seed=seed, epoch=epoch)]

    def padding(some):
        return 1 - sum(lengths[batch].sum() for batch in some) / sum(len(b) * lengths[b].max() for b in some)

    batches = build_batches(1, 0)
    assert build_batches(1, 0) == batches
    assert batches not in (build_batches(1, 1), build_batches(2, 0))
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
        strata = [(parse_pair_kind(each.source_id), each.label) for each in examples]
        for (kind, label), n in Counter(strata).items():
            if kind is not None:
                unit = 4 if kind == "contrast" else 1
                counts = [sum(strata[row] == (kind, label) for row in batch) / unit for batch in batches[:-1]]
                mean = n / unit / len(counts)
                assert set(counts) <= {np.floor(mean), np.ceil(mean)}


def test_group_larger_than_batch_raises_error():
    with pytest.raises(ValueError, match="--batch-size: expected room for a group of 3 added pairs"):
        build_epoch_batches(np.full(6, 9), 2, seed=0, epoch=0, strata=[[np.array([0, 1, 2])]])


class LengthTokenizer:
    """A tokenizer stub that returns the numbers of characters of a pair."""

    def encode(self, pairs):
        tokens = [[len(premise), len(hypothesis)] for premise, hypothesis in pairs]
        return EncodedPairArray(pa.array(tokens, pa.list_(pa.int32())), None, 0)

    def pad(self, tokens):
        return {"input_ids": torch.tensor([ids for ids, _ in tokens])}


def build_pairs(*, weight=1.0, **options):
    return TrainingPairs(
        [PairDataset("pairs", EXAMPLES, weight, "en", {})], LengthTokenizer(), ORDER, seed=1, **options
    )


def predict_by_hypothesis(examples):
    """Return fixed log-probabilities."""
    sure = [len(example.hypothesis) % 3 for example in examples]
    return np.log(np.where(np.arange(3) == np.array(sure)[:, None], 0.8, 0.1)).astype(np.float32)


def build_added_pairs(epoch):
    return [Example(f"{epoch}-{n}#soswap", f"premise {epoch}", f"{'h' * n}", "neutral") for n in range(9)]


@pytest.mark.parametrize("options", [{}, {"weight": 1.5}, {"augmenter": build_added_pairs}])
def test_each_example_has_its_bias_in_batch(options):
    """Bias features have the label order of the network in every epoch."""
    features = BiasFeatures({BIAS: BiasedModel("fixed", predict_by_hypothesis)}, balanced=True)
    pairs = build_pairs(features=features, build_extra_pairs=lambda example, epoch: [("a", "b")], **options)
    collate = PairCollator(LengthTokenizer())
    for epoch in range(3):
        pairs.set_epoch(epoch)
        rows, weights = list(BatchSampler(pairs, 8, seed=1)), []
        assert sorted(rows) == list(range(len(pairs.examples)))
        for start in range(0, len(rows), 8):
            examples = [pairs.examples[row] for row in rows[start : start + 8]]
            batch = collate([pairs[row] for row in rows[start : start + 8]])
            expected = predict_by_hypothesis(examples)[:, [LABELS.index(label) for label in ORDER]]
            assert batch[BIAS].numpy() == pytest.approx(expected)
            assert [ORDER[output] for output in batch["labels"].tolist()] == [example.label for example in examples]
            assert len(batch["input_ids"]) == 2 * len(examples), "extra pairs have none"
            weights += batch[WEIGHT].tolist()
        assert np.mean(weights) == pytest.approx(1, abs=1e-5)


def test_bias_accuracy_excludes_pairs_without_prediction():
    """Of 72 predictions, 18 are correct, 36 wrong and 18 missing."""

    def predict(examples):
        wrong = np.arange(len(examples)) >= 18
        predicted = (np.array([LABELS.index(each.label) for each in examples]) + wrong) % 3
        probabilities = np.where(np.arange(3) == predicted[:, None], 0.6, 0.2)
        probabilities[54:] = 1 / 3
        return np.log(probabilities).astype(np.float32)

    assert build_pairs(features=BiasFeatures({BIAS: BiasedModel("b", predict)})).bias_accuracy == pytest.approx(18 / 54)


@pytest.mark.parametrize("stratified", [False, True])
def test_batches_of_several_processes_equal_single_process(stratified):
    """Each process takes a part of each batch, and no group of added pairs is in two batches."""
    added = [Example(f"{i}#negation#0.0#{j}", PAIRS[i][0], "A dog.", "neutral") for i in range(6) for j in range(2)]
    pairs = build_pairs(augmenter=lambda epoch: added)

    def batches(parts):
        rows = list(BatchSampler(pairs, 8, seed=1, n_parts=parts, stratified=stratified))
        return [rows[start : start + 8] for start in range(0, len(rows), 8)]

    one, two = batches(1), batches(2)
    assert list(map(sorted, one)) == list(map(sorted, two))
    assert one[0] != two[0], "the order within a batch differs"
    groups = [{parse_pair_group(pairs.examples[row].source_id) for row in batch} - {None} for batch in one]
    assert sum(map(len, groups)) == 6, "no group is in two batches"
