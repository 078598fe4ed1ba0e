"""Tests of accuracy, rank correlation and BLEU."""

import math
import warnings

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, recall_score, roc_auc_score

from unbag.challenge_sets.perturbations.permutation import compute_reordering_bleu
from unbag.scoring.accuracy import accuracy
from unbag.scoring.ranking import compute_auroc, compute_break_even_threshold


def test_accuracy_and_recalls_equal_scikit_learn():
    rng = np.random.default_rng(4)
    gold, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    scores = accuracy(predicted, gold)
    assert scores["accuracy"].value == pytest.approx(accuracy_score(gold, predicted))
    recalls = [found.value for found in scores["by_label"]]
    assert recalls == pytest.approx(recall_score(gold, predicted, average=None).tolist())
    assert scores["majority"] == pytest.approx(np.bincount(gold).max() / 200)


def test_label_without_examples_has_no_recall():
    scores = accuracy([0, 1], [0, 0])
    assert [found.value for found in scores["by_label"]] == [0.5, None, None]


SCORES, POSITIVE = [0.9, 0.8, 0.3, 0.3, 0.1], [True, False, True, False, False]


def test_auroc_and_threshold_equal_hand_computed_values():
    # (positive, negative) pairs: .9 beats .8, .3, .1; .3 loses to .8, ties with .3, beats .1: (3 + 1.5) of 6.
    assert compute_auroc(SCORES, POSITIVE) == 4.5 / 6
    assert compute_break_even_threshold(SCORES, POSITIVE) == 0.8  # two positives, and two scores of at least .8


def test_area_under_curve_equals_scikit_learn():
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 20, 500), rng.random(500) < 0.3
    assert compute_auroc(scores, positive) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


def test_one_class_has_no_auroc():
    assert compute_auroc([1.0, 2.0], [True, True]) is None
    assert compute_auroc([1.0, 2.0], [False, False]) is None
    assert compute_break_even_threshold([1.0, 2.0], [False, False]) == math.inf
    assert compute_break_even_threshold([1.0, 2.0], [True, True]) == 1.0


def test_constant_score_has_auroc_one_half():
    assert compute_auroc(np.ones(6), np.arange(6) < 2) == 0.5
    assert (np.ones(6) >= compute_break_even_threshold(np.ones(6), np.arange(6) < 2)).all()


def test_bleu_equals_nltk():
    """Compared with NLTK's unsmoothed sentence BLEU where all n-gram lengths have a match."""
    from nltk.translate.bleu_score import sentence_bleu

    rng = np.random.default_rng(0)
    compared = 0
    for length in (4, 7, 12, 30):
        original = rng.integers(0, length // 2, length)  # with repeated words, so that counts are clipped
        blocks = np.array_split(original, 3)
        rows = np.array([np.concatenate([blocks[i] for i in rng.permutation(3)]) for _ in range(20)])
        ours = compute_reordering_bleu(original.tolist(), rows, [2, 3, 4])
        for row, values in zip(rows.tolist(), ours, strict=True):
            for n, value in zip((2, 3, 4), values, strict=True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # NLTK warns about a precision of 0
                    theirs = sentence_bleu([original.tolist()], row, weights=[1 / n] * n)
                assert value == pytest.approx(theirs, abs=1e-9)
                compared += value > 0
    assert compared > 100


def test_sentence_shorter_than_n_has_bleu_zero():
    assert compute_reordering_bleu([0, 1, 2], np.array([[0, 1, 2]]), [3, 4]).tolist() == [[1, 0]]


def test_bleu_counts_are_clipped():
    # The bigrams of 0 0 0 1 0 are 00 00 01 10, those of 0 1 0 0 0 are 01 10 00 00. All four match.
    assert compute_reordering_bleu([0, 0, 0, 1, 0], np.array([[0, 1, 0, 0, 0]]), [2])[0, 0] == 1
    # The bigrams of 1 0 0 0 0 are 10 00 00 00. The reference has 00 twice, so three of four match.
    assert compute_reordering_bleu([0, 0, 0, 1, 0], np.array([[1, 0, 0, 0, 0]]), [2])[0, 0] == pytest.approx(0.75**0.5)
