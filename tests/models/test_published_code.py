"""Tests of networks whose published code differs from the paper: both versions, by hand and by properties."""

from math import sqrt

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from tests.models.tiny_models import TEXT_VARIANTS, encode, tiny_model
from unbag.models import ARCHITECTURES
from unbag.models.g_tlstm import QueryScorer
from unbag.models.network import RELATIONS
from unbag.training.initialization import count_parameters


@pytest.mark.parametrize("compose_relations", [True, False])
@pytest.mark.parametrize("pool_relations", [True, False])
def test_kim_without_relations_is_esim(compose_relations, pool_relations):
    """Without relations, the weighted sum is the mean, and all relation inputs are zero."""
    kim = tiny_model("kim", compose_relations=compose_relations, pool_relations=pool_relations, relation_weight=9.0)
    kim.embeddings.relation.zero_()
    esim = tiny_model("esim", seed=1)
    size = kim.config.hidden_size
    weights = {key: value for key, value in kim.state_dict().items() if key in esim.state_dict()}
    weights["project.weight"] = weights["project.weight"][:, : 8 * size]
    for direction in ("", "_reverse"):
        key = f"compose.lstm.weight_ih_l0{direction}"
        weights[key] = weights[key][:, :size]
    if pool_relations:
        a, a_max, a_sum, b, b_max, b_sum = weights["classifier.1.weight"].chunk(6, dim=1)
        weights["classifier.1.weight"] = torch.cat([a + a_sum, a_max, b + b_sum, b_max], dim=1)
    esim.load_state_dict(weights)
    with torch.no_grad():
        torch.testing.assert_close(kim(**encode()).logits, esim(**encode()).logits, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("scaled", "expected"), [(True, 4.5), (False, 9.0)])
def test_g_tlstm_query_scores_are_scaled(scaled, expected):
    """(1, 2, 2, 0) · (1, 2, 2, 7) = 9, and √4 = 2."""
    query = QueryScorer(4, scaled=scaled)
    with torch.no_grad():
        query.vector.copy_(torch.tensor([1.0, 2.0, 2.0, 0.0]))
        assert query(torch.tensor([1.0, 2.0, 2.0, 7.0])).item() == pytest.approx(expected)


def test_g_tlstm_scaled_scores_equal_scaled_query():
    """With the same random numbers, training chooses the same merges and has the same straight-through gradients."""
    options = {"hidden_size": 16}
    code, text = (tiny_model("g-tlstm", scaled_scores=scaled, **options).train() for scaled in (True, False))
    with torch.no_grad():
        code.query.vector.normal_(std=4.0)
        text.query.vector.copy_(code.query.vector / sqrt(16))
    found = []
    for network in (code, text):
        torch.manual_seed(3)
        logits = network(**encode()).logits
        logits.square().sum().backward()
        found.append((logits.detach(), network.merge.of_children.weight.grad))
    for by_code, by_text in zip(*found, strict=True):
        torch.testing.assert_close(by_code, by_text, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("options", "bias"), [({}, 1.0), (TEXT_VARIANTS["g-tlstm"], 0.0)])
def test_g_tlstm_forget_bias_is_in_merges_and_leaves(options, bias, tmp_path):
    network = initialize_model("g-tlstm", tmp_path, **options)
    _, forget, *_ = network.leaf.cell.bias_ih.chunk(4)  # torch's order: i, f, g, o
    assert network.merge.forget_bias == bias
    assert forget.tolist() == [bias] * network.config.hidden_size
    assert network.leaf.cell.bias_ih.sum() == bias * network.config.hidden_size, "no other gate has a bias"
    assert not network.leaf.cell.bias_hh.any()
    assert not network.merge.of_children.bias.any()


def initialize_model(name, folder, **options):
    """Return a model from a folder with only embeddings, as `unbag models init` writes. Other weights are random."""
    made = tiny_model(name, **options)
    made.config.save_pretrained(folder)
    weights = {key: value for key, value in made.state_dict().items() if key.startswith("embeddings.")}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return AutoModelForSequenceClassification.from_pretrained(folder)


def test_g_tlstm_trained_forget_bias_is_kept_when_loaded(tmp_path):
    network = tiny_model("g-tlstm")
    network.save_pretrained(tmp_path)
    saved = load_file(tmp_path / "model.safetensors")["leaf.cell.bias_ih"]
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(loaded.leaf.cell.bias_ih, saved)
    assert not torch.equal(saved, initialize_model("g-tlstm", tmp_path / "new").leaf.cell.bias_ih)


def count_linear_parameters(inputs, outputs):
    return inputs * outputs + outputs


def count_bilstm_parameters(inputs, hidden):
    """Return the number of parameters of a BiLSTM: four gates in two directions, with both biases of torch."""
    return 2 * 4 * hidden * (inputs + hidden + 2)


@pytest.mark.parametrize(("layers", "published"), [(1, 28_352_003), (2, 28_992_803)])
def test_rse_parameters_equal_those_of_code(layers, published):
    """The default of the code has 28.35 M parameters with biases, without embeddings and the unused second layer.

    With the unused layer, it has 28.99 M, rounded to 29 M on the leaderboard.
    """
    readers = count_bilstm_parameters(300, 600) + 2 * count_bilstm_parameters(300 + 2 * 600, 600)
    classifier = (
        count_linear_parameters(8 * 600, 800)
        + (layers - 1) * count_linear_parameters(800, 800)
        + count_linear_parameters(800, 3)
    )
    assert readers + classifier == published
    assert count_parameters(ARCHITECTURES["rse"], classifier_layers=layers) == published


def test_rse_bow_has_as_many_classifier_parameters_as_rse():
    """A fully connected ReLU layer replaces each BiLSTM (Nie et al. 2019, section 3.2)."""
    readers = count_linear_parameters(300, 2 * 600) + 2 * count_linear_parameters(300 + 2 * 600, 2 * 600)
    assert count_parameters(ARCHITECTURES["rse-bow"]) == readers + count_linear_parameters(
        8 * 600, 800
    ) + count_linear_parameters(800, 3)


@pytest.mark.parametrize("compose_relations", [True, False])
@pytest.mark.parametrize("pool_relations", [True, False])
def test_kim_parameters_are_those_of_esim_and_relations(compose_relations, pool_relations):
    """With 300 units: 5 inputs for the projection and each gate, and 5 weights and a bias for pooling of two sides.

    Without pooling, as in the authors' training script, there are 4.34 M, rounded to 4.3 M on the leaderboard.
    """
    size = 300
    of_projection = RELATIONS * size
    of_composition = compose_relations * 2 * 4 * size * RELATIONS
    of_pooling = pool_relations * (count_linear_parameters(RELATIONS, 1) + 2 * 2 * size * size)
    found = count_parameters(ARCHITECTURES["kim"], compose_relations=compose_relations, pool_relations=pool_relations)
    assert found == count_parameters(ARCHITECTURES["esim"]) + of_projection + of_composition + of_pooling
    if not pool_relations:
        assert found == pytest.approx(4_300_000, rel=0.011)
