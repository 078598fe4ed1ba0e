"""Tiny models of every architecture with a small vocabulary and random lexical tables, and trees without a parser."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

import torch

from tests.inference.fixtures import PAIRS
from tests.training import tiny_networks
from tests.training.tiny_networks import WORDS
from unbag.models import ARCHITECTURES
from unbag.models.network import split_premises_and_hypotheses
from unbag.models.word_tokenizer import SPECIAL, build_word_tokenizer
from unbag.training.initialization import build_spelling_table

LABELS = torch.tensor([1, 0, 2, 2, 0, 1])
_SMALL = {
    "classifier_size": 7,
    "projected_size": 6,
    "dropout": 0.0,
    "word_dropout": 0.0,
    "length": 24,
    "character_features": 8,
    "character_size": 3,
    "block_layers": 2,
    "growth": 3,
    "blocks": 2,
    "train_embeddings": True,
}
_TAGS = 4
TEXT_VARIANTS = {
    "kim": {"compose_relations": False},
    "diin": {"transition_relu": True},
    "g-tlstm": {"scaled_scores": False, "unit_forget_bias": False},
    "rse": {"classifier_layers": 2},
    "rse-bow": {"classifier_layers": 2},
}
"""Options of the models whose paper describes another network than their authors' code computes."""


class RightBranchingParser:
    """Replaces the parser with right-branching trees, for tests that need no syntax."""

    identity = "no parser"

    def parse_trees(self, sentences):
        return [build_right_branching_tree(len(words)) for words in sentences]


def build_right_branching_tree(n):
    """Return the tree (w₀ (w₁ (w₂ …)))."""
    return [(n - 2 - k, n - 1 if k == 0 else n + k - 1) for k in range(n - 1)]


@pytest.fixture(autouse=True)
def _right_branching_trees(monkeypatch):
    """Use right-branching trees for S-TLSTM by default."""
    monkeypatch.setattr("unbag.models.s_tlstm.load_tree_parser", lambda pipeline: RightBranchingParser())


def tiny_tokenizer():
    return build_word_tokenizer(WORDS)


def build_lexical_tables():
    """Return random tables of words, and the fields of the config that describe them."""
    rng = np.random.default_rng(5)
    size = len(SPECIAL) + len(WORDS)
    tables = {
        **build_spelling_table(WORDS),
        "stem": rng.permutation(np.arange(size) // 2),
        "tag": rng.integers(0, _TAGS, size),
        "related": np.unique(rng.integers(0, size * size, 300)),
    }
    relations = len(tables["related"])
    tables["relation"] = rng.random((relations, 5)).astype(np.float32)
    config = {"spelling": tables["spelling"].shape[1], "stems": True, "tags": _TAGS, "relations": relations}
    return {name: torch.from_numpy(table) for name, table in tables.items()}, config


def tiny_model(name, *, seed=0, **options):
    """Return a random model in evaluation mode, with logits and biases of magnitude 1."""
    kind = ARCHITECTURES[name]
    tables, config = build_lexical_tables()
    config = {name: value for name, value in config.items() if name in kind.needs}
    known = {key: value for key, value in _SMALL.items() if hasattr(kind.config, key)}
    torch.manual_seed(seed)
    given = {"vocab_size": len(SPECIAL) + len(WORDS), "embedding_size": 8, "hidden_size": 6, "num_labels": 3}
    network = kind.network(kind.config(**{**given, **known, **kind.options, **config, **options}))
    network.embeddings.load_state_dict(tables, strict=False)  # those that the architecture needs
    with torch.no_grad():
        network.embeddings.table.weight.normal_()
        network.embeddings.table.weight[0] = 0
        for parameter in network.parameters():
            if parameter.ndim == 1:
                parameter.normal_(std=0.3)
        if getattr(network, "weigh", None) is not None:
            for parameter in network.weigh.parameters():
                parameter.abs_()  # a single ReLU unit would be inactive with every second seed
    return network.eval()


def encode(pairs=PAIRS):
    """Return pairs as padded tensors."""
    return tiny_networks.encode(pairs, tiny_tokenizer())


def encode_sides(network, pairs=PAIRS):
    """Return premises and hypotheses as inputs of a network."""
    return split_premises_and_hypotheses(**encode(pairs), start_token_id=network.config.bos_token_id)
