from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from unbag.baselines.lexical.regression import PenalizedCrossEntropy

CONTRASTS = np.array([[1.0, 0.5], [-1.0, 0.5], [0.0, -1.0]], dtype=np.float64)


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    entries = np.arange(50)[:, None] < [50, 40, 30, 25, 20, 10, 5, 2]
    columns = sparse.csc_matrix(np.where(rng.permuted(entries, axis=0), rng.random((50, 8)), 0), dtype=np.float64)
    labels = rng.integers(0, 3, size=50)
    penalty = rng.random(8).astype(np.float64)
    return columns, labels, penalty, rng.normal(size=(2, 8)).astype(np.float64)


def _value_and_gradient(columns, labels, penalty, weights):
    with ThreadPoolExecutor(2) as pool:
        return PenalizedCrossEntropy(columns, labels, CONTRASTS, penalty, pool)(weights)


def test_value_and_gradient_equal_formula(problem):
    columns, labels, penalty, weights = problem
    dense, double = columns.toarray().astype(np.float64), weights.astype(np.float64)
    logits = dense @ double.T @ CONTRASTS.T
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    value, gradient = _value_and_gradient(*problem)
    expected = -np.log(probabilities[np.arange(50), labels]).sum() + 0.5 * (penalty * double**2).sum()
    assert value == pytest.approx(expected, rel=1e-6)
    by_weights = CONTRASTS.T @ (probabilities - np.eye(3)[labels]).T @ dense + penalty * double
    np.testing.assert_allclose(gradient, by_weights, rtol=1e-4, atol=1e-5)


def test_block_size_changes_only_rounding(problem, monkeypatch):
    value, gradient = _value_and_gradient(*problem)
    monkeypatch.setattr("unbag.baselines.lexical.regression._LOGITS", 7)
    monkeypatch.setattr("unbag.baselines.lexical.regression._PIECE", 11)
    # only four of eight columns have more entries
    monkeypatch.setattr("unbag.baselines.lexical.regression._FREQUENT", 20)
    in_pieces, same = _value_and_gradient(*problem)
    assert in_pieces == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(same, gradient, rtol=1e-6, atol=1e-7)
