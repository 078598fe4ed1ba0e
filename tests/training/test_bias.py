"""Tests of the predictions of biased models, and of their order in batches."""

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import datasets
import pyarrow as pa
import torch

from tests.training.conftest import PAIRS
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.training import bias, data, losses
from unbag.training.bias import BIAS, WEIGHT, BiasedModel, BiasFeatures
from unbag.training.data import PairDataset, TrainingData, sample_from_datasets
from unbag.training.dataset import BatchSampler, EncodedPairArray, PairCollator, TrainingPairs
from unbag.training.recipes import DebiasConfig

EXAMPLES = [Example(f"pairs-{row}", *pair) for row, pair in enumerate(PAIRS)]


def predict_by_hypothesis(examples):
    """Return fixed log-probabilities."""
    sure = [len(example.hypothesis) % 3 for example in examples]
    return np.log(np.where(np.arange(3) == np.array(sure)[:, None], 0.8, 0.1)).astype(np.float32)


FIXED = BiasedModel("fixed", predict_by_hypothesis)


def test_both_equals_product_of_two_bags(monkeypatch, tmp_path):
    monkeypatch.setenv("UNBAG_CACHE", str(tmp_path))
    one, other, both = (
        bias.build_lexical_biased_model(name, EXAMPLES, language="en").predict(EXAMPLES)
        for name in (bias.LEXICAL, bias.HYPOTHESIS, bias.BOTH)
    )
    product = np.exp(one + other)
    assert np.exp(both) == pytest.approx(product / product.sum(axis=1, keepdims=True), abs=1e-5)


def test_cached_bias_predicts_each_pair_once():
    asked = []

    def predict(examples):
        asked.extend(examples)
        return predict_by_hypothesis(examples)

    cached = BiasedModel("counted", predict).with_cache()
    copies = [example._replace(source_id=f"{example.source_id}#1") for example in EXAMPLES]
    found = cached.predict(EXAMPLES + copies)
    assert np.array_equal(found[: len(EXAMPLES)], found[len(EXAMPLES) :])
    assert np.array_equal(cached.predict(EXAMPLES[5:6]), found[5:6])
    assert [example[1:3] for example in asked] == [example[1:3] for example in EXAMPLES]
    assert cached.predict([]).shape == (0, 3)


@pytest.mark.parametrize("order", ["natural", "permuted"])
def test_weak_learner_recognizes_training_pairs_in_trained_order(monkeypatch, tmp_path, order):
    monkeypatch.setattr(bias, "load_network_biased_model", lambda folder, **options: FIXED)
    config = DebiasConfig(model="m", output_dir=tmp_path, bias="self", weak_examples=12, word_order=order)
    raw = PairDataset("pairs", EXAMPLES, 1.0, "en", {"excluded": {}})
    features = losses.DebiasedTrainer.load_features(config, TrainingData((raw,), ()), {"weak": tmp_path})
    asked = raw if order == "natural" else data.permute_words(raw, seed=config.seed)
    seen = {example.source_id for part in sample_from_datasets([raw], 12, config.seed) for example in part.examples}
    is_seen = np.array([example.source_id in seen for example in asked.examples])
    found = np.exp(features(asked.examples)[BIAS])
    assert is_seen.sum() == 12
    assert found[is_seen] == pytest.approx(1 / 3)
    assert found[~is_seen].max(axis=1) == pytest.approx(0.8)


def build_rows(examples):
    ids = [example.source_id for example in examples]
    columns = {name: [getattr(example, name) for example in examples] for name in ("premise", "hypothesis")}
    return datasets.Dataset.from_dict({"id": [f"row {name}" for name in ids], "source_id": ids, **columns})


def test_stored_predictions_are_matched_by_id(tiny_bert, tmp_path):
    predictor = TransformerPredictor.load(tiny_bert)
    kept = predict_rows(build_rows(reversed_ := EXAMPLES[::-1]), predictor, tmp_path / "predictions")
    expected = np.log(kept.load_probabilities(LABELS)[::-1])
    assert len(reversed_) == len(EXAMPLES)
    for folder in (kept.folder.path, tmp_path / "predictions"):
        stored = bias.read_biased_predictions(folder)
        assert stored.predict(EXAMPLES) == pytest.approx(expected, abs=1e-6)
        copies = [example._replace(source_id=f"{example.source_id}#2") for example in EXAMPLES[:3]]
        assert np.array_equal(stored.predict(copies), stored.predict(EXAMPLES[:3]))
    network = bias.load_network_biased_model(tiny_bert, tmp_path / "answers")
    assert network.predict(EXAMPLES) == pytest.approx(expected, abs=1e-5)
    predict_rows(build_rows(EXAMPLES[:5]), predictor, tmp_path / "predictions")
    with pytest.raises(ValueError, match=r"expected predictions of one model on one set.* got 2"):
        bias.read_biased_predictions(tmp_path / "predictions")


def test_incomplete_or_missing_predictions_are_rejected(tiny_bert, tmp_path):
    predictor = TransformerPredictor.load(tiny_bert)
    predict_rows(build_rows(EXAMPLES[:2]), predictor, tmp_path / "some")
    with pytest.raises(ValueError, match="each of 2 training pairs, got none for 1, such as 'other'"):
        bias.read_biased_predictions(tmp_path / "some").predict([EXAMPLES[0], EXAMPLES[0]._replace(source_id="other")])
    predict_rows(build_rows([*EXAMPLES[:2], EXAMPLES[0]]), predictor, tmp_path / "twice")
    with pytest.raises(ValueError, match="expected one prediction per id"):
        bias.read_biased_predictions(tmp_path / "twice")
    with pytest.raises(ValueError, match="got none"):
        bias.read_biased_predictions(tmp_path / "nowhere")


class LengthTokenizer:
    """A tokenizer stub that returns the numbers of characters of a pair."""

    limit = None

    def encode(self, pairs):
        tokens = [[len(premise), len(hypothesis)] for premise, hypothesis in pairs]
        return EncodedPairArray(pa.array(tokens, pa.list_(pa.int32())), None, 0)

    def pad(self, tokens):
        return {"input_ids": torch.tensor([ids for ids, _ in tokens])}


ORDER = ("contradiction", "entailment", "neutral")


def build_pairs(*, weight=1.0, augmenter=None):
    part = PairDataset("pairs", EXAMPLES, weight, "en", {})
    features = BiasFeatures({BIAS: FIXED}, balanced=True)
    return TrainingPairs(
        [part],
        LengthTokenizer(),
        ORDER,
        seed=1,
        augmenter=augmenter,
        features=features,
        build_extra_pairs=lambda example, epoch: [("a", "b")],
    )


def build_added_pairs(epoch):
    return [Example(f"{epoch}-{n}#soswap", f"premise {epoch}", f"{'h' * n}", "neutral") for n in range(9)]


@pytest.mark.parametrize("options", [{}, {"weight": 1.5}, {"augmenter": build_added_pairs}])
def test_each_example_has_its_bias_in_batch(options):
    """Bias features have the label order of the network in every epoch."""
    pairs, collate = build_pairs(**options), PairCollator(LengthTokenizer())
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
