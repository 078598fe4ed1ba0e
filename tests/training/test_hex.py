"""Tests of HEX: the projection, the loss and its gradients, the published network, and the residual head."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy

from tests.training.tiny_networks import (
    LABELS,
    LAST_LAYERS,
    ORDER,
    PAIRS,
    WORDS,
    build_trainer,
    compute_batch_loss,
    encode,
    tiny_network,
    tiny_tokenizer,
)
from unbag.baselines.lexical.embeddings import load_embeddings
from unbag.inference.transformer import TransformerPredictor
from unbag.models.hex import ResidualHead, SuperficialBranch, WordTable
from unbag.training.hex import (
    HexTrainer,
    build_embedding_word_table,
    compute_residual,
    find_last_linear,
    project_out,
)
from unbag.training.recipes import HexConfig

DEGENERATE = {
    "zero": lambda f_g: f_g * 0,
    "two columns alike": lambda f_g: torch.stack([f_g[:, 0], f_g[:, 1], f_g[:, 0] - 2 * f_g[:, 1]], dim=1),
    "nearly collinear": lambda f_g: f_g[:, :1] + 1e-7 * f_g,
    "one row": lambda f_g: f_g[:1],
    "tiny": lambda f_g: f_g * 1e-30,
    "huge": lambda f_g: f_g * 1e15,
}


def sample_outputs(seed=0, b=16, k=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(b, k, generator=generator, dtype=dtype) for _ in range(2)]


def test_constant_column_removes_mean():
    """A constant column explains only the mean."""
    f_b = torch.tensor([[3.0, 10.0], [1.0, 10.0], [5.0, 40.0]])
    expected = torch.tensor([[0.0, -10.0], [-2.0, -10.0], [2.0, 20.0]])
    torch.testing.assert_close(project_out(f_b, torch.full((3, 1), 7.0)), expected, atol=5e-5, rtol=0)


@given(seed=st.integers(0, 10_000), weak=st.floats(0, 1), scale=st.sampled_from([1e-3, 1.0, 1e4]))
@settings(max_examples=30)
def test_projection_equals_ridge_rule_by_svd(seed, weak, scale):
    f_b, f_g = sample_outputs(seed)
    f_g[:, 2] = f_g[:, 0] + weak**4 * f_g[:, 2]  # from independent to collinear
    f_g *= scale
    u, s, _ = np.linalg.svd(f_g.numpy(), full_matrices=False)
    ridge = 1e-6 * (s**2).mean() + 1e-12
    expected = f_b.numpy() - (u * (s**2 / (s**2 + ridge))) @ (u.T @ f_b.numpy())
    np.testing.assert_allclose(project_out(f_b, f_g).numpy(), expected, atol=1e-8)


def test_gradients_equal_finite_differences():
    f_b, f_g = (value.requires_grad_() for value in sample_outputs(b=7))
    assert torch.autograd.gradcheck(project_out, (f_b, f_g))


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_and_gradients_are_finite(kind, dtype):
    f_b, f_g = sample_outputs(dtype=torch.float32)
    f_g = DEGENERATE[kind](f_g).to(dtype).requires_grad_()
    f_b = f_b[: len(f_g)].to(dtype).requires_grad_()
    left = project_out(f_b, f_g)
    assert left.dtype == dtype
    torch.nn.functional.cross_entropy(left.float(), torch.arange(len(left)) % 3).backward()
    for value in (left, f_b.grad, f_g.grad):
        assert value.isfinite().all()
    if kind == "zero":
        torch.testing.assert_close(left, f_b)


def test_last_linear_is_layer_that_computes_logits():
    network = tiny_network(dropout=0.5).train()
    network.classifier = torch.nn.Sequential(torch.nn.Linear(32, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    assert find_last_linear(network, encode()) == "classifier.2"
    assert network.training
    assert not any(module._forward_hooks for module in network.modules())
    network.classifier.append(torch.nn.Tanh())
    with pytest.raises(ValueError, match=r"got BertForSequenceClassification with 3 labels.*classifier.2"):
        find_last_linear(network, encode())


class Hex:
    """A trainer on single batches. Calls return the loss and the logits F_L."""

    def __init__(self, kind="bert", **options):
        self.network = tiny_network(kind).train()
        self.layer = self.network.get_submodule(LAST_LAYERS[kind])
        config = HexConfig(model="m", output_dir="o", **{"warm_start": 0, **options})
        self.trainer = build_trainer(HexTrainer, self.network, config)
        self.branch = self.trainer.branch

    def __call__(self, labels, **encoded):
        found = compute_batch_loss(self.trainer, labels, **encoded)
        found.logits = compute_residual(found.outputs.f_b, found.outputs.f_g)[0].detach()
        return found

    def set_step(self, step, steps):
        self.trainer.state.global_step, self.trainer.state.max_steps = step, steps


def encoder_outputs(objective, encoded):
    """Return h of each pair, the input of the last layer."""
    caught = []
    handle = objective.layer.register_forward_pre_hook(lambda _, arguments: caught.append(arguments[0]))
    with torch.no_grad():
        objective.network(**encoded)
    handle.remove()
    [h] = caught
    if h.ndim == 3:  # a decoder applies the layer at every position, and returns the last token
        h = h[torch.arange(len(h)), encoded["attention_mask"].sum(dim=1) - 1]
    return h


def compute_superficial(objective, encoded):
    """Return the normalized g by the formula of the paper, one pair and one word at a time."""
    table = objective.branch.table.vectors
    rows = []
    for ids in encoded["input_ids"].tolist():
        words = [table[token] for token in ids if token > 3]
        rows.append(torch.relu(objective.branch.phi.weight @ (sum(words) / len(words))))
    g = torch.stack(rows).detach()
    return g / g.square().mean(dim=1, keepdim=True).sqrt() if objective.branch.normalize else g


def extend_last_layer(objective):
    """Return f, the last layer extended to the input [h, g]."""
    layer, w_g = objective.layer, objective.branch.decoder.weight
    f = torch.nn.Linear(layer.in_features + w_g.shape[1], layer.out_features, bias=layer.bias is not None)
    with torch.no_grad():
        f.weight.copy_(torch.cat([layer.weight, w_g], dim=1))
        if layer.bias is not None:
            f.bias.copy_(layer.bias)
    return f


@torch.no_grad()
def compute_definition(objective, encoded):
    """Compute F_B = f([h, g]) and F_G = f([0, g]) separately, and ω with NumPy's least squares."""
    h, g = encoder_outputs(objective, encoded), compute_superficial(objective, encoded)
    f = extend_last_layer(objective)
    f_b, f_g = (f(torch.cat([each, g], dim=1)).double().numpy() for each in (h, torch.zeros_like(h)))
    return f_b, f_g, np.linalg.lstsq(f_g, f_b, rcond=None)[0]


@pytest.mark.parametrize(("kind", "unscaled"), [*((kind, False) for kind in LAST_LAYERS), ("bert", True)])
def test_loss_equals_definition_in_every_family(kind, unscaled):
    objective = Hex(kind, unscaled=unscaled)
    encoded = encode()
    f_b, f_g, omega = compute_definition(objective, encoded)
    expected = f_b - f_g @ omega
    assert np.abs(expected).max() > 0.1, "nothing is left, so this test would show nothing"
    assert np.abs(expected - f_b).max() > 0.1, "nothing is taken out, so this test would show nothing"
    loss = objective(LABELS, **encoded)
    np.testing.assert_allclose(loss.logits.numpy(), expected, atol=2e-3)
    assert loss.loss.item() == pytest.approx(cross_entropy(torch.tensor(expected), LABELS).item(), abs=1e-3)
    h = encoder_outputs(objective, encoded)
    w_h_h = (h @ objective.layer.weight.T).detach().double().numpy()
    np.testing.assert_allclose(w_h_h - f_g @ np.linalg.lstsq(f_g, w_h_h, rcond=None)[0], expected, atol=1e-4)


def test_g_equals_hand_computed_value():
    """Two words with embeddings (1, 0) and (3, 4), a special token and padding: the mean is (2, 2)."""
    vectors = torch.tensor([[9.0, 9.0], [9.0, 9.0], [9.0, 9.0], [9.0, 9.0], [1.0, 0.0], [3.0, 4.0]])
    table = WordTable(vectors, torch.tensor([False, True, False, True, True, True]))
    weights = {
        "phi.weight": torch.tensor([[1.0, 1.0], [1.0, -2.0]]),
        "decoder.weight": torch.tensor([[1.0, 5.0], [2.0, 0.0], [0.0, 1.0]]),
    }
    ids, mask = torch.tensor([[0, 4, 5, 2, 5]]), torch.tensor([[1, 1, 1, 1, 0]])
    branch = SuperficialBranch.from_weights(weights, table, normalize=False)
    assert branch(branch.compute_mean(ids, mask)).tolist() == [[4.0, 8.0, 0.0]]  # ReLU(4, -2) = (4, 0)
    branch.normalize = True
    torch.testing.assert_close(branch(branch.compute_mean(ids, mask)), torch.tensor([[2**0.5, 8**0.5, 0.0]]))
    assert branch(branch.compute_mean(torch.tensor([[0, 2]]))).tolist() == [[0.0, 0.0, 0.0]]  # without words, g is zero


def test_g_keeps_initial_embeddings_of_network():
    objective = Hex()
    network, before = objective.network, tiny_network().get_input_embeddings().weight
    assert not {name for name in network.state_dict() if "table" in name}
    assert not objective.branch.table.vectors.requires_grad
    train_steps(objective, 5)
    assert torch.equal(objective.branch.table.vectors, before), "bit for bit"
    assert not torch.equal(network.get_input_embeddings().weight, before), "the network's own have moved"
    assert objective.branch.table.is_word.tolist() == [False] * 4 + [True] * len(WORDS)


def test_g_reads_given_word_vectors(tmp_path):
    """g ignores word pieces and words without a vector."""
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 2\ncat 3 4\nunheard 5 6\n")
    objective = Hex(embeddings=str(path))
    vectors, is_word = objective.branch.table
    dog, cat = (4 + WORDS.index(word) for word in ("dog", "cat"))
    assert vectors[[dog, cat]].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert is_word.nonzero().flatten().tolist() == sorted([dog, cat])
    assert objective.branch.phi.weight.shape == (2, 2), "as wide as what it reads"
    encoded = encode([("a dog runs", "a dog and a cat")])
    torch.testing.assert_close(objective.branch.compute_mean(encoded["input_ids"]), torch.tensor([[5 / 3, 8 / 3]]))
    path.write_text("unheard 5 6\n")
    with pytest.raises(ValueError, match="expected embeddings for at least one of the 24 words of the tokenizer"):
        Hex(embeddings=str(path))


def test_word_piece_has_no_word_vector(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("play 1 2\ning 3 4\n# 5 6\n")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "#", "ing"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    network = transformers.BertModel(transformers.BertConfig(vocab_size=12, hidden_size=8, num_attention_heads=2))
    vectors, is_word = build_embedding_word_table(load_embeddings(str(path)), network, tokenizer)
    assert tokenizer.tokenize("playing") == ["play", "##ing"]
    assert [vocabulary[number] for number in is_word.nonzero().flatten()] == ["play", "#", "ing"]
    assert vectors[5].tolist() == [1.0, 2.0]
    assert vectors.shape == (12, 2), "a network may have more embeddings than its tokenizer has tokens"


def test_second_form_adds_weighted_superficial_loss():
    objective, encoded = Hex(superficial_weight=0.5), encode()
    found, without = objective(LABELS, **encoded), Hex()(LABELS, **encoded)
    with torch.no_grad():
        mean = objective.branch.compute_mean(encoded["input_ids"], encoded["attention_mask"])
        f_g = objective.branch(mean) + objective.layer.bias
    assert torch.equal(found.logits, without.logits), "what predicts is F_L in both"
    assert found.loss.item() == pytest.approx(cross_entropy(without.logits + 0.5 * f_g, LABELS).item(), abs=1e-6)
    assert abs(found.loss.item() - without.loss.item()) > 0.01, "the same, so this test would show nothing"


def test_warm_start_is_cross_entropy_and_ends():
    objective = Hex(warm_start=0.3)
    plain = objective.network(**encode()).logits
    for step in range(4):
        objective.set_step(step, 5)  # 1.5 of 5 steps, rounded up to two
        objective.network.zero_grad()
        found = objective(LABELS, **encode())
        found.loss.backward()
        expected = plain if step < 2 else found.logits
        assert found.loss.item() == pytest.approx(cross_entropy(expected, LABELS).item(), abs=1e-6)
        assert found.parts["plain_cross_entropy"].item() == pytest.approx(cross_entropy(plain, LABELS).item())
        gradients = [parameter.grad for parameter in objective.branch.parameters()]
        assert all(gradient is not None for gradient in gradients), "DDP would wait for it"
        assert all((gradient != 0).any() == (step >= 2) for gradient in gradients)


@pytest.mark.parametrize("b", [1, 10])
def test_loss_and_gradients_are_finite_under_autocast(b):
    objective = Hex()
    encoded, computed = encode(PAIRS[:b]), []
    objective.layer.register_forward_hook(lambda _module, _inputs, output: computed.append(output.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        loss = objective(LABELS[:b], **encoded)
    assert computed == [torch.bfloat16]
    loss.loss.backward()
    assert loss.logits.dtype == torch.float32
    gradients = [parameter.grad for parameter in objective.network.parameters()]
    assert all(value.isfinite().all() for value in (loss.logits, loss.loss, *loss.parts.values(), *gradients))


def train_steps(objective, n):
    """Train for n steps on the same batch."""
    optimizer = torch.optim.AdamW(objective.network.parameters(), lr=3e-3)
    for step in range(n):
        objective.set_step(step, n)
        optimizer.zero_grad()
        objective(LABELS, **encode()).loss.backward()
        optimizer.step()


@pytest.fixture(scope="module")
def finished_objective(tmp_path_factory):
    """Return a trained objective with ω* fitted, and its output folder."""
    objective = Hex("distilbert", warm_start=0.25)
    train_steps(objective, 8)
    trainer = objective.trainer
    trainer.train_dataset, trainer.data_collator = PAIRS, encode  # in two batches
    trainer.finish()
    folder = tmp_path_factory.mktemp("published")
    weights = objective.network.state_dict()
    published = {name: value for name, value in weights.items() if not name.startswith("superficial.")}
    objective.network.save_pretrained(folder, state_dict=published)
    tiny_tokenizer().save_pretrained(folder)
    trainer.save_extra(folder, weights)
    objective.network.eval()
    return objective, folder


def test_omega_is_least_squares_fit_over_all_data(finished_objective):
    objective, folder = finished_objective
    f_b, f_g, omega = compute_definition(objective, encode())
    np.testing.assert_allclose(objective.trainer.omega.numpy(), omega, atol=2e-2)
    head, network = ResidualHead.load(folder), objective.network
    found = head(network, network(**encode()).logits, encode()).numpy()
    np.testing.assert_allclose(found, f_b - f_g @ omega, atol=2e-3)
    assert np.abs(found - f_b).max() > 0.1, "nothing is taken out, so this test would show nothing"


def test_evaluator_predicts_with_either_head(finished_objective):
    objective, folder = finished_objective
    plain, residual = (TransformerPredictor.load(folder, head=head) for head in ("plain", "residual"))
    h, f = encoder_outputs(objective, encode()), extend_last_layer(objective)
    logits = f(torch.cat([h, torch.zeros(len(h), f.in_features - h.shape[1])], dim=1))  # f([h, 0])
    premises, hypotheses = map(list, zip(*PAIRS, strict=True))
    columns = [ORDER.index(label) for label in plain.label_space]
    for predictor, expected in (
        (plain, logits),
        (residual, ResidualHead.load(folder)(objective.network, logits, encode())),
    ):
        probabilities = expected.softmax(dim=1)[:, columns].detach().numpy()
        np.testing.assert_allclose(predictor.predict(premises, hypotheses), probabilities, atol=1e-5)
    assert {**plain.identity, "head": residual.identity["head"]} == residual.identity
    other = TransformerPredictor.load(folder, head="residual", dtype="bfloat16")
    np.testing.assert_allclose(other.predict(premises, hypotheses), residual.predict(premises, hypotheses), atol=0.1)


SOUND = {"format": 2, "layer": "classifier", "normalise": True}
TORN = r"hex\.safetensors: expected the weights .*, got an error"


@pytest.mark.parametrize(
    ("config", "changed", "message"),
    [
        (None, {}, r"expected a network trained with HEX, got a folder without hex\.json"),
        # In format 1, the branch read the trainable embeddings of the network.
        ({"format": 1}, {}, r"expected format 2, got 1 from .*; train again .* or use the plain head"),
        ({"format": 2, "layer": 1}, {}, r"hex\.json: expected the layer and whether to normalise, got 1 and None"),
        (SOUND, {"phi": lambda phi: phi[:, 1:]}, TORN),
        (SOUND, {"omega": lambda omega: omega[0]}, TORN),
        (SOUND, {"is_word": lambda is_word: is_word[1:]}, TORN),
        (SOUND, {"embeddings": lambda table: table[:, 0]}, TORN),
        (SOUND, {"is_word": None}, rf"{TORN} .'is_word'"),
        (SOUND, None, TORN),
    ],
)
def test_invalid_head_is_rejected(finished_objective, tmp_path, config, changed, message):
    _, source = finished_objective
    folder = shutil.copytree(source, tmp_path / "head", ignore=shutil.ignore_patterns("hex.json"))
    if config is not None:
        (folder / "hex.json").write_text(json.dumps(config))
    if changed is None:
        (folder / "hex.safetensors").write_bytes(b"torn")
    else:
        tensors = load_file(folder / "hex.safetensors")
        edited = {name: edit(tensors[name]).contiguous() for name, edit in changed.items() if edit}
        save_file(
            {name: each for name, each in tensors.items() if name not in changed} | edited, folder / "hex.safetensors"
        )
    with pytest.raises(ValueError, match=message):
        TransformerPredictor.load(folder, head="residual")
