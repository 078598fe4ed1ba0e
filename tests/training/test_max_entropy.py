import math

import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
from torch.nn.functional import cross_entropy

from tests.training.tiny_networks import (
    LABELS,
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
from unbag.training.config_recipes import MaxEntropyConfig
from unbag.training.max_entropy import MaxEntropyTrainer, PermutedPairs, compute_entropies

EXAMPLES = [Example(f"e{row}", *pair, "neutral") for row, pair in enumerate(PAIRS)]


def build_config(**options):
    return MaxEntropyConfig(model="m", output_dir="o", **options)


def compute_loss(logits, labels, **options):
    trainer = build_trainer(MaxEntropyTrainer, ConstantNetwork(logits), build_config(**options))
    return compute_batch_loss(trainer, torch.tensor(labels), **NOTHING)


def permute(examples, epoch=0, *, permutations=1, seed=1, language="en"):
    build = PermutedPairs(permutations, seed=seed, language=language)
    return [pair for example in examples for pair in build(example, epoch)]


def test_loss_equals_hand_computed_value():
    """With p = (3/4, 1/4) for the pair and (1/2, 1/2) for its permutation, the loss is -ln 3/4 - 2 ln 2."""
    loss = compute_loss([[math.log(3), 0.0], [5.0, 5.0]], [0], alpha=2.0)
    assert loss.loss.item() == pytest.approx(-math.log(3 / 4) - 2 * math.log(2))
    assert loss.parts["entropy"].item() == pytest.approx(math.log(2))


def test_two_permutations_are_averaged():
    h = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    loss = compute_loss([[0.0, 0.0], [5.0, 5.0], [math.log(3), 0.0]], [1], permutations=2)
    assert loss.loss.item() == pytest.approx(math.log(2) - (math.log(2) + h) / 2)


def test_pair_without_permutations_has_no_entropy_term():
    loss = compute_loss([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0]], [0, 1])
    assert loss.parts["entropy"].item() == pytest.approx(math.log(2) / 2)
    none = compute_loss([[0.0, 0.0]], [0])
    none.loss.backward()
    assert none.loss.item() == pytest.approx(math.log(2))


def test_entropy_gradient_is_zero_at_uniform_output():
    logits = torch.full((4, 3), 1.7, dtype=torch.float64, requires_grad=True)
    compute_entropies(logits).sum().backward()
    torch.testing.assert_close(logits.grad, torch.zeros_like(logits.grad), atol=1e-15, rtol=0)
    off = torch.tensor([[1.0, 0.0, 0.0]], requires_grad=True)
    compute_entropies(off).sum().backward()
    assert off.grad[0, 0] < 0 < off.grad[0, 1], "away from it, the gradient leads back"


def test_certain_prediction_has_zero_entropy_and_finite_gradient():
    logits = torch.tensor([[1e4, 0.0, -1e30]], requires_grad=True)
    compute_entropies(logits).sum().backward()
    assert compute_entropies(logits).item() == 0
    assert logits.grad.isfinite().all()


def test_one_forward_pass_equals_two():
    network = tiny_network()
    trainer = build_trainer(MaxEntropyTrainer, network.train(), build_config(alpha=0.7))
    further = permute(EXAMPLES)
    assert len(further) == len(PAIRS)
    loss = compute_batch_loss(trainer, LABELS, **encode(PAIRS + further))
    two = (
        cross_entropy(network(**encode()).logits, LABELS)
        - 0.7 * compute_entropies(network(**encode(further)).logits).mean()
    )
    torch.testing.assert_close(loss.loss, two)
    found, expected = (
        torch.autograd.grad(value, list(network.parameters()), allow_unused=True) for value in (loss.loss, two)
    )
    assert sum(gradient is not None for gradient in found) > 20
    for one, other in zip(found, expected, strict=True):
        if one is not None:
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


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


def test_permutations_depend_on_seed_id_and_epoch():
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


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"alpha": float("nan")}, {"permutations": 0}])
def test_max_entropy_options_zero_weights_are_rejected(options):
    with pytest.raises(ValueError, match=r"alpha: expected a number above 0|permutations: expected at least 1"):
        build_config(**options)
