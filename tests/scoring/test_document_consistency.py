"""Tests of the metrics of the sets of written text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from unbag.scoring.document_consistency import document_consistency
from unbag.scoring.negation_consistency import negation_consistency

MEASURES = ("balanced_accuracy", "false_entailment_rate", "paired_accuracy")


def _rows(claims=3, sizes=(1, 4, 16), operations=("subject", "number")):
    """Return the columns of claims with one document of each size, and its supported, exchanged and removed rows."""
    rows = [
        (f"c{claim}", f"c{claim}#{k}", k, (3 * claim + k) % k, operation)
        for claim in range(claims)
        for k in sizes
        for operation in ("supported", *(operations if k > 1 else ()), "removed")
    ]
    names = ("source_id", "group", "k", "position", "operation")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return columns | {"references": [0 if each == "supported" else 1 for each in columns["operation"]]}


def _values(scores):
    return tuple(scores[name].value for name in MEASURES)


def test_document_consistency_equals_hand_computed_values():
    """Two documents of one claim. The first is all right; in the second, one of two exchanged claims is predicted
    entailed.
    """
    scores = document_consistency(
        predictions=[0, 1, 0, 0, 1, 1],
        references=[0, 1, 0, 1, 1, 1],
        source_id=["a"] * 6,
        group=["a1", "a1", "a4", "a4", "a4", "a4"],
        k=[1, 1, 4, 4, 4, 4],
        position=[0, 0, 3, 3, 3, 3],
        operation=["supported", "removed", "supported", "subject", "number", "removed"],
        resamples=0,
    )
    assert (scores["n_examples"], scores["n_groups"]) == (6, 2)
    assert _values(scores) == pytest.approx(((1 + 3 / 4) / 2, 1 / 4, 1 / 2))
    by_k = {row["k"]: _values(row) for row in scores["by_k"]}
    assert by_k[1] == (1.0, 0.0, 1.0)
    assert by_k[4] == pytest.approx(((1 + 2 / 3) / 2, 1 / 3, 0))
    by_operation = {row["operation"]: _values(row) for row in scores["by_operation"]}
    assert list(by_operation) == ["removed", "subject", "number"]
    assert by_operation["removed"] == (1.0, 0.0, 1.0)
    assert by_operation["subject"] == (0.5, 1.0, 0.0)
    assert by_operation["number"] == (1.0, 0.0, 1.0)
    [end] = scores["by_position"]
    assert end["third"] == "end"
    assert _values(end) == by_k[4]


@pytest.mark.parametrize(
    ("k", "thirds"),
    [
        (3, ["start", "middle", "end"]),
        (4, ["start", "middle", "middle", "end"]),
        (6, ["start", "start", "middle", "middle", "end", "end"]),
    ],
)
def test_position_thirds_are_symmetric(k, thirds):
    columns = {"source_id": list("ab"), "group": list("ab"), "k": [k, k], "operation": ["supported", "removed"]}
    found = [
        document_consistency([0, 1], [0, 1], position=[place, place], resamples=0, **columns)["by_position"][0]["third"]
        for place in range(k)
    ]
    assert found == thirds


def test_claim_only_model_gets_no_document_right():
    """The claim is the same in the supported document and in the one without evidence."""
    columns = _rows()
    says = [0 if each in ("supported", "removed") else 1 for each in columns["operation"]]
    scores = document_consistency(says, **columns, resamples=0)
    assert scores["paired_accuracy"].value == 0
    assert {row["operation"]: row["paired_accuracy"].value for row in scores["by_operation"]}["subject"] == 1


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=30, max_size=30))
def test_balanced_accuracy_equals_scikit_learn(predictions):
    columns = _rows()
    n = len(columns["references"])
    predictions = (predictions * n)[:n]
    scores = document_consistency(predictions, **columns, resamples=0)
    folded = [min(label, 1) for label in predictions]
    assert scores["balanced_accuracy"].value == pytest.approx(balanced_accuracy_score(columns["references"], folded))
    false_positives = np.mean([p == 0 for p, gold in zip(folded, columns["references"], strict=True) if gold])
    assert scores["false_entailment_rate"].value == pytest.approx(false_positives)


def test_group_without_entailed_row_is_excluded_from_paired_accuracy():
    columns = {name: values[1:] for name, values in _rows(claims=1, sizes=(4,)).items()}
    scores = document_consistency([1] * len(columns["references"]), **columns)
    assert scores["paired_accuracy"].n == 0
    assert scores["paired_accuracy"].value is None
    assert scores["balanced_accuracy"].value is None
    assert scores["false_entailment_rate"].value == 0


def test_other_entailment_id_gives_same_scores():
    columns = _rows()
    says = [0 if row % 3 else 1 for row in range(len(columns["references"]))]
    first = document_consistency(says, **columns, resamples=0)
    columns["references"] = [1 - label for label in columns["references"]]
    second = document_consistency([1 - label for label in says], **columns, entailment=1, resamples=0)
    assert _values(first) == _values(second)


GOLD = [0, 1, 0, 1, 1, 0]
MIRRORS = {
    "source_id": list("aaaabb"),
    "mirror": list("xxyyzz"),
    "operation": ["restated", "restated", "hypernym", "hypernym", "restated", "restated"],
}


def test_negation_consistency_equals_hand_computed_values():
    scores = negation_consistency([0, 2, 0, 0, 0, 0], GOLD, **MIRRORS)
    assert scores["accuracy"].value == pytest.approx(4 / 6)
    assert scores["false_entailment_rate"].value == pytest.approx(2 / 3)
    assert scores["mirror_consistency"].value == pytest.approx(1 / 3)
    restated, hypernym = scores["by_operation"]
    assert (restated["operation"], hypernym["operation"]) == ("restated", "hypernym")
    assert restated["mirror_consistency"].value == 0.5
    assert hypernym["accuracy"].value == 0.5
    assert hypernym["mirror_consistency"].value == 0
    assert (scores["n_examples"], scores["n_mirrors"]) == (6, 3)


def test_any_label_except_entailment_scores_the_same():
    one, two = ([other if label else 0 for label in [0, 1, 1, 0, 1, 0]] for other in (1, 2))
    scores = negation_consistency(one, GOLD, **MIRRORS)
    assert scores["accuracy"].value == pytest.approx(4 / 6)
    assert negation_consistency(two, GOLD, **MIRRORS) == scores
    exchanged, references = ([1 - label for label in labels] for labels in (one, GOLD))
    assert negation_consistency(exchanged, references, **MIRRORS, entailment=1) == scores
