import numpy as np
import pytest
from scipy import sparse

from unbag.lexical.whitening import Whitening

CURVATURE = 0.25
PENALTY = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0], dtype=np.float32)


@pytest.fixture
def rows():
    """Six columns of 4,000 rows: ones, three that lean on each other, and two of few rows."""
    rng = np.random.default_rng(3)
    dense = np.zeros((4000, 6), dtype=np.float32)
    dense[:, 0] = 1
    dense[:, 1] = rng.random(4000) < 0.5
    dense[:, 2] = dense[:, 1] * (rng.random(4000) < 0.9)
    dense[:, 3] = dense[:, 2] * (rng.random(4000) < 0.3)
    dense[:3, 4] = 1
    dense[2:4, 5] = 1
    return sparse.csr_matrix(dense)


def test_in_the_new_variables_the_frequent_columns_have_the_identity_for_second_derivatives(rows):
    whitening = Whitening(rows, PENALTY, CURVATURE)
    change = whitening.weights(np.eye(6, dtype=np.float32))  # row by row: the weights of each variable
    hessian = CURVATURE * (rows.T @ rows).toarray() + np.diag(PENALTY)
    np.testing.assert_allclose((change @ hessian @ change.T)[:4, :4], np.eye(4), atol=1e-3)


def test_columns_of_which_the_penalty_says_more_stay(rows):
    whitening = Whitening(rows, PENALTY, CURVATURE)
    variables = np.arange(12, dtype=np.float32).reshape(2, 6)
    weights = whitening.weights(variables)
    assert weights[:, 4:].tolist() == variables[:, 4:].tolist()
    assert (weights[:, 1:4] != variables[:, 1:4]).all()
    assert variables.ravel().tolist() == list(range(12)), "what is given is not changed"


def test_a_step_changes_a_function_by_as_much_in_either_variables(rows):
    whitening = Whitening(rows, PENALTY, CURVATURE)
    rng = np.random.default_rng(0)
    step, by_weights = rng.normal(size=(2, 2, 6)).astype(np.float32)
    change = (by_weights * whitening.weights(step)).sum()
    assert (whitening.gradient(by_weights.copy()) * step).sum() == pytest.approx(change, rel=1e-4)


def test_equal_columns_without_a_penalty_do_no_harm(rows):
    doubled = sparse.hstack([rows[:, [1]], rows[:, [1]]], format="csr")
    whitening = Whitening(doubled, np.zeros(2, dtype=np.float32), 1 / rows[:, 1].sum())
    assert np.isfinite(whitening.weights(np.ones((1, 2), dtype=np.float32))).all()
