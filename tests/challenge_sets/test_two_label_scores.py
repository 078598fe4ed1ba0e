"""Tests of scoring two-label models of contradiction, for which entailment and neutral are one label."""

import numpy as np
import pytest

from unbag import challenge_sets
from unbag.data.labels import CONTRADICTION_OR_NOT, FOUR_WAY
from unbag.data.predictions import SetPredictions
from unbag.scoring.natural_logic import map_four_way_label

C, NOT_C = 0, 1  # columns of the predictions


def build_predictions(predicted):
    return SetPredictions(np.eye(2)[predicted], CONTRADICTION_OR_NOT, has_probabilities=True)


def compute_scores(name, predicted, **columns):
    return challenge_sets.get_challenge_set(name).score_function(columns, build_predictions(predicted), resamples=0)


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
