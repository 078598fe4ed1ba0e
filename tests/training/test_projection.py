"""Tests of the last linear layer and the projection."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")
pytest.importorskip("transformers", reason="needs unbag[models]")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.tiny_networks import LAST_LAYERS, encode, tiny_network
from unbag.training.hex import find_last_linear, project_out

DEGENERATE = {
    "zero": lambda f_g: f_g * 0,
    "one column thrice": lambda f_g: f_g[:, :1].repeat(1, 3),
    "two columns alike": lambda f_g: torch.stack([f_g[:, 0], f_g[:, 1], f_g[:, 0] - 2 * f_g[:, 1]], dim=1),
    "nearly collinear": lambda f_g: f_g[:, :1] + 1e-7 * f_g,
    "constant": lambda f_g: torch.ones_like(f_g),
    "one row": lambda f_g: f_g[:1],
    "two rows": lambda f_g: f_g[:2],
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


@given(seed=st.integers(0, 10_000), b=st.integers(8, 64), scale=st.sampled_from([1e-3, 1.0, 1e4]))
@settings(max_examples=30)
def test_residual_is_orthogonal_to_removed_part(seed, b, scale):
    f_b, f_g = sample_outputs(seed, b)
    left = project_out(f_b, scale * f_g)
    assert left.norm() > 0.1, "nothing is left, so this test would show nothing"
    cosines = (f_g.T @ left) / (f_g.norm(dim=0)[:, None] * f_b.norm(dim=0))
    assert cosines.abs().max() < 1e-5


@given(seed=st.integers(0, 10_000), weak=st.floats(0, 1))
@settings(max_examples=30)
def test_projection_equals_ridge_rule_by_svd(seed, weak):
    f_b, f_g = sample_outputs(seed)
    f_g[:, 2] = f_g[:, 0] + weak**4 * f_g[:, 2]  # from independent to collinear
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
