import numpy as np
import pytest
from scipy import sparse

from unbag.baselines.lexical import optimizer as whitenings
from unbag.baselines.lexical.optimizer import Whitening

PENALTY = 0.01  # the second derivatives sum to 1


def _scale_columns(dense, penalty=PENALTY):
    """Scale indicators so that the second derivatives of data and penalty sum to 1."""
    columns = dense.sum(axis=0)
    return sparse.csc_matrix(dense * np.sqrt((1 - penalty) / columns), dtype=np.float64)


@pytest.fixture
def few_columns():
    """Return rows and penalties of six columns: ones, three correlated columns, and two dominated by the penalty."""
    rng = np.random.default_rng(3)
    dense = np.zeros((4000, 6))
    dense[:, 0] = 1
    dense[:, 1] = rng.random(4000) < 0.5
    dense[:, 2] = dense[:, 1] * (rng.random(4000) < 0.9)
    dense[:, 3] = dense[:, 2] * (rng.random(4000) < 0.3)
    dense[:3, 4] = 1
    dense[2:4, 5] = 1
    penalty = np.array([0, PENALTY, PENALTY, PENALTY, 0.9, 0.9], dtype=np.float64)
    return _scale_columns(dense, penalty), penalty


@pytest.fixture
def many_columns():
    """Return rows and penalties of 300 correlated columns of words and word pairs."""
    rng = np.random.default_rng(5)
    topic = rng.integers(5, size=(6000, 1))
    words = rng.random((6000, 30)) < np.where(np.arange(30) % 5 == topic, 0.5, 0.05)
    pairs = np.stack([words[:, a] & words[:, b] for a in range(30) for b in range(a)], axis=1)
    dense = np.concatenate([np.ones((6000, 1)), words, pairs], axis=1)
    dense = dense[:, np.argsort(-dense.sum(axis=0), kind="stable")[:300]]
    return _scale_columns(dense), np.full(300, PENALTY, dtype=np.float64)


def _compute_hessians(rows, penalty):
    """Compute the Hessian in terms of the weights, and in terms of the whitened variables."""
    size = rows.shape[1]
    change = Whitening(rows, penalty).to_weights(np.eye(size, dtype=np.float64)).astype(np.float64)
    hessian = (rows.T @ rows).toarray().astype(np.float64) + np.diag(penalty)
    return hessian, change @ hessian @ change.T


def test_whitened_hessian_of_frequent_columns_is_identity(few_columns):
    hessian, whitened = _compute_hessians(*few_columns)
    np.testing.assert_allclose(hessian.diagonal(), 1, rtol=1e-4)
    np.testing.assert_allclose(whitened[:4, :4], np.eye(4), atol=1e-3)


def test_other_columns_are_decorrelated_from_neighbors(many_columns, monkeypatch):
    monkeypatch.setattr(whitenings, "_EXACT", 40)
    hessian, whitened = _compute_hessians(*many_columns)
    np.testing.assert_allclose(whitened[:40, :40], np.eye(40), atol=2e-3)
    np.testing.assert_allclose(whitened.diagonal(), 1, atol=2e-3)
    assert np.linalg.cond(whitened) < np.linalg.cond(hessian) / 10


def test_every_column_is_decorrelated_from_bias(few_columns, many_columns, monkeypatch):
    hessian, whitened = _compute_hessians(*few_columns)
    assert (hessian[0, 4:] > 0.005).all()
    np.testing.assert_allclose(whitened[0], np.eye(6)[0], atol=1e-3)
    monkeypatch.setattr(whitenings, "_EXACT", 40)
    hessian, whitened = _compute_hessians(*many_columns)
    assert (hessian[0] > 0.05).all()
    np.testing.assert_allclose(whitened[0], np.eye(300)[0], atol=2e-3)


def test_factor_is_exact_for_columns_with_few_neighbors(monkeypatch):
    """For a column with fewer neighbors than `_NEAR`, the approximate factor is exact."""
    monkeypatch.setattr(whitenings, "_EXACT", 20)
    rng = np.random.default_rng(7)
    dense = np.zeros((3000, 40))
    dense[np.arange(3000), rng.integers(20, size=3000)] = 1  # twenty disjoint columns, each with a part of the rows
    dense[:, 20:] = dense[:, :20] * (rng.random((3000, 20)) < 0.5)
    _, whitened = _compute_hessians(_scale_columns(dense), np.full(40, PENALTY, dtype=np.float64))
    np.testing.assert_allclose(whitened, np.eye(40), atol=1e-3)


def test_sample_of_rows_is_nearly_as_good(many_columns, monkeypatch):
    rows, penalty = many_columns
    monkeypatch.setattr(whitenings, "_ROWS", 3000)
    hessian, whitened = _compute_hessians(rows, penalty)
    assert np.linalg.cond(whitened) < np.linalg.cond(hessian) / 10


def test_columns_dominated_by_penalty_are_not_whitened(few_columns):
    whitening = Whitening(*few_columns)
    variables = np.arange(12, dtype=np.float64).reshape(2, 6)
    weights = whitening.to_weights(variables)
    assert weights[:, 4:].tolist() == variables[:, 4:].tolist()
    assert (weights[:, 1:4] != variables[:, 1:4]).all()
    assert variables.ravel().tolist() == list(range(12)), "what is given is not changed"


def test_gradient_matches_between_weights_and_variables(few_columns):
    whitening = Whitening(*few_columns)
    rng = np.random.default_rng(0)
    step, by_weights = rng.normal(size=(2, 2, 6)).astype(np.float64)
    change = (by_weights * whitening.to_weights(step)).sum()
    assert (whitening.to_variable_gradient(by_weights.copy()) * step).sum() == pytest.approx(change, rel=1e-4)


def test_equal_columns_without_penalty_are_factored():
    column = np.repeat([[0.0], [1.0]], 50, axis=0)
    none = np.zeros(2, dtype=np.float64)
    whitening = Whitening(_scale_columns(np.hstack([column, column]), none), none)
    assert np.isfinite(whitening.to_weights(np.ones((1, 2), dtype=np.float64))).all()
