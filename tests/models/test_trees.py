"""Tests of tree-LSTMs: vectorized against node-by-node computation, parsed trees and latent trees."""

from itertools import pairwise

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification

from tests.models.conftest import (
    PAIRS,
    TEXT_VARIANTS,
    RightBranchingParser,
    build_right_branching_tree,
    encode,
    encode_sides,
    tiny_model,
    tiny_tokenizer,
)
from unbag.inference.transformer import TransformerPredictor
from unbag.models.g_tlstm import QueryScorer
from unbag.models.layers import SoftAlignment, build_comparison_features
from unbag.models.tree_lstm import NodeStates, TreeBatch, TreeLstmCell, binarize_parse
from unbag.models.trees import TreeParser

TREES = [build_right_branching_tree(5), [(0, 1), (2, 3), (4, 5)], [], [(0, 1)], [(0, 1), (3, 2)]]
LENGTHS = [5, 4, 1, 2, 3]


def check_tree(merges, leaves):
    """Check that the merges form a binary tree over the leaves."""
    taken: set[int] = set()
    for made, pair in enumerate(merges, start=leaves):
        assert all(0 <= node < made for node in pair), "merged before it exists"
        assert len({*pair} - taken) == 2, "merged twice"
        taken |= {*pair}
    assert len(merges) == leaves - 1, "several roots"


def compute_merge(cell, left, right, x):
    """Compute h and c of one node by the equations of Chen et al. 2017, section 3.1, gate by gate."""
    d = cell.hidden
    w, u = cell.of_input, cell.of_children.weight
    h = torch.cat([left[0], right[0]])
    x = w.weight @ x + w.bias

    def gate(k, of_input):  # i, o, u, f of the input and i, o, u, fL, fR of the children
        return x[of_input * d : (of_input + 1) * d] + u[k * d : (k + 1) * d] @ h

    i, o, new = gate(0, 0).sigmoid(), gate(1, 1).sigmoid(), gate(2, 2).tanh()
    f_left, f_right = gate(3, 3).sigmoid(), gate(4, 3).sigmoid()
    c = f_left * left[1] + f_right * right[1] + i * new
    return o * c.tanh(), c


def compute_leaf(cell, x):
    d = cell.hidden
    x = cell.of_input.weight @ x + cell.of_input.bias
    c = x[:d].sigmoid() * x[2 * d : 3 * d].tanh()
    return x[d : 2 * d].sigmoid() * c.tanh(), c


def compute_nodes(cell, merges, inputs, inner):
    nodes = [compute_leaf(cell, x) for x in inputs]
    for left, right in merges:
        nodes.append(compute_merge(cell, nodes[left], nodes[right], inner))
    return torch.stack([h for h, _ in nodes])


def test_states_by_level_equal_states_by_node():
    torch.manual_seed(0)
    cell = TreeLstmCell(3, 4)
    words, inner = torch.randn(5, 5, 3), torch.randn(3)
    forest = TreeBatch.from_trees(TREES, LENGTHS)
    states = forest.compute_states(cell, words, inner)
    found = forest.group_by_sentence(states)
    for row, (merges, n) in enumerate(zip(TREES, LENGTHS, strict=True)):
        expected = compute_nodes(cell, merges, words[row, :n], inner)
        torch.testing.assert_close(found[row, : 2 * n - 1], expected)
        assert not found[row, 2 * n - 1 :].any()
        torch.testing.assert_close(states[forest.roots[row]], expected[-1])
    assert len(forest.levels) == 4, "as many steps as the highest tree has levels"
    assert torch.equal(forest.flatten(found), states)


def test_s_tlstm_is_esim_over_tree_nodes():
    """Chen et al. 2017, equations 3 to 20 for tree-LSTMs, for one pair without padding."""
    network = tiny_model("s-tlstm")
    encoded = []
    for sentence, side in zip(PAIRS[0], encode_sides(network, PAIRS[:1]), strict=True):
        n = int(side.mask.sum())
        assert n == len(sentence.split()) + 1
        [merges] = network.build_trees(side, [n])
        check_tree(merges, n)
        words = network.embeddings.words.weight[side.ids[0, :n]]
        encoded.append((merges, compute_nodes(network.encode, merges, words, network.inner.vector)))
    (merges_a, a), (merges_b, b) = encoded
    e = a @ b.T
    alignment = SoftAlignment(e.softmax(dim=1), e.T.softmax(dim=1))
    pooled = []
    for merges, own, other in ((merges_a, a, alignment.premise @ b), (merges_b, b, alignment.hypothesis @ a)):
        inputs = network.project(build_comparison_features(own, other)).relu()
        nodes = [compute_leaf(network.compose, x) for x in inputs[: len(merges) + 1]]
        for x, (left, right) in zip(inputs[len(merges) + 1 :], merges, strict=True):
            nodes.append(compute_merge(network.compose, nodes[left], nodes[right], x))
        h = torch.stack([each for each, _ in nodes])
        pooled += [h.mean(dim=0), h.max(dim=0).values, h[-1]]
    expected = network.classifier(torch.cat(pooled))
    torch.testing.assert_close(network(**encode()).logits[0], expected, atol=1e-5, rtol=1e-4)


def test_parsed_words_are_in_vocabulary(monkeypatch):
    asked = []

    class RecordingParser(RightBranchingParser):
        def parse_trees(self, sentences):
            asked.extend(sentences)
            return super().parse_trees(sentences)

    monkeypatch.setattr("unbag.models.s_tlstm.load_tree_parser", lambda pipeline: RecordingParser())
    tiny_model("s-tlstm")(**encode([("The dog isn't old", "")]))
    assert asked == [["the", "dog", "is", "unknown", "old"]]


def test_parser_is_part_of_identity(tmp_path):
    for name, decided_by in (("s-tlstm", {"parser": "no parser"}), ("esim", {})):
        network = tiny_model(name, id2label={0: "entailment", 1: "neutral", 2: "contradiction"})
        network.save_pretrained(tmp_path / name)
        tiny_tokenizer().save_pretrained(tmp_path / name)
        identity = TransformerPredictor.load(tmp_path / name).identity
        assert {key: identity[key] for key in identity if key == "parser"} == decided_by


def compute_g_tlstm(network, sentence):
    """Repeatedly merge the neighbors whose parent has the highest query score (Choi et al. 2018)."""
    [side, _] = encode_sides(network, [(sentence, "")])
    cell = network.leaf.cell
    state, row = None, []
    for x in network.embeddings.words.weight[side.ids[0, : int(side.mask.sum())]]:
        state = cell(x[None], state)
        row.append(NodeStates(state[0][0], state[1][0]))
    while len(row) > 1:
        parents = [network.merge.merge(*each) for each in pairwise(row)]
        best = max(range(len(parents)), key=lambda k: (parents[k].h @ network.query.vector).item())
        row[best : best + 2] = [parents[best]]
    return row[0].h


def test_g_tlstm_merges_highest_query_score():
    network = tiny_model("g-tlstm")
    for row, (premise, _) in enumerate(PAIRS):
        side, _ = encode_sides(network)
        torch.testing.assert_close(network.encode(side)[row], compute_g_tlstm(network, premise), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_g_tlstm_merge_equals_equations(bias):
    """Choi et al. 2018: [i; f_l; f_r; o; g] of [h_l; h_r], c = f_l ⊙ c_l + f_r ⊙ c_r + i ⊙ g, h = o ⊙ tanh(c)."""
    torch.manual_seed(2)
    cell = TreeLstmCell(0, 2, forget_bias=bias)
    left, right = (NodeStates(torch.randn(2), torch.randn(2)) for _ in range(2))
    i, o, g, f_l, f_r = (cell.of_children.weight @ torch.cat([left.h, right.h]) + cell.of_children.bias).chunk(5)
    c = (f_l + bias).sigmoid() * left.c + (f_r + bias).sigmoid() * right.c + i.sigmoid() * g.tanh()
    torch.testing.assert_close(cell.merge(left, right), NodeStates(o.sigmoid() * c.tanh(), c))


@pytest.mark.parametrize("training", [False, True])
def test_g_tlstm_trees_merge_neighbors(training):
    network = tiny_model("g-tlstm").train(training)
    side, _ = encode_sides(network)
    for merges, n in zip(network.build_trees(side), side.mask.sum(dim=1).tolist(), strict=True):
        check_tree(merges, n)
        spans = [(place, place) for place in range(n)]
        for left, right in merges:
            assert spans[left][1] + 1 == spans[right][0], "not neighbours"
            spans.append((spans[left][0], spans[right][1]))
        assert spans[-1] == (0, n - 1)


@pytest.mark.parametrize(("scaled", "expected"), [(True, 4.5), (False, 9.0)])
def test_g_tlstm_query_scores_are_scaled(scaled, expected):
    """(1, 2, 2, 0) · (1, 2, 2, 7) = 9, and √4 = 2."""
    query = QueryScorer(4, scaled=scaled)
    with torch.no_grad():
        query.vector.copy_(torch.tensor([1.0, 2.0, 2.0, 0.0]))
        assert query(torch.tensor([1.0, 2.0, 2.0, 7.0])).item() == pytest.approx(expected)


@pytest.mark.parametrize(("options", "bias"), [({}, 1.0), (TEXT_VARIANTS["g-tlstm"], 0.0)])
def test_g_tlstm_forget_bias_is_in_merges_and_leaves(options, bias, tmp_path):
    """The model is read from a folder with only embeddings, as `unbag models init` writes it."""
    made = tiny_model("g-tlstm", **options)
    made.config.save_pretrained(tmp_path)
    weights = {key: value for key, value in made.state_dict().items() if key.startswith("embeddings.")}
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    network = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    _, forget, *_ = network.leaf.cell.bias_ih.chunk(4)  # torch's order: i, f, g, o
    assert network.merge.forget_bias == bias
    assert forget.tolist() == [bias] * network.config.hidden_size
    assert network.leaf.cell.bias_ih.sum() == bias * network.config.hidden_size, "no other gate has a bias"
    assert not network.leaf.cell.bias_hh.any()
    assert not network.merge.of_children.bias.any()


@pytest.mark.parametrize(
    ("heads", "tree"),
    [
        ([0], []),
        ([1, 1], [(0, 1)]),
        ([1, 2, 2], [(0, 1), (3, 2)]),  # (a dog) runs
        # ((a man) sees) (a dog); at equal distance, the left neighbor is merged first
        ([1, 2, 2, 4, 2], [(0, 1), (3, 4), (5, 2), (7, 6)]),
        ([0, 1], [(0, 1)]),  # two roots
        ([2, 3, 2, 3], [(1, 3), (2, 4), (0, 5)]),  # crossing arcs and two roots
    ],
)
def test_dependency_parse_becomes_binary_tree(heads, tree):
    check_tree(binarize_parse(heads), len(heads))
    assert binarize_parse(heads) == tree


def test_parsed_trees_are_cached(pipeline, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    long = ["a", "man", "sees", "the", "old", "dog", "."]
    sentences = [long, ["dogs"], long]
    parser = TreeParser(pipeline)
    trees = parser.parse_trees(sentences)
    for merges, words in zip(trees, sentences, strict=True):
        check_tree(merges, len(words))
    assert trees[0] == trees[2]
    assert {(0, 1), (4, 5)} <= set(trees[0])
    again = TreeParser(pipeline)
    again._nlp = None  # fails if it is called
    assert again.parse_trees(sentences) == trees
