"""Tests of the fit of the lexical model: loss, optimizer and regression."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from unbag.baselines.lexical.optimizer import NotConvergedError, minimize
from unbag.baselines.lexical.regression import (
    PenalizedCrossEntropy,
    compute_lms,
    fit_softmax_regression,
    merge_equal_columns,
)

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


RNG = np.random.default_rng(5)


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


def test_merging_keeps_products_and_penalty():
    matrix, _ = _sample_data()
    merged, group, roots = merge_equal_columns(matrix)
    assert merged.shape[1] == len(roots) == 120 - 9 - 9
    per_group = np.random.default_rng(1).normal(size=len(roots))
    weights = (per_group / roots)[group]
    np.testing.assert_allclose(matrix @ weights, merged @ per_group, rtol=1e-9, atol=1e-9)
    assert (weights**2).sum() == pytest.approx((per_group**2).sum(), rel=1e-9)


def test_gradient_is_zero_at_fit():
    matrix, gold = _sample_data()
    model = fit_softmax_regression(matrix, gold, l2=2.0)
    error = model.probabilities(matrix) - np.eye(3)[gold]
    gradient = matrix.T @ error + 2.0 * model.weights
    assert np.abs(gradient).max() < 1e-10
    assert np.abs(error.sum(axis=0)).max() < 1e-10, "the bias is not penalised"


def test_few_pairs_are_fitted():
    """The optimizer must stop although the relative rounding error of a small loss is large."""
    for seed in range(40):
        matrix, gold = _sample_data(seed, n=3 + seed, features=120)
        model = fit_softmax_regression(matrix, gold, l2=0.3)
        error = model.probabilities(matrix) - np.eye(gold.max() + 1)[gold]
        gradient = matrix.T @ error + 0.3 * model.weights
        assert np.abs(gradient).max() < 1e-9
        assert model.steps < 500


def test_lms_is_probability_of_likeliest_wrong_label():
    probabilities = np.array([[0.1, 0.3, 0.6], [0.1, 0.3, 0.6], [0.1, 0.3, 0.6]])
    assert compute_lms(probabilities, np.array([2, 1, 0])).tolist() == [0.3, 0.6, 0.6]


def test_fit_of_invalid_input_raises():
    matrix, gold = _sample_data()
    with pytest.raises(ValueError, match="got 400 rows, 399 labels"):
        fit_softmax_regression(matrix, gold[1:], l2=1.0)
    with pytest.raises(ValueError, match="l2: expected a positive number, got 0"):
        fit_softmax_regression(matrix, gold, l2=0)
