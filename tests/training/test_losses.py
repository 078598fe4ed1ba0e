"""Tests of the losses of max-entropy and debiasing: properties, and values worked out by hand."""

import math

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
from torch.nn.functional import cross_entropy

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
from unbag.data.sources import Example
from unbag.data.text.tokens import tokenize
from unbag.training.bias import (
    BIAS,
    EDGES,
    ORIGINAL,
    TEACHER,
    WEIGHT,
    BiasedModel,
    assign_lms_groups,
    compute_group_weights,
)
from unbag.training.data import PermutedPairs
from unbag.training.losses import (
    ConfidenceRegularizationTrainer,
    DebiasedTrainer,
    LearnedMixinTrainer,
    MaxEntropyTrainer,
    ReweightedTrainer,
    compute_entropies,
)
from unbag.training.recipes import DebiasConfig, find_recipe

UNIFORM = [[1 / 3, 1 / 3, 1 / 3]]
EXAMPLES = [Example(f"e{row}", *pair, "neutral") for row, pair in enumerate(PAIRS)]


def compute_log(probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).clamp(min=1e-6).log().float()


class Loss:
    """A trainer on single batches. Calls return the loss."""

    def __init__(self, trainer_class, network, config=DebiasConfig, **changed):
        network = network if isinstance(network, torch.nn.Module) else ConstantNetwork(network)
        self.trainer = build_trainer(trainer_class, network, config(model="m", output_dir="o", **changed))
        self.network = network

    def __call__(self, labels, **inputs):
        return compute_batch_loss(self.trainer, torch.as_tensor(labels), **inputs)


LOSSES = {
    "max_entropy": (MaxEntropyTrainer, find_recipe("max_entropy"), {}),
    "product": (DebiasedTrainer, DebiasConfig, {}),
    "reweighted": (ReweightedTrainer, find_recipe("reweighting"), {}),
    "focal": (ReweightedTrainer, find_recipe("focal"), {}),
    "mixin": (LearnedMixinTrainer, find_recipe("learned_mixin"), {"entropy_penalty": 0.0}),
    "confidence": (ConfidenceRegularizationTrainer, find_recipe("confidence_regularization"), {}),
    "weighted": (DebiasedTrainer, find_recipe("group_balanced"), {}),
    "mend": (DebiasedTrainer, find_recipe("mend"), {"alpha": 0.0}),
}


def build_loss(name, network, **changed):
    trainer, config, own = LOSSES[name]
    return Loss(trainer, network, config, **own | changed)


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


@pytest.mark.parametrize("name", ["product", "reweighted", "focal", "mixin"])
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_uniform_bias_and_zero_strength_give_cross_entropy(name, strength):
    loss = build_loss(name, tiny_network(), bias_strength=strength)
    bias = torch.full((len(GOLD), 3), math.log(1 / 3)) if strength else sample_log_probabilities()
    found = loss(GOLD, bias=bias, **encode())
    plain = cross_entropy(loss.network(**encode()).logits, GOLD)
    torch.testing.assert_close(found.loss, plain)
    torch.testing.assert_close(found.parts["cross_entropy"], plain)
    assert_equal_gradients(found.loss, plain, loss.network)


@pytest.mark.parametrize("name", ["product", "reweighted", "focal"])
def test_certain_and_right_bias_gives_no_gradient(name):
    loss = build_loss(name, [[1.0, 0.5, -2.0]])
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
        ("product", [[LN2, 0.0, 0.0]], [2], {}, {BIAS: compute_log([[1 / 8, 1 / 2, 3 / 8]])}, -math.log(3 / 9)),
        # b = (1/16, 9/16, 6/16) to the power of one half is proportional to (1, 3, √6).
        (
            *("product", [[0.0, 0.0, 0.0]], [1], {"bias_strength": 0.5}, {BIAS: HALF}),
            -math.log(3 / (4 + math.sqrt(6))),
        ),
        # For b[gold] = 3/4, the reweighting weight is (1/4) / (2/3) = 3/8, and the focal weight its square.
        ("reweighted", [[0.0, 0.0, 0.0]], [0], {}, THREE_QUARTERS, 3 / 8 * LN3),
        ("focal", [[0.0, 0.0, 0.0]], [0], {}, THREE_QUARTERS, 9 / 64 * LN3),
        ("focal", [[0.0, 0.0, 0.0]], [0], {"bias_strength": 0.5}, THREE_QUARTERS, 3 / 8 * LN3),
        # For t = (8, 1, 1) / 10 and β = 2/3, the target is the cube root, (2, 1, 1) / 4, the entropy of p.
        (
            *("confidence", [[LN2, 0.0, 0.0]], [0], {}),
            {BIAS: compute_log([[2 / 3, 1 / 6, 1 / 6]]), TEACHER: compute_log([[8 / 10, 1 / 10, 1 / 10]])},
            1.5 * LN2,
        ),
        # The weights are 2 and 2/3, halfway to 1: 1.5 and 5/6 times ln 3.
        (
            *("weighted", [[0.0, 0.0, 0.0]] * 2, [0, 1], {"balance": 0.5}),
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
    found = build_loss(name, logits, **changed)(label, **known, **NOTHING).loss
    found.backward()
    assert found.item() == pytest.approx(expected)


def test_gradient_of_product_equals_hand_computed_value():
    loss = build_loss("product", [[LN2, 0.0, 0.0]])
    loss([2], bias=compute_log([[1 / 8, 1 / 2, 3 / 8]]), **NOTHING).loss.backward()
    assert loss.network.logits.grad[0].tolist() == pytest.approx([2 / 9, 4 / 9, 3 / 9 - 1])


def test_confidence_target_is_uniform_for_certain_bias():
    loss = build_loss("confidence", [[0.0, 0.0, 0.0]])
    known = {BIAS: torch.tensor([[0.0, -40.0, -40.0]]), TEACHER: compute_log([[0.9, 0.05, 0.05]])}
    loss([0], **known, **NOTHING).loss.backward()
    assert loss.network.logits.grad.abs().max() < 1e-7


def test_certain_teacher_gives_cross_entropy():
    loss = build_loss("confidence", tiny_network())
    certain = torch.full((len(GOLD), 3), -1e4)
    certain[torch.arange(len(GOLD)), GOLD] = 0.0
    found = loss(GOLD, bias=sample_log_probabilities(), teacher=certain, **encode()).loss
    torch.testing.assert_close(found, cross_entropy(loss.network(**encode()).logits, GOLD))


def test_learned_mixin_is_product_with_learned_power():
    loss = build_loss("mixin", tiny_network(), entropy_penalty=0.03)
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
    loss, hidden = build_loss("mixin", tiny_network(kind)), {}
    loss.trainer.gate.register_forward_hook(lambda module, inputs, output: hidden.update(h=inputs[0]))
    loss(GOLD, bias=sample_log_probabilities(), **encode())
    layer = loss.network.get_submodule(LAST_LAYERS[kind])
    torch.testing.assert_close(layer(hidden["h"]), loss.network(**encode()).logits)


def test_strength_is_annealed_over_all_steps():
    trainer = build_loss("product", UNIFORM, anneal=0.2).trainer
    trainer.state.max_steps = 5
    strengths = []
    for step in range(6):
        trainer.state.global_step = step
        strengths.append(round(trainer.strength, 6))
    assert strengths == [1.0, 0.8, 0.6, 0.4, 0.2, 0.2]
    trainer.state.global_step, trainer.state.max_steps = 0, 1
    assert trainer.strength == 1.0


@pytest.mark.parametrize("name", ["max_entropy", "product"])
def test_permuted_pairs_in_same_pass_equal_second_pass(name):
    loss = build_loss(name, tiny_network().train(), alpha=0.7)
    further = permute(EXAMPLES)
    assert len(further) == len(PAIRS)
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


def permute(examples, epoch=0, *, permutations=1, seed=1, language="en"):
    build = PermutedPairs(permutations, seed=seed, language=language)
    return [pair for example in examples for pair in build(example, epoch)]


def test_permutations_move_every_word_and_change_per_epoch():
    sentence = Example("x", "The old man reads a red book.", "A young woman sees the black dog.", "neutral")
    epochs = [permute([sentence], epoch, permutations=2) for epoch in range(4)]
    assert all(len(set(pairs)) == 2 for pairs in epochs)
    assert len({pair for pairs in epochs for pair in pairs}) == 8
    for pair in epochs[0]:
        for text, original in zip(pair, (sentence.premise, sentence.hypothesis), strict=True):
            words, before = tokenize(text).texts, tokenize(original).texts
            assert sorted(words) == sorted(before)
            assert words[-1] == "."
            assert not any(new == old for new, old in zip(words[:-1], before[:-1], strict=True))
    every = permute(EXAMPLES, 3)
    assert permute(EXAMPLES[4:6], 3) == every[4:6]
    assert permute(EXAMPLES, 3, seed=2) != every
    assert permute(EXAMPLES, 4) != every


def test_short_pairs_have_no_permutations():
    short = [Example("a", "a dog", "runs", "neutral"), Example("b", "a dog", "a cat", "neutral")]  # 0 and 1 orders
    assert permute(short, permutations=2) == []
    assert len(permute([short[0], EXAMPLES[0]], permutations=2)) == 2


def test_other_languages_use_their_tokenizer():
    [(premise, _)] = permute([Example("a", "他在看书。", "他在睡觉。", "neutral")], language="zh")
    assert premise != "他在看书。"
    assert sorted(premise) == sorted("他在看书。")


def test_groups_have_equal_total_weight():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet([1, 1, 1], 1000)
    gold = np.argmax(generator.random((1000, 3)) * probabilities, axis=1)
    group, weights = assign_lms_groups(probabilities, gold), compute_group_weights(probabilities, gold)
    assert set(group.tolist()) == set(range(len(EDGES) + 1))
    sums = [float(weights[group == each].sum()) for each in range(len(EDGES) + 1)]
    assert sums == pytest.approx([1000 / len(sums)] * len(sums), rel=1e-4)


@pytest.mark.parametrize("distill", [0.5, 1.0])
def test_distillation_of_added_pair_is_cross_entropy(distill):
    def predict(examples):
        assert [example.source_id for example in examples] == ["a", "c"], "added pairs are not predicted"
        return np.log(np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dtype=np.float32))

    ids = ["a", "0#soswap#0.0", "c", "1#addamod#0.0"]
    examples = [Example(name, "A b.", "C d.", "neutral") for name in ids]
    targets = BiasedModel("an original", predict).with_gold_labels_of_added_pairs().predict(examples)
    assert np.exp(targets[1]).tolist() == [0.0, 1.0, 0.0], "the label"
    assert np.exp(targets[2]).tolist() == pytest.approx([0.6, 0.3, 0.1])
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    found = build_loss("mend", logits.tolist(), distill=distill)
    torch.testing.assert_close(
        found([1, 1], **{ORIGINAL: torch.from_numpy(targets[[1, 3]])}, **NOTHING).loss,
        cross_entropy(logits, torch.tensor([1, 1])),
    )


def test_distillation_excludes_bias():
    loss = build_loss("mend", tiny_network(), bias_strength=1.0, distill=0.4)
    bias, original = sample_log_probabilities(), sample_log_probabilities(1)
    found = loss(GOLD, **{BIAS: bias, ORIGINAL: original}, **encode()).loss
    logits = loss.network(**encode()).logits
    expected = 0.6 * cross_entropy(logits + bias, GOLD) + 0.4 * cross_entropy(logits, original.exp())
    torch.testing.assert_close(found, expected)
