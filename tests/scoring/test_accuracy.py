import numpy as np
import pytest
from sklearn.metrics import accuracy_score, recall_score

from unbag.scoring.accuracy import accuracy


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


def test_accuracy_interval_counts_documents():
    """Four pairs with one outcome count as one pair: the design effect is 4, and the interval is twice as wide."""
    right = np.random.default_rng(5).integers(0, 2, 100)
    pairs, documents = np.repeat(right, 4), np.repeat(np.arange(100), 4)
    apart = accuracy(pairs, np.ones(400, dtype=int))["accuracy"]
    together = accuracy(pairs, np.ones(400, dtype=int), documents)["accuracy"]
    of_documents = accuracy(right, np.ones(100, dtype=int))["accuracy"]
    assert together.value == apart.value
    assert together.n == apart.n == 400
    assert (together.low, together.high) == pytest.approx((of_documents.low, of_documents.high), abs=0.005)
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(2, abs=0.1)


def test_accuracy_with_one_source_per_example_equals_default():
    rng = np.random.default_rng(6)
    gold, predicted = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    assert accuracy(predicted, gold, [f"s{i}" for i in range(80)]) == accuracy(predicted, gold)


def test_accuracy_with_sources_of_other_length_is_rejected():
    with pytest.raises(ValueError, match=r"accuracy: expected columns of equal length, got .*'source_id': 1"):
        accuracy([0, 1], [0, 1], ["a"])
