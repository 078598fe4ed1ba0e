"""Tests of biased models, and of the losses of max-entropy and debiasing: properties, and values worked out by hand."""

import math
from pkgutil import resolve_name

import datasets
import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tests.training.test_batches import EXAMPLES, predict_by_hypothesis
from tests.training.tiny_networks import LABELS as GOLD
from tests.training.tiny_networks import (
    LAST_LAYERS,
    NOTHING,
    PAIRS,
    ConstantNetwork,
    build_trainer,
    compute_batch_loss,
    encode,
    tiny_network,
)
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.training import bias
from unbag.training.bias import BIAS, ORIGINAL, TEACHER, WEIGHT, BiasedModel
from unbag.training.data import PairDataset, TrainingData, permute_words, sample_from_datasets
from unbag.training.losses import DebiasedTrainer, compute_entropies
from unbag.training.recipes import DebiasConfig, find_recipe

UNIFORM = [[1 / 3, 1 / 3, 1 / 3]]
ALONE = {"learned_mixin": {"entropy_penalty": 0.0}, "mend": {"alpha": 0.0}}
"""Options that disable the other terms of a loss."""


def compute_log(probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).clamp(min=1e-6).log().float()


class Loss:
    """The trainer of a recipe on single batches. Calls return the loss."""

    def __init__(self, name, network, **changed):
        recipe = find_recipe(name)
        self.network = network if isinstance(network, torch.nn.Module) else ConstantNetwork(network)
        config = recipe(model="m", output_dir="o", **ALONE.get(name, {}) | changed)
        self.trainer = build_trainer(resolve_name(recipe.trainer), self.network, config)

    def __call__(self, labels, **inputs):
        return compute_batch_loss(self.trainer, torch.as_tensor(labels), **inputs)


def sample_log_probabilities(seed=0):
    return torch.randn(len(GOLD), 3, generator=torch.Generator().manual_seed(seed)).log_softmax(dim=1)


def assert_equal_gradients(one, other, network):
    gradients = [
        torch.autograd.grad(value, [p for p in network.parameters() if p.requires_grad], allow_unused=True)
        for value in (one, other)
    ]
    compared = [pair for pair in zip(*gradients, strict=True) if pair[1] is not None]
    assert len(compared) > 20
    for first, second in compared:
        torch.testing.assert_close(first, second, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["product_of_experts", "reweighting", "focal", "learned_mixin"])
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_uniform_bias_and_zero_strength_give_cross_entropy(name, strength):
    loss = Loss(name, tiny_network(), bias_strength=strength)
    bias = torch.full((len(GOLD), 3), math.log(1 / 3)) if strength else sample_log_probabilities()
    found = loss(GOLD, bias=bias, **encode())
    plain = cross_entropy(loss.network(**encode()).logits, GOLD)
    torch.testing.assert_close(found.loss, plain)
    torch.testing.assert_close(found.parts["cross_entropy"], plain)
    assert_equal_gradients(found.loss, plain, loss.network)


@pytest.mark.parametrize("name", ["product_of_experts", "reweighting", "focal"])
def test_certain_and_right_bias_gives_no_gradient(name):
    loss = Loss(name, [[1.0, 0.5, -2.0]])
    found = loss([1], bias=torch.tensor([[-40.0, 0.0, -40.0]]), **NOTHING).loss
    found.backward()
    assert found.item() == pytest.approx(0, abs=1e-12)
    assert loss.network.logits.grad.abs().max() < 1e-12


LN2, LN3 = math.log(2), math.log(3)
HALF = compute_log([[1 / 16, 9 / 16, 6 / 16]])
THREE_QUARTERS = {BIAS: compute_log([[3 / 4, 1 / 8, 1 / 8]])}


@pytest.mark.parametrize(
    ("name", "logits", "label", "changed", "known", "expected"),
    [
        # With p = (3/4, 1/4) for the pair and (1/2, 1/2) for its permutation.
        ("max_entropy", [[LN3, 0.0], [5.0, 5.0]], [0], {"alpha": 2.0}, {}, -math.log(3 / 4) - 2 * LN2),
        # The second of two permutations has p = (3/4, 1/4).
        (
            *("max_entropy", [[0.0, 0.0], [5.0, 5.0], [LN3, 0.0]], [1], {"permutations": 2}, {}),
            LN2 - (LN2 + 2 * LN2 - 0.75 * LN3) / 2,
        ),
        # Pairs without permutations have an entropy of 0.
        ("max_entropy", [[0.0, 0.0], [0.0, 0.0], [5.0, 5.0]], [0, 1], {}, {}, LN2 / 2),
        ("max_entropy", [[0.0, 0.0]], [0], {}, {}, LN2),
        # For p = (1/2, 1/4, 1/4) and b = (1/8, 1/2, 3/8), the product is (2, 4, 3) / 9.
        (
            "product_of_experts",
            [[LN2, 0.0, 0.0]],
            [2],
            {},
            {BIAS: compute_log([[1 / 8, 1 / 2, 3 / 8]])},
            -math.log(3 / 9),
        ),
        # b = (1/16, 9/16, 6/16) to the power of one half is proportional to (1, 3, √6).
        (
            *("product_of_experts", [[0.0, 0.0, 0.0]], [1], {"bias_strength": 0.5}, {BIAS: HALF}),
            -math.log(3 / (4 + math.sqrt(6))),
        ),
        # For b[gold] = 3/4, the reweighting weight is (1/4) / (2/3) = 3/8, and the focal weight its square.
        ("reweighting", [[0.0, 0.0, 0.0]], [0], {}, THREE_QUARTERS, 3 / 8 * LN3),
        ("focal", [[0.0, 0.0, 0.0]], [0], {}, THREE_QUARTERS, 9 / 64 * LN3),
        ("focal", [[0.0, 0.0, 0.0]], [0], {"bias_strength": 0.5}, THREE_QUARTERS, 3 / 8 * LN3),
        # For t = (8, 1, 1) / 10 and β = 2/3, the target is the cube root, (2, 1, 1) / 4, the entropy of p.
        (
            *("confidence_regularization", [[LN2, 0.0, 0.0]], [0], {}),
            {BIAS: compute_log([[2 / 3, 1 / 6, 1 / 6]]), TEACHER: compute_log([[8 / 10, 1 / 10, 1 / 10]])},
            1.5 * LN2,
        ),
        # The weights are 2 and 2/3, halfway to 1: 1.5 and 5/6 times ln 3.
        (
            *("group_balanced", [[0.0, 0.0, 0.0]] * 2, [0, 1], {"balance": 0.5}),
            {BIAS: compute_log(UNIFORM * 2), WEIGHT: torch.tensor([2.0, 2 / 3])},
            (1.5 + 5 / 6) / 2 * LN3,
        ),
        # For p = (1, 1, 1) / 3, −log p is ln 3 for any target. For p = (2, 1, 1) / 4 and o = (0, 1, 0), it is
        # ¾ · ln 2 + ¼ · ln 4.
        (
            *("mend", [[0.0, 0.0, 0.0], [LN2, 0.0, 0.0]], [1, 0], {"distill": 0.25}),
            {ORIGINAL: torch.tensor([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]]).log()},
            (LN3 + 0.75 * LN2 + 0.25 * math.log(4)) / 2,
        ),
    ],
)
def test_loss_equals_hand_computed_value(name, logits, label, changed, known, expected):
    found = Loss(name, logits, **changed)(label, **known, **NOTHING).loss
    found.backward()
    assert found.item() == pytest.approx(expected)


def test_gradient_of_product_equals_hand_computed_value():
    loss = Loss("product_of_experts", [[LN2, 0.0, 0.0]])
    loss([2], bias=compute_log([[1 / 8, 1 / 2, 3 / 8]]), **NOTHING).loss.backward()
    assert loss.network.logits.grad[0].tolist() == pytest.approx([2 / 9, 4 / 9, 3 / 9 - 1])


def test_confidence_target_is_uniform_for_certain_bias():
    loss = Loss("confidence_regularization", [[0.0, 0.0, 0.0]])
    known = {BIAS: torch.tensor([[0.0, -40.0, -40.0]]), TEACHER: compute_log([[0.9, 0.05, 0.05]])}
    loss([0], **known, **NOTHING).loss.backward()
    assert loss.network.logits.grad.abs().max() < 1e-7


def test_learned_mixin_is_product_with_learned_power():
    loss = Loss("learned_mixin", tiny_network(), entropy_penalty=0.03)
    gate = loss.trainer.gate
    with torch.no_grad():
        gate.weight.zero_()
        gate.bias.fill_(math.log(math.e**0.5 - 1))  # softplus of this value is 0.5
    bias = sample_log_probabilities()
    found = loss(GOLD, bias=bias, **encode()).loss
    expected = cross_entropy(loss.network(**encode()).logits + 0.5 * bias, GOLD)
    torch.testing.assert_close(found, expected + 0.03 * compute_entropies(0.5 * bias).mean())
    found.backward()
    assert gate.weight.grad.abs().max() > 0


@pytest.mark.parametrize("kind", ["gpt2", "bart", "distilbert"])
def test_learned_mixin_reads_input_of_last_layer(kind):
    loss, hidden = Loss("learned_mixin", tiny_network(kind)), {}
    loss.trainer.gate.register_forward_hook(lambda module, inputs, output: hidden.update(h=inputs[0]))
    loss(GOLD, bias=sample_log_probabilities(), **encode())
    layer = loss.network.get_submodule(LAST_LAYERS[kind])
    torch.testing.assert_close(layer(hidden["h"]), loss.network(**encode()).logits)


def test_strength_is_annealed_over_all_steps():
    trainer = Loss("product_of_experts", UNIFORM, anneal=0.2).trainer
    trainer.state.max_steps = 5
    strengths = []
    for step in range(6):
        trainer.state.global_step = step
        strengths.append(round(trainer.strength, 6))
    assert strengths == [1.0, 0.8, 0.6, 0.4, 0.2, 0.2]
    trainer.state.global_step, trainer.state.max_steps = 0, 1
    assert trainer.strength == 1.0


@pytest.mark.parametrize("name", ["max_entropy", "product_of_experts"])
def test_permuted_pairs_in_same_pass_equal_second_pass(name):
    loss = Loss(name, tiny_network().train(), alpha=0.7)
    further = [tuple(" ".join(text.split()[::-1]) for text in pair) for pair in PAIRS]
    bias = {} if name == "max_entropy" else {BIAS: sample_log_probabilities()}
    found = loss(GOLD, **bias, **encode(PAIRS + further)).loss
    logits, permuted = (loss.network(**encode(pairs)).logits for pairs in (PAIRS, further))
    two = cross_entropy(logits + bias.get(BIAS, 0), GOLD) - 0.7 * compute_entropies(permuted).mean()
    torch.testing.assert_close(found, two)
    assert_equal_gradients(found, two, loss.network)


@pytest.mark.parametrize("logits", [[[1.7, 1.7, 1.7]], [[1e4, 0.0, -1e30]]])
def test_entropy_gradient_is_zero_at_uniform_and_certain_output(logits):
    logits = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    entropy = compute_entropies(logits)
    entropy.sum().backward()
    torch.testing.assert_close(logits.grad, torch.zeros_like(logits.grad), atol=1e-15, rtol=0)
    assert entropy.item() == pytest.approx(LN3 if logits[0, 1] else 0)


def test_distillation_of_added_pair_is_cross_entropy():
    def predict(examples):
        assert [example.source_id for example in examples] == ["a", "c"], "added pairs are not predicted"
        return np.log(np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dtype=np.float32))

    ids = ["a", "0#soswap#0.0", "c", "1#addamod#0.0"]
    examples = [Example(name, "A b.", "C d.", "neutral") for name in ids]
    targets = BiasedModel("an original", predict).with_gold_labels_of_added_pairs().predict(examples)
    assert np.exp(targets[1]).tolist() == [0.0, 1.0, 0.0], "the label"
    assert np.exp(targets[2]).tolist() == pytest.approx([0.6, 0.3, 0.1])
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    found = Loss("mend", logits.tolist(), distill=0.5)
    torch.testing.assert_close(
        found([1, 1], **{ORIGINAL: torch.from_numpy(targets[[1, 3]])}, **NOTHING).loss,
        cross_entropy(logits, torch.tensor([1, 1])),
    )


def test_distillation_excludes_bias():
    loss = Loss("mend", tiny_network(), bias_strength=1.0, distill=0.4)
    bias, original = sample_log_probabilities(), sample_log_probabilities(1)
    found = loss(GOLD, **{BIAS: bias, ORIGINAL: original}, **encode()).loss
    logits = loss.network(**encode()).logits
    expected = 0.6 * cross_entropy(logits + bias, GOLD) + 0.4 * cross_entropy(logits, original.exp())
    torch.testing.assert_close(found, expected)


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
    fixed = BiasedModel("fixed", predict_by_hypothesis)
    monkeypatch.setattr(bias, "load_network_biased_model", lambda folder, **options: fixed)
    config = DebiasConfig(model="m", output_dir=tmp_path, bias="self", weak_examples=12, word_order=order)
    raw = PairDataset("pairs", EXAMPLES, 1.0, "en", {"excluded": {}})
    features = DebiasedTrainer.load_features(config, TrainingData((raw,), ()), {"weak": tmp_path})
    asked = raw if order == "natural" else permute_words(raw, seed=config.seed)
    seen = {example.source_id for part in sample_from_datasets([raw], 12, config.seed) for example in part.examples}
    is_seen = np.array([example.source_id in seen for example in asked.examples])
    found = np.exp(features(asked.examples)[BIAS])
    assert is_seen.sum() == 12
    assert found[is_seen] == pytest.approx(1 / 3)
    assert found[~is_seen].max(axis=1) == pytest.approx(0.8)


def store_predictions(examples, predictor, folder):
    ids = [example.source_id for example in examples]
    columns = {name: [getattr(example, name) for example in examples] for name in ("premise", "hypothesis")}
    rows = datasets.Dataset.from_dict({"id": [f"row {name}" for name in ids], "source_id": ids, **columns})
    return predict_rows(rows, predictor, folder)


def test_stored_predictions_are_matched_by_id(tiny_bert, tmp_path):
    predictor = TransformerPredictor.load(tiny_bert)
    kept = store_predictions(EXAMPLES[::-1], predictor, tmp_path / "predictions")
    expected = np.log(kept.load_probabilities(LABELS)[::-1])
    for folder in (kept.folder.path, tmp_path / "predictions"):
        stored = bias.read_biased_predictions(folder)
        assert stored.predict(EXAMPLES) == pytest.approx(expected, abs=1e-6)
        copies = [example._replace(source_id=f"{example.source_id}#2") for example in EXAMPLES[:3]]
        assert np.array_equal(stored.predict(copies), stored.predict(EXAMPLES[:3]))
    network = bias.load_network_biased_model(tiny_bert, tmp_path / "answers")
    assert network.predict(EXAMPLES) == pytest.approx(expected, abs=1e-5)
    store_predictions(EXAMPLES[:5], predictor, tmp_path / "predictions")
    with pytest.raises(ValueError, match=r"expected predictions of one model on one set.* got 2"):
        bias.read_biased_predictions(tmp_path / "predictions")


def test_incomplete_or_missing_predictions_are_rejected(tiny_bert, tmp_path):
    predictor = TransformerPredictor.load(tiny_bert)
    store_predictions(EXAMPLES[:2], predictor, tmp_path / "some")
    with pytest.raises(ValueError, match="each of 2 training pairs, got none for 1, such as 'other'"):
        bias.read_biased_predictions(tmp_path / "some").predict([EXAMPLES[0], EXAMPLES[0]._replace(source_id="other")])
    store_predictions([*EXAMPLES[:2], EXAMPLES[0]], predictor, tmp_path / "twice")
    with pytest.raises(ValueError, match="expected one prediction per id"):
        bias.read_biased_predictions(tmp_path / "twice")
    with pytest.raises(ValueError, match="got none"):
        bias.read_biased_predictions(tmp_path / "nowhere")
