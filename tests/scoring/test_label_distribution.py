import re

import pytest

from unbag.scoring.label_distribution import label_distribution

E, N, C = 0, 1, 2
PREDICTIONS = [E, E, C, N, N, E]
REFERENCES = [C, C, C, C, N, N]
GROUPS = ["a", "b", "c", "d", "a", "e"]
SUBSETS = ["swap"] * 4 + ["add"] * 2


def _values(scores):
    return {name: share.value for name, share in scores["shares"].items()} | {"right": scores["accuracy"].value}


def test_all_metrics_equal_hand_computed_values():
    scores = label_distribution(PREDICTIONS, REFERENCES, GROUPS, kind=SUBSETS)
    assert scores["n_examples"] == 6
    assert _values(scores) == {"entailment": 3 / 6, "neutral": 2 / 6, "contradiction": 1 / 6, "right": 2 / 6}
    parts = scores["by_subset"]
    assert {name: part["n_examples"] for name, part in parts.items()} == {"swap": 4, "add": 2}
    assert _values(parts["swap"]) == {"entailment": 2 / 4, "neutral": 1 / 4, "contradiction": 1 / 4, "right": 1 / 4}
    assert _values(parts["add"]) == {"entailment": 1 / 2, "neutral": 1 / 2, "contradiction": 0, "right": 1 / 2}
    assert (scores["accuracy"].n, parts["swap"]["accuracy"].n, parts["add"]["accuracy"].n) == (5, 4, 2)


def test_two_label_model_has_two_proportions():
    scores = label_distribution([0, 1, 1], [1, 1, 1], ["a", "b", "c"], names=("entailment", "not_entailment"))
    assert _values(scores) == {"entailment": 1 / 3, "not_entailment": 2 / 3, "right": 2 / 3}


def test_unknown_label_is_rejected():
    words = "predictions: expected label ids from 0 to 2, got 3 in row 0"
    with pytest.raises(ValueError, match=re.escape(words)):
        label_distribution([3] * 6, REFERENCES, GROUPS)
