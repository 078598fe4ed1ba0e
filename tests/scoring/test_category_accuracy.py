import random
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


def test_overall_accuracy_is_weighted_mean_of_categories():
    scores = category_accuracy(**ROWS)
    right = sum(row["accuracy"].value * row["accuracy"].n for row in scores["by_category"])
    assert right / scores["n_examples"] == pytest.approx(scores["accuracy"].value)


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


def test_missing_prediction_is_wrong():
    assert category_accuracy([-1, 2], [2, 2], ["a", "a"])["accuracy"].value == 0.5


def test_row_order_has_no_effect():
    shuffled = list(zip(*ROWS.values(), strict=True))
    random.Random(1).shuffle(shuffled)
    other = dict(zip(ROWS, map(list, zip(*shuffled, strict=True)), strict=True))
    assert other != ROWS
    assert category_accuracy(**other, resamples=0) == category_accuracy(**ROWS, resamples=0)


def test_interval_contains_value_for_any_seed():
    rows = {name: values * 30 for name, values in ROWS.items()}
    scores = category_accuracy(**rows, seed=1)
    estimate = scores["accuracy"]
    assert estimate.low < estimate.value < estimate.high
    assert category_accuracy(**rows, seed=2)["accuracy"] == estimate


def test_examples_with_same_premise_are_resampled_together():
    one = {"predictions": [0, 1] * 50, "references": [0] * 100, "category": ["a"] * 100}
    copies = {name: [value for value in values for _ in range(4)] for name, values in one.items()}
    groups = [i // 4 for i in range(400)]
    alone, together = category_accuracy(**one), category_accuracy(**copies, premise=groups)
    assert together["accuracy"].n == 400
    assert together["accuracy"][:3] == pytest.approx(alone["accuracy"][:3])  # as if each example occurred once
    assert category_accuracy(**copies)["accuracy"].low > together["accuracy"].low


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"category": ["colors"]}, "{'references': 7, 'category': 1, 'similarity': 7, 'pair_frequency': 7}"),
        ({"annotator_labels": [[0]]}, "'annotator_labels': 1}"),
        ({"similarity": [2.0] * 7}, "similarity: expected values from -1 to 1, got 2.0 in row 0"),
        ({"pair_frequency": [0, -3, 0, 0, 0, 0, 0]}, "pair_frequency: expected values from 0 to inf, got -3.0"),
        ({"references": [-1, 2, 2, 2, 0, 0, 1]}, "expected a gold label for every example, got -1 in row 0"),
    ],
)
def test_invalid_input_raises(change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        category_accuracy(**{**ROWS, **change})
