"""Tests of the debiasing losses: properties, and values worked out by hand."""

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
from unbag.training import config_recipes as options
from unbag.training.bias import (
    BIAS,
    EDGES,
    ORIGINAL,
    TEACHER,
    WEIGHT,
    BiasFeatures,
    OriginalModelTeacher,
    assign_lms_groups,
    compute_group_weights,
)
from unbag.training.debiasing import (
    ConfidenceRegularizationTrainer,
    LearnedMixinTrainer,
    MendTrainer,
    ProductOfExpertsTrainer,
    ReweightedTrainer,
    WeightedCrossEntropyTrainer,
)
from unbag.training.max_entropy import PermutedPairs, compute_entropies

UNIFORM = [[1 / 3, 1 / 3, 1 / 3]]


def build_config(config=options.DebiasConfig, **changed):
    return config(model="m", output_dir="o", **changed)


def compute_log(probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).clamp(min=1e-6).log().float()


class Loss:
    """A trainer on single batches. Calls return the loss."""

    def __init__(self, trainer_class, network, config=options.DebiasConfig, **changed):
        self.trainer = build_trainer(trainer_class, network, build_config(config, **changed))
        self.network = network

    def __call__(self, labels, **inputs):
        return compute_batch_loss(self.trainer, labels, **inputs)


OBJECTIVES = {
    "product": lambda network, **changed: Loss(ProductOfExpertsTrainer, network, **changed),
    "reweighted": lambda network, **changed: Loss(ReweightedTrainer, network, options.ReweightingConfig, **changed),
    "focal": lambda network, **changed: Loss(ReweightedTrainer, network, options.FocalConfig, **changed),
    "mixin": lambda network, **changed: build_mixin(network, entropy_penalty=0.0, **changed),
}


def build_mixin(network=None, **changed):
    return Loss(LearnedMixinTrainer, network or tiny_network(), options.LearnedMixinConfig, **changed)


def sample_log_probabilities(seed=0):
    return torch.randn(len(GOLD), 3, generator=torch.Generator().manual_seed(seed)).log_softmax(dim=1)


def compute_gradients(loss, network):
    return torch.autograd.grad(loss, [p for p in network.parameters() if p.requires_grad], allow_unused=True)


def assert_equals_cross_entropy(objective, bias):
    network = objective.network
    found = objective(GOLD, bias=bias, **encode())
    plain = cross_entropy(network(**encode()).logits, GOLD)
    torch.testing.assert_close(found.loss, plain)
    torch.testing.assert_close(found.parts["cross_entropy"], plain)
    for one, other in zip(compute_gradients(found.loss, network), compute_gradients(plain, network), strict=True):
        if other is not None:
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_uniform_bias_gives_cross_entropy(name):
    assert_equals_cross_entropy(OBJECTIVES[name](tiny_network()), torch.full((len(GOLD), 3), math.log(1 / 3)))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_zero_strength_gives_cross_entropy(name):
    assert_equals_cross_entropy(OBJECTIVES[name](tiny_network(), bias_strength=0.0), sample_log_probabilities())


@pytest.mark.parametrize("name", ["product", "reweighted", "focal"])
def test_certain_and_right_bias_gives_no_gradient(name):
    network = ConstantNetwork([[1.0, 0.5, -2.0]])
    loss = OBJECTIVES[name](network)(torch.tensor([1]), bias=torch.tensor([[-40.0, 0.0, -40.0]]), **NOTHING)
    loss.loss.backward()
    assert loss.loss.item() == pytest.approx(0, abs=1e-12)
    assert network.logits.grad.abs().max() < 1e-12


def test_product_equals_hand_computed_value():
    """For p = (1/2, 1/4, 1/4) and b = (1/8, 1/2, 3/8), the product is (2, 4, 3) / 9."""
    network = ConstantNetwork([[math.log(2), 0.0, 0.0]])
    bias = compute_log([[1 / 8, 1 / 2, 3 / 8]])
    loss = OBJECTIVES["product"](network)(torch.tensor([2]), bias=bias, **NOTHING)
    assert loss.loss.item() == pytest.approx(-math.log(3 / 9))
    loss.loss.backward()
    assert network.logits.grad[0].tolist() == pytest.approx([2 / 9, 4 / 9, 3 / 9 - 1])


def test_strength_of_one_half_takes_square_root():
    """b = (1/16, 9/16, 6/16) to the power of one half is proportional to (1, 3, √6)."""
    objective = OBJECTIVES["product"](ConstantNetwork([[0.0, 0.0, 0.0]]), bias_strength=0.5)
    loss = objective(torch.tensor([1]), bias=compute_log([[1 / 16, 9 / 16, 6 / 16]]), **NOTHING)
    assert loss.loss.item() == pytest.approx(-math.log(3 / (4 + math.sqrt(6))))


def test_weights_equal_hand_computed_values():
    """For b[gold] = 3/4, the reweighting weight is (1/4) / (2/3) = 3/8, and the focal weight its square."""
    bias = compute_log([[3 / 4, 1 / 8, 1 / 8]])
    for name, strength, weight in (("reweighted", 1.0, 3 / 8), ("focal", 1.0, 9 / 64), ("focal", 0.5, 3 / 8)):
        objective = OBJECTIVES[name](ConstantNetwork([[0.0, 0.0, 0.0]]), bias_strength=strength)
        assert objective(torch.tensor([0]), bias=bias, **NOTHING).loss.item() == pytest.approx(weight * math.log(3))


def test_confidence_equals_hand_computed_value():
    """For t = (8, 1, 1) / 10 and β = 2/3, the target is the cube root, (2, 1, 1) / 4."""
    network = ConstantNetwork([[math.log(2), 0.0, 0.0]])
    objective = Loss(ConfidenceRegularizationTrainer, network, options.ConfidenceConfig)
    known = {BIAS: compute_log([[2 / 3, 1 / 6, 1 / 6]]), TEACHER: compute_log([[8 / 10, 1 / 10, 1 / 10]])}
    loss = objective(torch.tensor([0]), **known, **NOTHING)
    assert loss.loss.item() == pytest.approx(1.5 * math.log(2))  # the entropy of p = (1/2, 1/4, 1/4)
    loss.loss.backward()
    assert objective.network.logits.grad.abs().max() < 1e-6, "it says what the target is already"


def test_confidence_target_is_uniform_for_certain_bias():
    network = ConstantNetwork([[0.0, 0.0, 0.0]])
    known = {BIAS: torch.tensor([[0.0, -40.0, -40.0]]), TEACHER: compute_log([[0.9, 0.05, 0.05]])}
    objective = Loss(ConfidenceRegularizationTrainer, network, options.ConfidenceConfig)
    objective(torch.tensor([0]), **known, **NOTHING).loss.backward()
    assert network.logits.grad.abs().max() < 1e-7


def test_certain_teacher_gives_cross_entropy():
    objective = Loss(ConfidenceRegularizationTrainer, tiny_network(), options.ConfidenceConfig)
    certain = torch.full((len(GOLD), 3), -1e4)
    certain[torch.arange(len(GOLD)), GOLD] = 0.0
    found = objective(GOLD, bias=sample_log_probabilities(), teacher=certain, **encode()).loss
    torch.testing.assert_close(found, cross_entropy(objective.network(**encode()).logits, GOLD))


def test_learned_mixin_is_product_with_learned_power():
    objective = build_mixin()
    with torch.no_grad():
        objective.trainer.gate.weight.zero_()
        objective.trainer.gate.bias.fill_(math.log(math.e**0.5 - 1))  # softplus of this value is 0.5
    bias = sample_log_probabilities()
    found = objective(GOLD, bias=bias, **encode())
    logits = objective.network(**encode()).logits
    expected = cross_entropy(logits + 0.5 * bias, GOLD) + 0.03 * compute_entropies(0.5 * bias).mean()
    torch.testing.assert_close(found.loss, expected)
    found.loss.backward()
    assert objective.trainer.gate.weight.grad.abs().max() > 0


@pytest.mark.parametrize("kind", ["gpt2", "bart", "distilbert"])
def test_learned_mixin_reads_input_of_last_layer(kind):
    objective = build_mixin(tiny_network(kind))
    tokenizer_pad = encode()
    hidden = {}
    objective.trainer.gate.register_forward_hook(lambda module, inputs, output: hidden.update(h=inputs[0]))
    objective(GOLD, bias=sample_log_probabilities(), **tokenizer_pad)
    layer = objective.network.get_submodule(LAST_LAYERS[kind])
    torch.testing.assert_close(layer(hidden["h"]), objective.network(**tokenizer_pad).logits)


def test_strength_is_annealed_over_all_steps():
    trainer = OBJECTIVES["product"](ConstantNetwork(UNIFORM), anneal=0.2).trainer
    trainer.state.max_steps = 5
    strengths = []
    for step in range(6):
        trainer.state.global_step = step
        strengths.append(round(trainer.strength, 6))
    assert strengths == [1.0, 0.8, 0.6, 0.4, 0.2, 0.2]
    trainer.state.global_step, trainer.state.max_steps = 0, 1
    assert trainer.strength == 1.0


def test_permuted_pairs_use_max_entropy():
    objective = OBJECTIVES["product"](tiny_network(), alpha=0.7)
    examples = [Example(f"e{row}", *pair, "neutral") for row, pair in enumerate(PAIRS)]
    build_permuted = PermutedPairs(1, seed=13, language="en")
    further = [pair for example in examples for pair in build_permuted(example, 0)]
    assert len(further) == len(PAIRS)
    bias = sample_log_probabilities()
    found = objective(GOLD, bias=bias, **encode(PAIRS + further))
    network = objective.network
    product = cross_entropy(network(**encode()).logits + bias, GOLD)
    torch.testing.assert_close(found.loss, product - 0.7 * compute_entropies(network(**encode(further)).logits).mean())


def test_groups_have_equal_total_weight():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet([1, 1, 1], 1000)
    gold = np.argmax(generator.random((1000, 3)) * probabilities, axis=1)
    group, weights = assign_lms_groups(probabilities, gold), compute_group_weights(probabilities, gold)
    assert set(group.tolist()) == set(range(len(EDGES) + 1))
    sums = [float(weights[group == each].sum()) for each in range(len(EDGES) + 1)]
    assert sums == pytest.approx([1000 / len(sums)] * len(sums), rel=1e-4)


def test_balance_equals_hand_computed_value():
    """The weights are 2 and 2/3, halfway to 1: 1.5 and 5/6 times ln 3."""
    network = ConstantNetwork([[0.0, 0.0, 0.0]] * 2)
    objective = Loss(WeightedCrossEntropyTrainer, network, options.GroupBalancedConfig, balance=0.5)
    known = {BIAS: compute_log(UNIFORM * 2), WEIGHT: torch.tensor([2.0, 2 / 3])}
    found = objective(torch.tensor([0, 1]), **known, **NOTHING).loss.item()
    assert found == pytest.approx((1.5 + 5 / 6) / 2 * math.log(3))


def test_distillation_equals_hand_computed_value():
    """For p = (1, 1, 1) / 3, −log p is ln 3 for any target. For p = (2, 1, 1) / 4 and o = (0, 1, 0): ¾ · ln 2 + ¼ · ln
    4.
    """
    network = ConstantNetwork([[0.0, 0.0, 0.0], [math.log(2), 0.0, 0.0]])
    objective = Loss(MendTrainer, network, options.MendConfig, alpha=0.0, distill=0.25)
    known = {ORIGINAL: torch.tensor([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]]).log()}
    found = objective(torch.tensor([1, 0]), **known, **NOTHING).loss
    second = 0.75 * math.log(2) + 0.25 * math.log(4)
    assert found.item() == pytest.approx((math.log(3) + second) / 2)


@pytest.mark.parametrize("distill", [0.5, 1.0])
def test_distillation_of_added_pair_is_cross_entropy(distill):
    class Original:
        identity = "an original"

        def compute_log_probabilities(self, examples):
            assert [example.source_id for example in examples] == ["a", "c"], "added pairs are not predicted"
            return np.log(np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], dtype=np.float32))

    ids = ["a", "0#soswap#0.0", "c", "1#addamod#0.0"]
    examples = [Example(name, "A b.", "C d.", "neutral") for name in ids]
    features = BiasFeatures(None, original=OriginalModelTeacher(Original()))(examples)
    assert list(features) == [ORIGINAL]
    assert np.exp(features[ORIGINAL][1]).tolist() == [0.0, 1.0, 0.0], "the label"
    assert np.exp(features[ORIGINAL][2]).tolist() == pytest.approx([0.6, 0.3, 0.1])
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    network = ConstantNetwork(logits.tolist())
    objective = Loss(MendTrainer, network, options.MendConfig, alpha=0.0, distill=distill)
    gold = torch.tensor([1, 1])
    found = objective(gold, **{ORIGINAL: torch.from_numpy(features[ORIGINAL][[1, 3]])}, **NOTHING).loss
    torch.testing.assert_close(found, cross_entropy(logits, gold))


def test_distillation_alone_has_zero_gradient_at_original():
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    network = ConstantNetwork(logits.tolist())
    objective = Loss(MendTrainer, network, options.MendConfig, alpha=0.0, distill=1.0)
    objective(GOLD[:4], **{ORIGINAL: logits.log_softmax(dim=1)}, **NOTHING).loss.backward()
    assert network.logits.grad.abs().max() < 1e-6


def test_distillation_excludes_bias():
    changed = {"alpha": 0.0, "bias_strength": 1.0, "distill": 0.4}
    objective = Loss(MendTrainer, tiny_network(), options.MendConfig, **changed)
    bias, original = sample_log_probabilities(), sample_log_probabilities().log_softmax(dim=1)
    found = objective(GOLD, **{BIAS: bias, ORIGINAL: original}, **encode()).loss
    logits = objective.network(**encode()).logits
    expected = 0.6 * cross_entropy(logits + bias, GOLD) + 0.4 * cross_entropy(logits, original.exp())
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("config", "changed", "said"),
    [
        (options.MendConfig, {"distill": 1.5}, "distill: expected a number from 0 to 1"),
        (options.MendConfig, {"distill": 0.5, "alpha": 0.0, "word_order": "shuffled"}, "natural with distill"),
        (
            options.DebiasConfig,
            {"bias": "magic"},
            "bias: expected one of lexical, hypothesis, both, self, a folder",
        ),
        (options.DebiasConfig, {"bias_strength": -1.0}, "bias_strength: expected a number of at least 0"),
        (options.DebiasConfig, {"anneal": math.nan}, "anneal: expected a number of at least 0"),
        (
            options.DebiasConfig,
            {"hypothesis_only": True},
            "hypothesis_only: not supported by debiasing, because a hypothesis-only model learns only the bias",
        ),
        (options.DebiasConfig, {"alpha": 1.0, "word_order": "shuffled"}, "got shuffled, because alpha"),
        (
            options.DebiasConfig,
            {"bias": "self", "max_examples": 100},
            "weak_examples: expected fewer than max_examples = 100",
        ),
        (options.DebiasConfig, {"balance": 2.0}, "balance: expected a number from 0 to 1"),
        (options.DebiasConfig, {"weak_epochs": 0}, "weak_epochs: expected at least 1"),
        (
            options.DebiasConfig,
            {"bias": __file__, "augment": ("soswap",)},
            "augment: expected a biased model, got stored predictions",
        ),
        (options.ReweightingConfig, {"balance": 0.5}, "already weights pairs by the bias"),
        (options.FocalConfig, {"gamma": -1.0}, "gamma: expected a number of at least 0"),
        (options.LearnedMixinConfig, {"entropy_penalty": math.inf}, "entropy_penalty: expected a number of at least 0"),
        (options.ConfidenceConfig, {"teacher": "nowhere"}, "teacher: expected a model folder"),
    ],
)
def test_debias_config_contradictory_options_are_rejected(config, changed, said):
    with pytest.raises(ValueError, match=said) as error:
        build_config(config, **changed)
    assert "\n" not in str(error.value)
