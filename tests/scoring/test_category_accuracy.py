import re

import pytest

from unbag.scoring.category_accuracy import category_accuracy

ROWS = {
    "predictions": [2, 2, 0, 1, 2, 0, 1],
    "references": [2, 2, 2, 2, 0, 0, 1],
    "category": ["colors", "colors", "drinks", "drinks", "synonyms", "synonyms", "drinks"],
    "similarity": [0.5, 1.0, 0.59, 0.95, None, None, -0.2],
    "pair_frequency": [0, 1, 4, 5, None, None, 250],
}


def _values(rows, *names):
    return [(*(row[name] for name in names), row["accuracy"].value, row["accuracy"].n) for row in rows]


def test_accuracy_by_category_and_label():
    scores = category_accuracy(**ROWS)
    assert scores["n_examples"] == 7
    assert scores["accuracy"].value == pytest.approx(4 / 7)
    assert scores["majority"] == pytest.approx(4 / 7)
    assert _values(scores["by_category"], "category") == [
        ("colors", 1.0, 2),
        ("drinks", pytest.approx(1 / 3), 3),
        ("synonyms", 0.5, 2),
    ]
    assert _values(scores["by_label"], "label") == [(0, 0.5, 2), (1, 1.0, 1), (2, 0.5, 4)]


def test_accuracy_by_similarity_and_frequency():
    scores = category_accuracy(**ROWS)
    assert _values(scores["by_similarity"], "low", "high") == [
        (-1.0, 0.5, 1.0, 1),
        (0.5, 0.6, 0.5, 2),
        (0.6, 0.7, None, 0),
        (0.7, 0.8, None, 0),
        (0.8, 0.9, None, 0),
        (0.9, 1.0, 0.5, 2),  # includes 1.0
    ]
    assert _values(scores["by_frequency"], "least", "most") == [
        (0, 0, 1.0, 1),
        (1, 4, 0.5, 2),
        (5, 9, 0.0, 1),
        (10, 49, None, 0),
        (50, 99, None, 0),
        (100, None, 1.0, 1),
    ]


def test_optional_scores_need_their_inputs():
    scores = category_accuracy([0], [0], ["colors"])
    assert not {"by_similarity", "by_frequency"} & set(scores)


def test_human_is_mean_accuracy_of_single_annotator():
    votes = [[2, 2, 2], [2, 2, 0], [0, 0, 2], [], [0, 0, 0], [0, 1, 0], [1, 1, 2]]
    scores = category_accuracy(**ROWS, annotator_labels=votes)
    assert (scores["human"].value, scores["human"].n) == (pytest.approx((3 + 2 + 1 + 3 + 2 + 2) / 3 / 6), 6)
    humans = {row["category"]: (row["human"].value, row["human"].n) for row in scores["by_category"]}
    assert humans["colors"] == (pytest.approx(5 / 6), 2)
    assert humans["drinks"] == (pytest.approx((1 / 3 + 2 / 3) / 2), 2)  # one example has no annotators
    assert [row["human"].n for row in scores["by_label"]] == [2, 1, 3]
    assert scores["kappa"]["annotators"] == 3
    assert scores["kappa"]["overall"].n == 6
    assert category_accuracy(**ROWS).keys() == scores.keys() - {"human", "kappa"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"similarity": [2.0] * 7}, "similarity: expected values from -1 to 1, got 2.0 in row 0"),
        ({"pair_frequency": [0, -3, 0, 0, 0, 0, 0]}, "pair_frequency: expected values from 0 to inf, got -3.0"),
    ],
)
def test_invalid_input_raises(change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        category_accuracy(**{**ROWS, **change})
