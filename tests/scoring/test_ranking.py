"""Tests of AUROC and the break-even threshold: values worked out by hand, invariances, and scikit-learn."""

import math

import numpy as np
import pytest

from unbag.scoring.ranking import compute_auroc, compute_break_even_threshold

SCORES, POSITIVE = [0.9, 0.8, 0.3, 0.3, 0.1], [True, False, True, False, False]


def test_auroc_and_threshold_equal_hand_computed_values():
    # (positive, negative) pairs: .9 beats .8, .3, .1; .3 loses to .8, ties with .3, beats .1: (3 + 1.5) of 6.
    assert compute_auroc(SCORES, POSITIVE) == 4.5 / 6
    assert compute_break_even_threshold(SCORES, POSITIVE) == 0.8  # two positives, and two scores of at least .8


def test_area_under_curve_equals_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 20, 500), rng.random(500) < 0.3
    assert compute_auroc(scores, positive) == pytest.approx(metrics.roc_auc_score(positive, scores), abs=1e-12)


def test_one_class_has_no_auroc():
    assert compute_auroc([1.0, 2.0], [True, True]) is None
    assert compute_auroc([1.0, 2.0], [False, False]) is None
    assert compute_break_even_threshold([1.0, 2.0], [False, False]) == math.inf
    assert compute_break_even_threshold([1.0, 2.0], [True, True]) == 1.0


@pytest.mark.parametrize("change", [lambda s: 3 * s - 1, np.exp, lambda s: s**3])
def test_monotone_transformation_has_no_effect(change):
    scores, positive = np.random.default_rng(1).normal(size=50), np.arange(50) % 3 == 0
    assert compute_auroc(change(scores), positive) == compute_auroc(scores, positive)
    assert np.array_equal(
        change(scores) >= compute_break_even_threshold(change(scores), positive),
        scores >= compute_break_even_threshold(scores, positive),
    )


def test_constant_score_has_auroc_one_half():
    assert compute_auroc(np.ones(6), np.arange(6) < 2) == 0.5
    assert (np.ones(6) >= compute_break_even_threshold(np.ones(6), np.arange(6) < 2)).all()
