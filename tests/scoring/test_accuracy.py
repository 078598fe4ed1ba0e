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


def test_a_label_without_examples_has_no_recall():
    scores = accuracy([0, 1], [0, 0])
    assert [found.value for found in scores["by_label"]] == [0.5, None, None]
