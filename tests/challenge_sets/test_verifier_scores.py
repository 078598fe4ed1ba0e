"""Tests of verification scores on the rows of a set, and of the scores of models that only detect contradictions."""

import datasets
import numpy as np
import pytest

from unbag import challenge_sets
from unbag.challenge_sets.base import SKILL, VERIFICATION, VERIFIER
from unbag.data.labels import CONTRADICTION_OR_NOT, FOUR_WAY, LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.inference.single_output import apply_threshold
from unbag.scoring.natural_logic import map_four_way_label
from unbag.scoring.nested import iter_estimates
from unbag.scoring.verification import compute_verifier_scores

GOLD = [0, 1, 0, 2, 0, 2]
SCORES = [0.9, 0.8, 0.6, 0.4, 0.3, 0.1]
THREE = np.array([[p, 0.25 * (1 - p), 0.75 * (1 - p)] for p in SCORES])
"""Predictions e e e c c c: the remaining probability is mostly contradiction's."""
LIMITED = ("plain", "breaking_nli", "cs_lambda", "resnli", "recombined", "negation")


def build_rows(labels=GOLD, names=LABELS):
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "source_id": datasets.Value("string"),
            "label": datasets.ClassLabel(names=names),
        }
    )
    ids = [f"row {number}" for number in range(len(labels))]
    return datasets.Dataset.from_dict({"id": ids, "source_id": ids, "label": labels}, features=features)


def score_predictions(answers, rows=None, **options):
    return challenge_sets.get_challenge_set("plain").score_rows(
        build_rows() if rows is None else rows, answers, **options
    )[VERIFICATION]


def test_three_label_scores_equal_manual_example():
    found = score_predictions(SetPredictions(THREE, LABELS, has_probabilities=True))
    assert (found["n_entailed"], found["n_not_entailed"]) == (3, 3)
    # entailed pairs have higher scores than 3, 2 and 1 of the 3 others
    assert found["auroc"].value == pytest.approx(6 / 9)
    assert found["false_entailment"].value == pytest.approx(1 / 3)  # the second row, of three others
    assert found["balanced_accuracy"].value == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert found["false_contradiction"].value == pytest.approx(1 / 4)  # the fifth row, of four without contradiction
    squares = [0.1**2, 0.8**2, 0.4**2, 0.4**2, 0.7**2, 0.1**2]
    assert found["calibration"]["brier"].value == pytest.approx(sum(squares) / 6)


def test_unanswered_row_is_a_confident_error_of_every_measure():
    unanswered = np.array([True, True, False, False, True, False])
    found = score_predictions(SetPredictions(THREE, LABELS, has_probabilities=True, unanswered=unanswered))
    assert found["false_entailment"].value == pytest.approx(1 / 3)
    assert found["false_contradiction"].value == pytest.approx(3 / 4)
    assert found["balanced_accuracy"].value == pytest.approx((1 / 3 + 2 / 3) / 2)
    # Scores 0, 1, .6, .4, 0, .1: the entailed row with .6 wins two pairs, the two unanswered ones none of 9 pairs.
    assert found["auroc"].value == pytest.approx(2 / 9)
    assert found["calibration"]["brier"].value == pytest.approx((1 + 1 + 0.4**2 + 0.4**2 + 1 + 0.1**2) / 6)


def test_two_way_gold_folds_three_labels():
    found = score_predictions(
        SetPredictions(THREE, LABELS, has_probabilities=True), build_rows([0, 1, 0, 1, 0, 1], TWO_WAY)
    )
    assert found["auroc"].value == pytest.approx(6 / 9)
    assert found["false_contradiction"] is None


def test_contradiction_model_has_no_verifier_scores():
    answers = SetPredictions(np.full((6, 2), 0.5), CONTRADICTION_OR_NOT, has_probabilities=True)
    assert compute_verifier_scores(GOLD, answers, range(6)) is None


@pytest.mark.parametrize("threshold", [0.25, 0.6, "break-even"])
def test_threshold_decides_and_keeps_probabilities(threshold):
    answers = SetPredictions(THREE, LABELS, has_probabilities=True)
    decided, _, _ = apply_threshold(answers, GOLD, threshold)
    found = score_predictions(decided)
    called = [score >= (0.6 if threshold == "break-even" else threshold) for score in SCORES]
    assert found["false_entailment"].value == pytest.approx(sum(called[row] for row in (1, 3, 5)) / 3)
    assert found["recall"].value == pytest.approx(sum(called[row] for row in (0, 2, 4)) / 3)
    assert [row["threshold"] for row in found["thresholds"]] == pytest.approx(SCORES)
    assert found["auroc"] == score_predictions(answers)["auroc"]


def test_has_verification_requires_labels_of_shown_pairs():
    assert {
        each for each in challenge_sets.list_set_names() if challenge_sets.get_challenge_set(each).has_verification
    } == set(LIMITED)


def test_verification_samples_use_examples_of_set():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 300)
    probabilities = rng.dirichlet((1, 1, 1), 300)
    answers = SetPredictions(probabilities, LABELS, has_probabilities=True)
    scores = challenge_sets.get_challenge_set("plain").score_rows(build_rows(labels.tolist()), answers)
    samples = {path: each.sample for path, each in iter_estimates(scores) if each.sample is not None}
    wanted = {each.path for each in VERIFIER} - {"verification.average_precision"}
    assert wanted <= set(samples)
    assert len({len(samples[path].columns) for path in (*wanted, f"{SKILL}.score", "accuracy")}) == 1


C, NOT_C = 0, 1  # columns of the predictions


def build_predictions(predicted):
    return SetPredictions(np.eye(2)[predicted], CONTRADICTION_OR_NOT, has_probabilities=True)


def compute_scores(name, predicted, **columns):
    return challenge_sets.get_challenge_set(name).score_function(columns, build_predictions(predicted))


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
    scores = compute_scores(
        "swapped",
        [NOT_C, C, C, C, NOT_C],
        label=[1, 1, 2, 2, 0],
        source_id=list("nncce"),
        swapped=[False, True, False, True, False],
    )
    assert (scores["accuracy_before"].value, scores["accuracy_after"].value) == (1.0, 0.5)
    assert (scores["agreement"].value, scores["n_excluded"]) == (0.5, 1)


def test_sicck_folds_labels_without_reverse_rule():
    """Gold labels: forward entailment, contradiction, neutral, each with its reverse. The last prediction is wrong."""
    assert [map_four_way_label(label, build_predictions([])) for label in FOUR_WAY] == [
        "not_contradiction",
        "not_contradiction",
        "contradiction",
        "not_contradiction",
    ]
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
    scores = compute_scores("permuted", [NOT_C, NOT_C, C], label=[1] * 3, source_id=["a"] * 3, permutation=[-1, 0, 1])
    assert scores["accuracy"].value == 1.0
    assert scores["p_c"].value == 0.5
