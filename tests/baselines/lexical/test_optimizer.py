"""Tests of L-BFGS against the dense BFGS update, and on functions with a known minimum."""

import numpy as np
import pytest

from unbag.baselines.lexical.optimizer import InverseHessian, NotConvergedError, minimize

RNG = np.random.default_rng(5)


def sample_steps_and_changes(n: int, variables: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Build random steps and the corresponding changes of the gradient of a quadratic function."""
    root = RNG.normal(size=(variables, variables))
    hessian = root @ root.T + np.eye(variables)
    steps = [RNG.normal(size=variables) for _ in range(n)]
    return [(step, (hessian @ step)) for step in steps]


def compute_dense_inverse_hessian(pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Compute the inverse Hessian by dense BFGS updates (Nocedal & Wright 2006, equation 6.17)."""
    last_step, last_change = pairs[-1]
    identity = np.eye(len(last_step))
    inverse = identity * (last_step @ last_change) / (last_change @ last_change)
    for step, change in pairs:
        rho = 1 / (step.astype(float) @ change)
        left = identity - rho * np.outer(step, change)
        inverse = left @ inverse @ left.T + rho * np.outer(step, step)
    return inverse


@pytest.mark.parametrize("n", [1, 3, 4, 9])  # four of which are stored
def test_compact_form_equals_dense_bfgs_updates(n: int) -> None:
    pairs = sample_steps_and_changes(n, 6)
    gradient = RNG.normal(size=6)
    inverse = InverseHessian(gradient, memory=4)
    for step, change in pairs:
        gradient = gradient + change
        inverse.update(step, gradient)
    expected = compute_dense_inverse_hessian(pairs[-4:]) @ gradient
    np.testing.assert_allclose(inverse.multiply_gradient(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_inverse_hessian_without_steps_is_identity() -> None:
    vector = RNG.normal(size=3)
    np.testing.assert_array_equal(InverseHessian(vector).multiply_gradient(), vector)


def test_step_of_concave_curvature_is_skipped() -> None:
    inverse = InverseHessian(np.ones(2))
    inverse.update(np.ones(2), np.full(2, 0.5))
    np.testing.assert_array_equal(inverse.multiply_gradient(), np.full(2, 0.5))


def test_minimum_of_quadratic_is_found() -> None:
    curvature = np.logspace(0, 3, 50)
    target = RNG.normal(size=50)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = curvature * (x - target)
        return float(0.5 * ((x - target) @ gradient)), gradient

    found, steps = minimize(objective, np.zeros(50), 1e-12)
    np.testing.assert_allclose(found, target, atol=1e-9)
    assert steps > 2


def test_function_without_minimum_raises() -> None:
    def linear_objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        return -float(x.sum()), -np.ones_like(x)

    with pytest.raises(NotConvergedError, match="larger l2"):
        minimize(linear_objective, np.zeros(2), 1e-4)
