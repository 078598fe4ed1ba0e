"""Tests of the fit of the lexical model: loss, optimizer and regression."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from unbag.baselines.lexical.optimizer import NotConvergedError, minimize
from unbag.baselines.lexical.regression import fit_softmax_regression


def test_function_without_minimum_raises() -> None:
    def linear_objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        return -float(x.sum()), -np.ones_like(x)

    with pytest.raises(NotConvergedError, match="larger l2"):
        minimize(linear_objective, np.zeros(2), 1e-4)


def _sample_data(seed=0, n=400, features=120, labels=3):
    rng = np.random.default_rng(seed)
    matrix = (rng.random((n, features)) < rng.random(features) * 0.2).astype(np.float32)
    matrix[:, 50:60] = matrix[:, [50]]  # identical columns, which are merged
    matrix[:, 60:70] = 0  # empty columns
    truth = rng.normal(size=(features, labels))
    gold = (matrix @ truth + rng.gumbel(size=(n, labels))).argmax(axis=1)
    return sparse.csr_matrix(matrix), gold


@pytest.mark.parametrize("l2", [0.3, 1.0, 10.0])
def test_probabilities_equal_scikit_learn(l2):
    matrix, gold = _sample_data()
    ours = fit_softmax_regression(matrix, gold, l2=l2).probabilities(matrix)
    theirs = (
        LogisticRegression(C=1 / l2, tol=1e-10, max_iter=5000)
        .fit(matrix.astype(np.float64), gold)
        .predict_proba(matrix)
    )
    assert np.abs(ours - theirs).max() < 1e-6


def test_equal_columns_have_equal_weights():
    matrix, gold = _sample_data()
    weights = fit_softmax_regression(matrix, gold, l2=1.0).weights
    assert (weights[50:60] == weights[50]).all()
    assert not weights[60:70].any()
    assert weights[50].any()


def test_few_pairs_are_fitted():
    """The optimizer must stop although the relative rounding error of a small loss is large."""
    for seed in range(40):
        matrix, gold = _sample_data(seed, n=3 + seed, features=120)
        model = fit_softmax_regression(matrix, gold, l2=0.3)
        error = model.probabilities(matrix) - np.eye(gold.max() + 1)[gold]
        gradient = matrix.T @ error + 0.3 * model.weights
        assert np.abs(gradient).max() < 1e-9
        assert model.steps < 500


def test_fit_of_invalid_input_raises():
    matrix, gold = _sample_data()
    with pytest.raises(ValueError, match="got 400 rows, 399 labels"):
        fit_softmax_regression(matrix, gold[1:], l2=1.0)
    with pytest.raises(ValueError, match="l2: expected a positive number, got 0"):
        fit_softmax_regression(matrix, gold, l2=0)
