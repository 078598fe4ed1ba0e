import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch

from tests.training.tiny_networks import LAST_LAYERS, encode, tiny_network
from unbag.training.hex import find_last_linear


@pytest.mark.parametrize(("kind", "name"), LAST_LAYERS.items())
def test_last_linear_is_found_in_every_family(kind, name):
    assert find_last_linear(tiny_network(kind), encode()) == name


def test_earlier_layer_of_same_size_is_skipped():
    network = tiny_network()
    network.classifier = torch.nn.Sequential(torch.nn.Linear(32, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    assert find_last_linear(network, encode()) == "classifier.2"


def test_nonlinear_logits_are_rejected():
    network = tiny_network()
    network.classifier = torch.nn.Sequential(network.classifier, torch.nn.Tanh())
    with pytest.raises(ValueError, match=r"got BertForSequenceClassification with 3 labels.*classifier.0"):
        find_last_linear(network, encode())


def test_network_is_unchanged():
    network = tiny_network(dropout=0.5).train()
    find_last_linear(network, encode())
    assert network.training
    assert not any(module._forward_hooks for module in network.modules())
