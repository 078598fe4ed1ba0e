import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from unbag.baselines.lexical.regression import compute_lms, fit_softmax_regression, merge_equal_columns


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


def test_fit_is_deterministic():
    matrix, gold = _sample_data()
    first, second = fit_softmax_regression(matrix, gold, l2=1.0), fit_softmax_regression(matrix, gold, l2=1.0)
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.bias.tobytes() == second.bias.tobytes()


def test_fit_ends_at_float64_precision():
    matrix, gold = _sample_data()
    error = fit_softmax_regression(matrix, gold, l2=2.0, tolerance=1e-30).probabilities(matrix) - np.eye(3)[gold]
    assert np.abs(error.sum(axis=0)).max() < 1e-9


def test_few_pairs_are_fitted():
    """The optimizer must stop although the relative rounding error of a small loss is large."""
    for seed in range(40):
        matrix, gold = _sample_data(seed, n=3 + seed, features=120)
        model = fit_softmax_regression(matrix, gold, l2=0.3)
        error = model.probabilities(matrix) - np.eye(gold.max() + 1)[gold]
        gradient = matrix.T @ error + 0.3 * model.weights
        assert np.abs(gradient).max() < 1e-9
        assert model.steps < 500


def test_fit_without_features_predicts_label_frequencies():
    model = fit_softmax_regression(
        sparse.csr_matrix((10, 4), dtype=np.float32), np.array([0] * 5 + [1] * 3 + [2] * 2), l2=1.0
    )
    assert model.probabilities(sparse.csr_matrix((1, 4)))[0] == pytest.approx([0.5, 0.3, 0.2], abs=1e-9)


def test_lms_is_probability_of_likeliest_wrong_label():
    probabilities = np.array([[0.1, 0.3, 0.6], [0.1, 0.3, 0.6], [0.1, 0.3, 0.6]])
    assert compute_lms(probabilities, np.array([2, 1, 0])).tolist() == [0.3, 0.6, 0.6]


def test_fit_of_invalid_input_raises():
    matrix, gold = _sample_data()
    with pytest.raises(ValueError, match="got 400 rows, 399 labels"):
        fit_softmax_regression(matrix, gold[1:], l2=1.0)
    with pytest.raises(ValueError, match="l2: expected a positive number, got 0"):
        fit_softmax_regression(matrix, gold, l2=0)
