import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch

from tests.training.tiny_networks import LAST_LAYERS, encode, tiny_network
from unbag.training.hex import find_last_linear


@pytest.mark.parametrize(("kind", "name"), LAST_LAYERS.items())
def test_is_found_in_every_family(kind, name):
    assert find_last_linear(tiny_network(kind), encode()) == name


def test_a_layer_of_as_many_outputs_that_is_not_the_last_is_passed_over():
    network = tiny_network()
    network.classifier = torch.nn.Sequential(torch.nn.Linear(32, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    assert find_last_linear(network, encode()) == "classifier.2"


def test_logits_that_are_no_linear_layers_are_refused():
    network = tiny_network()
    network.classifier = torch.nn.Sequential(network.classifier, torch.nn.Tanh())
    with pytest.raises(ValueError, match=r"none in BertForSequenceClassification with 3 labels.*classifier.0"):
        find_last_linear(network, encode())


def test_the_network_is_left_as_it_was():
    network = tiny_network(dropout=0.5).train()
    find_last_linear(network, encode())
    assert network.training
    assert not any(module._forward_hooks for module in network.modules())
