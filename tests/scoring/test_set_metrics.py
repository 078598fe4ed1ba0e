"""Tests of the metrics of the sets cs_lambda, resnli, swapped, recombined and negation."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score

from tests.factories import score_swapped_pairs
from unbag.data.labels import LABELS
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.document_consistency import document_consistency
from unbag.scoring.negation_consistency import negation_consistency
from unbag.scoring.nested import iter_estimates
from unbag.scoring.uncertainty_partitions import uncertainty_partitions

E, N, C = 0, 1, 2
NOTHING = Estimate(None, None, None, 0)

# Six examples by hand. CS_0.5 contains the last four, CS_0.7 the last two.
CS = {
    "predictions": [E, N, C, E, N, N],
    "references": [E, N, C, C, N, C],
    "lms": [0.1, 0.49, 0.5, 0.69, 0.7, 0.9],
}
ANNOTATORS = [[E, E], [N, N, N, E, None], [C, -1], [None, -1], [N, C], [C, C, E, N]]


def _score(**options):
    return compositionality_sensitivity(**CS | {"thresholds": [0.5, 0.7]} | options)["subsets"]


def test_compositionality_sensitivity_equals_hand_computed_values():
    subsets = _score(annotator_labels=ANNOTATORS)
    names = ["lambda", "n", "accuracy", "drop", "majority", "majority_label", "human"]
    found = [[subset[name] for name in names] for subset in subsets]
    assert all(subset.keys() == set(names) for subset in subsets)
    assert [[each.value if isinstance(each, Estimate) else each for each in row] for row in found] == [
        [0.0, 6, 4 / 6, 0.0, 3 / 6, C, pytest.approx((1 + 3 / 4 + 1 + 1 / 2 + 1 / 2) / 5)],
        [0.5, 4, 2 / 4, 4 / 6 - 2 / 4, 3 / 4, C, pytest.approx((1 + 1 / 2 + 1 / 2) / 3)],
        [0.7, 2, 1 / 2, 4 / 6 - 1 / 2, 1 / 2, N, 1 / 2],  # N is as frequent as C, but has the lower id
    ]
    assert [subset["human"].n for subset in subsets] == [5, 3, 2]


def test_subset_without_examples_or_annotators_has_no_values():
    assert _score(annotator_labels=[[]] * 6)[0]["human"] == NOTHING
    assert "human" not in _score()[0]
    *_, empty = _score(thresholds=[1.0], annotator_labels=ANNOTATORS)
    assert empty == {
        "lambda": 1.0,
        "n": 0,
        "majority_label": None,
        **dict.fromkeys(("accuracy", "drop", "majority", "human"), NOTHING),
    }


def test_thresholds_are_sorted_unique_and_include_zero():
    assert [subset["lambda"] for subset in _score(thresholds=[0.7, 0, 0.5, 0.7])] == [0.0, 0.5, 0.7]
    defaults = compositionality_sensitivity([E], [E], [0.0])["subsets"]
    assert [subset["lambda"] for subset in defaults] == [0.0, 0.5, 0.6, 0.7]


def test_snli_dev_majority_and_human_equal_table_5(shared):
    """Table 5, rows 7 and 8: 88.32 and 33.82 on the whole set. The paper samples one of five labels; unbag averages
    them.
    """
    with gzip.open(shared / "data" / "snli_1.0" / "snli_1.0_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if row["gold_label"] != "-"]
    gold = [LABELS.index(row["gold_label"]) for row in rows]
    annotators = [[LABELS.index(label) for label in row["annotator_labels"] if label] for row in rows]
    scores = compositionality_sensitivity(gold, gold, np.zeros(len(gold)), annotator_labels=annotators, resamples=0)
    whole = scores["subsets"][0]
    assert whole["n"] == 9842
    assert whole["majority"].value == pytest.approx(0.3382, abs=5e-5)
    assert whole["human"].value == pytest.approx(0.883, abs=0.005)


# By hand: two entailment pairs, three neutral pairs and two contradictions.
SWAPPED = {
    "predictions": [E, N, C, C, N, C, N],
    "references": [E, N, C, N, E, C, N],
    "swapped_predictions": [N, N, N, N, E, C, E],
}


def test_swap_consistency_equals_hand_computed_values():
    scores = score_swapped_pairs(**SWAPPED)
    assert (scores["n_examples"], scores["n_excluded"]) == (7, 2)
    assert {path: estimate.value for path, estimate in iter_estimates(scores)} == {
        "accuracy_before": 4 / 5,  # all except the second neutral pair
        "accuracy_after": 3 / 5,
        "drop": 4 / 5 - 3 / 5,
        "agreement": 2 / 5,
        "by_label.neutral.accuracy_before": 2 / 3,
        "by_label.neutral.accuracy_after": 2 / 3,
        "by_label.neutral.drop": 0.0,  # one lost and one gained
        "by_label.neutral.agreement": 1 / 3,
        "by_label.contradiction.accuracy_before": 1.0,
        "by_label.contradiction.accuracy_after": 1 / 2,
        "by_label.contradiction.drop": 1 / 2,
        "by_label.contradiction.agreement": 1 / 2,
        "overall.accuracy_before": 5 / 7,
        "overall.accuracy_after": 4 / 7,  # of the entailment pairs, the first is right and the second wrong
        "overall.drop": 5 / 7 - 4 / 7,
    }
    assert (scores["drop"].n, scores["by_label"]["neutral"]["drop"].n, scores["overall"]["drop"].n) == (5, 3, 7)


def test_order_insensitive_model_has_no_drop():
    rng = np.random.default_rng(0)
    references = rng.integers(0, 3, 500)
    predictions = np.where(rng.random(500) < 0.8, references, rng.integers(0, 3, 500))
    scores = score_swapped_pairs(predictions, references, predictions)
    for part in (scores, scores["overall"], *scores["by_label"].values()):
        assert part["drop"].value == 0
        assert part["drop"].low == pytest.approx(-part["drop"].high)
        assert part["drop"].high == pytest.approx(1.959964 * 2**0.5 / (part["drop"].n + 2))
        assert part["accuracy_before"] == part["accuracy_after"]
    assert scores["agreement"].value == scores["agreement"].high == 1
    assert scores["agreement"].low == pytest.approx(0.025 ** (1 / scores["agreement"].n))


def test_swapped_entailment_and_other_label_ids_give_same_scores():
    expected = score_swapped_pairs(**SWAPPED)
    without = [-1, N, N, N, -1, C, E]  # predictions for swapped entailment pairs are ignored
    assert score_swapped_pairs(**SWAPPED | {"swapped_predictions": without}) == expected
    recoded = {name: [{E: 1, N: 2, C: 0}[label] for label in labels] for name, labels in SWAPPED.items()}
    assert score_swapped_pairs(**recoded, neutral=2, contradiction=0) == expected


def test_scores_without_examples_are_none():
    scores = score_swapped_pairs([E, N], [E, N], [E, N])
    assert set(scores["by_label"]["contradiction"].values()) == {NOTHING}
    scores = score_swapped_pairs([E, N], [E, E], [E, N])
    assert {scores[name] for name in ("accuracy_before", "accuracy_after", "drop", "agreement")} == {NOTHING}
    assert scores["n_excluded"] == 2
    assert scores["overall"]["accuracy_before"].value == 0.5


def test_two_missing_predictions_do_not_agree():
    assert score_swapped_pairs([-1, N, C], [N, N, C], [-1, N, N])["agreement"].value == pytest.approx(1 / 3)


# Three partitions by hand: 2 of 2, 1 of 3 and 2 of 4 right.
PARTITIONED = {"predictions": [0, 1, 0, 2, 1, 0, 2, 2, 1], "references": [0, 1, 0, 1, 2, 0, 1, 2, 2]}


def test_uncertainty_partitions_equal_hand_computed_values():
    scores = uncertainty_partitions(**PARTITIONED, partition=[0, 0, 1, 1, 1, 2, 2, 2, 2])
    assert scores["accuracy"].value == 5 / 9
    assert [(row["partition"], row["accuracy"].value, row["accuracy"].n) for row in scores["by_partition"]] == [
        (0, 1.0, 2),
        (1, 1 / 3, 3),
        (2, 1 / 2, 4),
    ]
    assert scores["easiest"] == scores["by_partition"][0]["accuracy"]
    assert scores["hardest"] == scores["by_partition"][2]["accuracy"]
    assert (scores["drop"].value, scores["drop"].n) == (1 / 2, 2)
    # Ranks 1 2 3 and 3 1 2: 1 - 6 (4 + 1 + 1) / (3 · 8).
    assert scores["rank_correlation"] == pytest.approx(-0.5)
    assert (scores["n_examples"], scores["n_partitions"]) == (9, 3)


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlation_equals_scipy(seed):
    rng = np.random.default_rng(seed)
    partitions, references = np.arange(120) % 20, rng.integers(0, 3, 120)
    predictions = np.where(rng.random(120) > partitions / 20, references, (references + 1) % 3)
    scores = uncertainty_partitions(predictions, references, partitions, resamples=0)
    accuracies = [row["accuracy"].value for row in scores["by_partition"]]
    assert len(set(accuracies)) < len(accuracies), "no ties, so this test would not show how they are treated"
    expected = stats.spearmanr(np.arange(20), accuracies).statistic
    assert scores["rank_correlation"] == pytest.approx(expected, abs=1e-12)


def test_perfect_model_has_no_rank_correlation():
    references = np.arange(600) % 3
    scores = uncertainty_partitions(references, references, np.arange(600) // 30)
    assert {(row["accuracy"].value, row["accuracy"].high) for row in scores["by_partition"]} == {(1.0, 1.0)}
    assert scores["by_partition"][0]["accuracy"].low == pytest.approx(0.025 ** (1 / 30))
    assert scores["drop"].value == 0
    assert scores["drop"].low < 0 < scores["drop"].high
    assert scores["rank_correlation"] is None


def test_single_partition_equals_whole_set():
    scores = uncertainty_partitions(**PARTITIONED, partition=[0] * 9)
    assert scores["easiest"] == scores["hardest"] == scores["accuracy"]
    assert scores["rank_correlation"] is None


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
