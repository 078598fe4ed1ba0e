"""Tests of networks whose published code differs from the paper: both versions, by hand and by properties."""

from math import log, sqrt

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from tests.models.tiny_models import PAIRS, TEXT_VARIANTS, encode, encode_sides, tiny_model, tiny_tokenizer
from unbag.models import ARCHITECTURES
from unbag.models.diin import TransitionLayer
from unbag.models.embeddings import RELATIONS
from unbag.models.g_tlstm import QueryScorer
from unbag.models.tree_lstm import NodeStates, TreeLstmCell
from unbag.training.initialization import build_options_class, count_parameters

CAT_AND_DOG = [("cat", "dog")]
"""A pair of two tokens a side: the one each sentence begins with, and a word."""
CAT_TO_DOG = torch.tensor([1.0, 0.0, 0.0, 0.5, 0.0])


def build_kim_with_one_relation(**options):
    """Return a KIM that relates only "cat" to "dog" and aligns only by relations.

    The encoder returns zeros, so attention scores are λ = ln 3 for the related words and 0 for all others.
    """
    network = tiny_model("kim", relation_weight=log(3), **options)
    ids = tiny_tokenizer().get_vocab()
    tables = network.embeddings
    with torch.no_grad():
        tables.related.fill_(ids["cat"] * network.config.vocab_size + ids["dog"])
        tables.relation.copy_(CAT_TO_DOG.expand_as(tables.relation))
        for parameter in network.encode.parameters():
            parameter.zero_()
    return network


def record_inputs(module, network, pairs):
    """Return the first input of each call of a module while a network reads pairs."""
    found = []
    handle = module.register_forward_pre_hook(lambda _, given: found.append(given[0].detach()))
    with torch.no_grad():
        network(**encode(pairs))
    handle.remove()
    return found


def test_kim_composition_reads_projection_and_attended_relations():
    """The cat attends to the dog with weight ¾ and to the token before it with ¼: ¾ [1, 0, 0, ½, 0]."""
    network = build_kim_with_one_relation()
    premise, hypothesis = record_inputs(network.compose, network, CAT_AND_DOG)
    expected = torch.stack([torch.zeros(RELATIONS), torch.tensor([0.75, 0, 0, 0.375, 0])])
    torch.testing.assert_close(premise[0, :, -RELATIONS:], expected)
    assert not hypothesis[0, :, -RELATIONS:].any(), "the relation of dog to cat is another one, and there is none"
    # the output of the zero encoder
    compared = torch.cat([torch.zeros(2, 8 * network.config.hidden_size), expected], dim=-1)
    torch.testing.assert_close(premise[0, :, :-RELATIONS], network.project(compared).relu())


def test_kim_text_variant_composition_reads_only_projection():
    network = build_kim_with_one_relation(**TEXT_VARIANTS["kim"])
    premise, hypothesis = record_inputs(network.compose, network, CAT_AND_DOG)
    assert premise.shape[-1] == hypothesis.shape[-1] == network.config.hidden_size


@pytest.mark.parametrize("options", [{}, TEXT_VARIANTS["kim"]])
def test_kim_relations_reach_composition_only_in_code_variant(options):
    """If the projection ignores relations, only the second input of the code variant depends on them."""
    network = build_kim_with_one_relation(pool_relations=False, **options)
    with torch.no_grad():
        network.project.weight[:, -RELATIONS:] = 0
        before = network(**encode(CAT_AND_DOG)).logits
        network.embeddings.relation.copy_(CAT_TO_DOG.flip(0).expand_as(network.embeddings.relation))
        after = network(**encode(CAT_AND_DOG)).logits
    assert torch.equal(before, after) == (options == TEXT_VARIANTS["kim"])


@pytest.mark.parametrize(("of_cat", "weights"), [(log(3), [0.25, 0.75]), (-5.0, [0.5, 0.5])])
def test_kim_pooling_weights_are_softmax_of_relu(of_cat, weights):
    """A token without relations has the score ReLU(0) = 0, as has any negative score. ln 3 has
    three times the weight.
    """
    network = build_kim_with_one_relation()
    linear, _ = network.weigh
    outputs = []
    network.compose.register_forward_hook(lambda *given: outputs.append(given[-1].outputs))
    with torch.no_grad():
        linear.weight.zero_()
        linear.weight[0, 0] = of_cat / 0.75
        linear.bias.zero_()
    [pooled] = record_inputs(network.classifier, network, CAT_AND_DOG)
    before_dog, cat = outputs[0][0]
    size = 2 * network.config.hidden_size
    expected = weights[0] * before_dog + weights[1] * cat
    torch.testing.assert_close(pooled[0, 2 * size : 3 * size], expected)


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


@pytest.mark.parametrize(("relu", "expected"), [(False, -1.0), (True, 0.0)])
def test_diin_transition_keeps_negative_values_without_relu(relu, expected):
    """The values are minus 1 to minus 4, so the maximum is −1."""
    transition = TransitionLayer(1, 1, relu=relu)
    with torch.no_grad():
        transition.convolution.weight.fill_(-1)
        transition.convolution.bias.zero_()
        found = transition(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    assert found.tolist() == [[[[expected]]]]


def test_diin_transitions_follow_config():
    for options, relu in (({}, False), (TEXT_VARIANTS["diin"], True)):
        network = tiny_model("diin", **options)
        transitions = [each for each in network.extract if isinstance(each, TransitionLayer)]
        assert len(transitions) == network.config.blocks
        assert {each.relu for each in transitions} == {relu}


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


def test_g_tlstm_trees_do_not_depend_on_score_scale():
    code, text = (tiny_model("g-tlstm", scaled_scores=scaled) for scaled in (True, False))
    side, _ = encode_sides(code)
    assert code.build_trees(side) == text.build_trees(side)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_tree_lstm_forget_bias_applies_to_both_gates(bias):
    """With weights of zero: c = σ(bias) (2 + 1) + σ(0) tanh(0), and h = ½ tanh(c)."""
    cell = TreeLstmCell(0, 1, forget_bias=bias)
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.zero_()
        left, right = (NodeStates(torch.tensor([5.0]), torch.tensor([c])) for c in (2.0, 1.0))
        h, c = cell.merge(left, right)
    expected = 3 * torch.tensor([bias]).sigmoid()
    torch.testing.assert_close(c, expected)
    torch.testing.assert_close(h, expected.tanh() / 2)


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


@pytest.mark.parametrize(("name", "options"), TEXT_VARIANTS.items())
def test_text_variants_differ_from_default_and_are_options(name, options):
    config = ARCHITECTURES[name].config
    chosen = config(**options)
    without = config.from_dict({key: value for key, value in chosen.to_dict().items() if key not in options})
    assert options
    for option, value in options.items():
        assert option in build_options_class(ARCHITECTURES[name]).__annotations__
        assert getattr(config(), option) == getattr(without, option) != value
        assert getattr(chosen, option) == value


@pytest.mark.parametrize("name", ["g-tlstm", "diin"])
def test_options_without_weights_add_no_parameters(name):
    assert count_parameters(ARCHITECTURES[name]) == count_parameters(ARCHITECTURES[name], **TEXT_VARIANTS[name])


@pytest.mark.parametrize("name", ["g-tlstm", "diin"])
def test_options_without_weights_change_logits(name):
    code, text = tiny_model(name), tiny_model(name, **TEXT_VARIANTS[name])
    text.load_state_dict(code.state_dict())
    with torch.no_grad():
        found, other = code(**encode(PAIRS)).logits, text(**encode(PAIRS)).logits
    assert (found - other).abs().max() > 1e-4
