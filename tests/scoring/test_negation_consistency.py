import pytest

from unbag.scoring.negation_consistency import negation_consistency

GOLD = [0, 1, 0, 1, 1, 0]
SOURCE = list("aaaabb")
MIRROR = list("xxyyzz")
OPERATION = ["restated", "restated", "hypernym", "hypernym", "restated", "restated"]


def test_negation_consistency_equals_hand_computed_values():
    scores = negation_consistency([0, 2, 0, 0, 0, 0], GOLD, SOURCE, MIRROR, OPERATION)
    assert scores["accuracy"].value == pytest.approx(4 / 6)
    assert scores["false_entailment_rate"].value == pytest.approx(2 / 3)
    assert scores["mirror_consistency"].value == pytest.approx(1 / 3)
    restated, hypernym = scores["by_operation"]
    assert (restated["operation"], hypernym["operation"]) == ("restated", "hypernym")
    assert restated["mirror_consistency"].value == 0.5
    assert hypernym["accuracy"].value == 0.5
    assert hypernym["mirror_consistency"].value == 0
    assert (scores["n_examples"], scores["n_mirrors"]) == (6, 3)


@pytest.mark.parametrize("label", [0, 1, 2])
def test_constant_prediction_has_no_mirror_right(label):
    assert negation_consistency([label] * 6, GOLD, SOURCE, MIRROR, OPERATION)["mirror_consistency"].value == 0


def test_missing_predictions_are_wrong_for_every_metric():
    scores = negation_consistency([-1] * 6, GOLD, SOURCE, MIRROR, OPERATION)
    assert scores["accuracy"].value == scores["mirror_consistency"].value == 0
    assert scores["false_entailment_rate"].value == 1


def test_any_label_except_entailment_scores_the_same():
    two, three = ([other if label else 0 for label in GOLD] for other in (1, 2))
    assert negation_consistency(two, GOLD, SOURCE, MIRROR, OPERATION) == negation_consistency(
        three, GOLD, SOURCE, MIRROR, OPERATION
    )


def test_row_order_has_no_effect():
    predicted, order = [0, 2, 0, 0, 0, 0], [5, 0, 3, 1, 4, 2]
    expected = negation_consistency(predicted, GOLD, SOURCE, MIRROR, OPERATION)
    columns = ([column[i] for i in order] for column in (predicted, GOLD, SOURCE, MIRROR, OPERATION))
    scores = negation_consistency(*columns)
    for name in ("accuracy", "false_entailment_rate", "mirror_consistency"):
        assert scores[name].value == pytest.approx(expected[name].value)


def test_columns_of_other_length_raise():
    with pytest.raises(ValueError, match="columns of equal length"):
        negation_consistency([0], [0], ["a", "b"], ["x"], ["restated"])
