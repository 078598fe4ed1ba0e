"""Tests of the scores of sets on a few rows: row scores, partitions, annotators, verification and contradictions."""

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import render_result, score_swapped_pairs
from unbag import challenge_sets
from unbag.challenge_sets.base import VERIFICATION
from unbag.challenge_sets.human_agreement import compute_annotator_accuracy
from unbag.challenge_sets.results import Result
from unbag.data.labels import CONTRADICTION_OR_NOT, FOUR_WAY, LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.data.sources import Example
from unbag.scoring.natural_logic import map_four_way_label
from unbag.scoring.uncertainty_partitions import merge_sparse_partitions, uncertainty_partitions
from unbag.scoring.verification import compute_verifier_scores

RESNLI = challenge_sets.get_challenge_set("resnli")


def test_order_row_score_equals_manual_example():
    # Labels 0, 1, 2. The first is right and accepted in 1 of 2 permutations, the second wrong and accepted in 2 of 2,
    # the third always wrong.
    columns = {"label": [0, 0, 0, 1, 1, 1, 2, 2, 2], "source_id": list("aaabbbccc"), "permutation": [-1, 0, 1] * 3}
    answers = build_predictions_from_labels([0, 0, 1, 0, 1, 1, 0, 0, 1])
    worth = challenge_sets.get_challenge_set("permuted").score_examples(columns, answers)
    assert worth.score.tolist() == [0.5, -1, 0]
    assert (worth.chance_score, worth.perfect_score) == (0, pytest.approx(2 / 3))


def test_metric_without_examples_is_omitted():
    swapped = challenge_sets.get_challenge_set("swapped")
    scores = score_swapped_pairs([0, 0], [0, 0], [0, 0], resamples=0)  # only entailment, so no pair is swapped
    assert swapped.list_metric_values(scores, "quoted") == []
    assert swapped.get_skill_score(scores) is None


def test_decisive_rows_of_recombined_have_documents_with_all_words():
    columns = {"k": [1, 1, 4, 4, 4], "operation": ["supported", "removed", "supported", "subject", "removed"]}
    decisive = challenge_sets.get_challenge_set("recombined").counts_for_skill(columns)
    assert decisive.tolist() == [False, False, True, True, False]


def test_annotator_accuracy_counts_only_unchanged_pairs():
    votes = {
        "a": ("neutral", ["neutral"] * 4 + ["entailment"]),
        "b": ("contradiction", ["contradiction", "neutral", "neutral"]),
        "c": ("neutral", []),
        "d": ("neutral", ["entailment"]),  # exchanged in the set
    }
    examples = [Example(name, name, "H.", gold, tuple(labels)) for name, (gold, labels) in votes.items()]
    premises = ["a", "H.", "b", "c", "H."]
    columns = {"source_id": list("aabcd"), "premise": premises, "hypothesis": ["H.", "a", "H.", "H.", "d"]}
    found = compute_annotator_accuracy(datasets.Dataset.from_dict(columns), examples)
    assert found["pairs"] == 2
    assert found["share"] == pytest.approx((4 / 5 + 1 / 3) / 2, abs=5e-5)
    assert found["low"] < found["share"] < found["high"]
    annotated = datasets.Dataset.from_dict(columns | {"annotator_labels": [[1, 0]] * 5})
    assert compute_annotator_accuracy(annotated, examples) is None, "the scores of the set report the agreement"


# Four test pairs, easiest first. Gold labels e n c e, predictions e n n c.
ROWS = datasets.Dataset.from_dict(
    {"label": [0, 1, 2, 0], "partition": [0, 1, 2, 3], "source_split": ["train", "test", "train", "validation"]}
)
PREDICTED = [0, 1, 1, 2]


def test_partitions_are_scored_with_unseen_pairs_separate():
    scores = RESNLI.score_rows(ROWS, build_predictions_from_labels(PREDICTED))
    unseen = scores.pop("unseen")
    assert scores.pop("skill") is None, "one label has not ten pairs"
    assert scores.pop("verification")["n_entailed"] == 2
    assert scores == uncertainty_partitions(PREDICTED, [0, 1, 2, 0], [0, 1, 2, 3])
    assert (scores["accuracy"].value, scores["drop"].value) == (0.5, 1.0)
    assert (unseen.value, unseen.n) == (0.5, 2)  # the second and fourth pair


@pytest.mark.parametrize("splits", [["train"] * 4, ["test"] * 4, [""] * 4])
def test_single_source_split_gives_no_unseen_score(splits):
    rows = ROWS.remove_columns("source_split").add_column("source_split", splits)
    assert "unseen" not in RESNLI.score_rows(rows, build_predictions_from_labels(PREDICTED))


# Partitions of a set with 20, by hand: the largest of 20, 10, 5, 4, 2 and 1 without an empty partition.
@pytest.mark.parametrize(
    ("drawn", "joined", "total"),
    [
        ([*range(20)] * 2, [*range(20)] * 2, 20),
        ([n for n in range(20) if n != 7], [n // 2 for n in range(20) if n != 7], 20),
        # The hardest partition is empty, and the last nonempty one must not replace it.
        ([*range(19), 18], [n // 2 for n in (*range(19), 18)], 20),
        ([0, 4, 5, 12, 19], [0, 0, 1, 2, 3], 20),
        ([3, 17], [0, 1], 20),
        ([11], [0], 20),
        ([0, 1, 2], [0, 1, 2], 3),  # a whole set of three pairs
        ([0, 1, 3], [0, 0, 0], 20),
    ],
)
def test_empty_partitions_are_joined_with_neighbors(drawn, joined, total):
    numbers, of_set = merge_sparse_partitions(np.array(drawn))
    assert (numbers.tolist(), of_set) == (joined, total)


@given(st.lists(st.integers(0, 19), min_size=1, max_size=60))
def test_joined_partitions_have_no_gap_and_keep_order(drawn):
    numbers, total = merge_sparse_partitions(np.array(drawn))
    m = numbers.max() + 1
    assert set(numbers.tolist()) == set(range(m))
    assert total % m == 0
    order = np.argsort(drawn, kind="stable")
    assert (np.diff(numbers[order]) >= 0).all()
    if set(drawn) == set(range(20)):
        assert numbers.tolist() == drawn


def test_few_examples_are_scored_in_fewer_partitions():
    drawn = [n for n in range(20) if n not in (3, 19)] * 3  # 54 examples, with two of the twenty partitions empty
    labels = [n % 3 for n in range(len(drawn))]
    rows = datasets.Dataset.from_dict({"label": labels, "partition": drawn, "source_split": ["train"] * len(drawn)})
    scores = RESNLI.score_rows(rows, build_predictions_from_labels(labels))
    assert (scores["n_partitions"], scores["set_partitions"]) == (10, 20)
    assert [row["accuracy"].n for row in scores["by_partition"]] == [6, 3, 6, 6, 6, 6, 6, 6, 6, 3]
    shown = " ".join(render_result(_build_result(scores)).split())
    assert "54 examples in 10 partitions (each joins 2 of the set's 20, since there are too few examples)" in shown
    assert "(6 and 3 pairs)" in shown
    # With 6 and 3 pairs, a drop of zero is inconclusive.
    assert "inconclusive: too few pairs" in RESNLI.summarize_result(_build_result(scores))


def _build_result(scores, **model):
    data = {"name": "snli", "split": "train+validation+test", "rows": 570_152, "excluded": {}}
    return Result("resnli", {}, {"name": "an-organisation/a-model-with-quite-a-long-name"} | model, data, scores, {})


def test_unknown_training_data_is_stated_once():
    unknown = "The model's training data are unknown and may include any of these pairs."
    scores = RESNLI.score_rows(ROWS, build_predictions_from_labels(PREDICTED))
    assert RESNLI.summarize_result(_build_result(scores)).endswith(f" {unknown}")
    assert " ".join(render_result(_build_result(scores)).split()).count(unknown) == 1  # the reading is below the table
    for known in ({"training": "stanfordnlp/snli (plain_text) train"}, {"name": "wordnet"}):
        assert unknown not in RESNLI.summarize_result(_build_result(scores, **known))


GOLD = [0, 1, 0, 2, 0, 2]
SCORES = [0.9, 0.8, 0.6, 0.4, 0.3, 0.1]
THREE = np.array([[p, 0.25 * (1 - p), 0.75 * (1 - p)] for p in SCORES])
ANSWERS = SetPredictions(THREE, LABELS, has_probabilities=True)
"""Predictions e e e c c c: the remaining probability is mostly contradiction's."""


def score_verification(answers, labels=GOLD, names=LABELS):
    ids = [f"row {number}" for number in range(len(labels))]
    rows = datasets.Dataset.from_dict({"id": ids, "source_id": ids, "label": labels})
    rows = rows.cast_column("label", datasets.ClassLabel(names=names))
    return challenge_sets.get_challenge_set("plain").score_rows(rows, answers)[VERIFICATION]


def test_three_label_scores_equal_manual_example():
    found = score_verification(ANSWERS)
    assert (found["n_entailed"], found["n_not_entailed"]) == (3, 3)
    # entailed pairs have higher scores than 3, 2 and 1 of the 3 others
    assert found["auroc"].value == pytest.approx(6 / 9)
    # precision at the three entailed pairs: 1/1, 2/3, 3/5
    assert found["average_precision"].value == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)
    assert found["false_entailment"].value == pytest.approx(1 / 3)  # the second row, of three others
    assert found["balanced_accuracy"].value == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert found["false_contradiction"].value == pytest.approx(1 / 4)  # the fifth row, of four without contradiction
    squares = [0.1**2, 0.8**2, 0.4**2, 0.4**2, 0.7**2, 0.1**2]
    assert found["calibration"]["brier"].value == pytest.approx(sum(squares) / 6)
    folded = score_verification(ANSWERS, [0, 1, 0, 1, 0, 1], TWO_WAY)
    assert (folded["auroc"], folded["false_contradiction"]) == (found["auroc"], None)


def test_unanswered_row_is_a_confident_error_of_every_measure():
    found = score_verification(ANSWERS._replace(unanswered=np.array([True, True, False, False, True, False])))
    assert found["false_entailment"].value == pytest.approx(1 / 3)
    assert found["false_contradiction"].value == pytest.approx(3 / 4)
    assert found["balanced_accuracy"].value == pytest.approx((1 / 3 + 2 / 3) / 2)
    # Scores 0, 1, .6, .4, 0, .1: the entailed row with .6 wins two pairs, the two unanswered ones none of 9 pairs.
    assert found["auroc"].value == pytest.approx(2 / 9)
    assert found["calibration"]["brier"].value == pytest.approx((1 + 1 + 0.4**2 + 0.4**2 + 1 + 0.1**2) / 6)


C, NOT_C = 0, 1  # columns of the predictions


def test_contradiction_model_has_no_verifier_scores():
    assert compute_verifier_scores(GOLD, build_detections([NOT_C] * 6), range(6)) is None


def build_detections(predicted):
    return SetPredictions(np.eye(2)[predicted], CONTRADICTION_OR_NOT, has_probabilities=True)


def compute_scores(name, predicted, **columns):
    return challenge_sets.get_challenge_set(name).score_function(columns, build_detections(predicted))


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("plain", {}),
        ("cs_lambda", {"lms": [0.1] * 4}),
        ("resnli", {"partition": [0, 0, 1, 1]}),
        ("breaking_nli", {"category": ["colors"] * 4, "premise": list("abcd")}),
        ("soswap_addamod", {"source_id": list("abcd"), "kind": ["soswap"] * 4}),
    ],
)
def test_accuracy_is_contradiction_against_rest(name, columns):
    """Gold labels e n c c: right on the first (not a contradiction) and third, wrong on the second and fourth."""
    scores = compute_scores(name, [NOT_C, C, C, NOT_C], label=[0, 1, 2, 2], **columns)
    assert (scores["subsets"][0] if name == "cs_lambda" else scores)["accuracy"].value == 0.5


def test_swapped_neutral_pairs_count_as_not_contradiction():
    """The neutral pair is right only before the swap, the contradiction both times. The entailment is excluded."""
    columns = {"label": [1, 1, 2, 2, 0], "source_id": list("nncce"), "swapped": [False, True, False, True, False]}
    scores = compute_scores("swapped", [NOT_C, C, C, C, NOT_C], **columns)
    assert (scores["accuracy_before"].value, scores["accuracy_after"].value) == (1.0, 0.5)
    assert (scores["agreement"].value, scores["n_excluded"]) == (0.5, 1)


def test_sicck_folds_labels_without_reverse_rule():
    """Gold labels: forward entailment, contradiction, neutral, each with its reverse. The last prediction is wrong."""
    folded = {label: map_four_way_label(label, build_detections([])) for label in FOUR_WAY}
    assert [label for label, into in folded.items() if into == "contradiction"] == ["contradiction"]
    columns = {
        "label": [0, 0, 2, 2, 1, 1],
        "pair": list("aabbcc"),
        "reverse": [False, True] * 3,
        "four_way": ["forward_entailment", None, "contradiction", None, "neutral", None],
    }
    scores = compute_scores("sicck", [NOT_C, C, C, NOT_C, C, NOT_C], **columns)
    assert scores["accuracy"].value == pytest.approx(2 / 3)
    assert set(scores["by_label"]) == set(CONTRADICTION_OR_NOT)


def test_permutations_are_accepted_with_folded_label():
    """One neutral pair, right in the original order. One of two permutations is predicted as contradiction."""
    columns = {"label": [1] * 3, "source_id": ["a"] * 3, "permutation": [-1, 0, 1]}
    scores = compute_scores("permuted", [NOT_C, NOT_C, C], **columns)
    assert (scores["accuracy"].value, scores["p_c"].value) == (1.0, 0.5)
