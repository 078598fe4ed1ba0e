"""Every set scores a two-label model that finds contradictions: entailment and neutral fold into one label."""

import numpy as np
import pytest

from unbag import challenge_sets
from unbag.challenge_sets.breaking_nli.table import summarize_result
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.sicck.scores import map_gold_label
from unbag.data.labels import CONTRADICTION_OR_NOT, FOUR_WAY
from unbag.data.predictions import SetPredictions

C, NOT_C = 0, 1  # columns of the answers


def answers(predicted):
    return SetPredictions(np.eye(2)[predicted], CONTRADICTION_OR_NOT, has_probabilities=True)


def scores_of(name, predicted, **columns):
    module = challenge_sets.get_challenge_set(name).import_set_module("scores")
    return getattr(module, f"compute_{name}_scores")(columns, answers(predicted), resamples=0)


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
def test_accuracy_is_that_of_contradiction_against_the_rest(name, columns):
    """Gold e n c c: right of the first (not a contradiction) and the third, wrong of the second and the fourth."""
    scores = scores_of(name, [NOT_C, C, C, NOT_C], label=[0, 1, 2, 2], **columns)
    assert (scores["subsets"][0] if name == "cs_lambda" else scores)["accuracy"].value == 0.5


def test_swapped_pairs_count_neutral_ones_as_not_contradicting():
    """A neutral pair right as given and wrong exchanged, a contradiction right both times; entailment is not asked."""
    scores = scores_of(
        "swapped",
        [NOT_C, C, C, C, NOT_C],
        label=[1, 1, 2, 2, 0],
        source_id=list("nncce"),
        swapped=[False, True, False, True, False],
    )
    assert (scores["accuracy_before"].value, scores["accuracy_after"].value) == (1.0, 0.5)
    assert (scores["agreement"].value, scores["n_excluded"]) == (0.5, 1)


def test_sicck_asks_whether_a_pair_contradicts_and_no_reverse_rule_applies():
    """Gold forward, contradiction, neutral, each with its reverse; the last one's answer is wrong."""
    assert [map_gold_label(label, answers([])) for label in FOUR_WAY] == [
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
    scores = scores_of("sicck", [NOT_C, C, C, NOT_C, C, NOT_C], **columns)
    assert scores["accuracy"].value == pytest.approx(2 / 3)
    assert set(scores["by_label"]) == set(CONTRADICTION_OR_NOT)


def test_permuted_orders_are_accepted_where_they_keep_the_folded_label():
    """One neutral pair, right in order, of whose two orders one is taken for a contradiction."""
    scores = scores_of("permuted", [NOT_C, NOT_C, C], label=[1] * 3, source_id=["a"] * 3, permutation=[-1, 0, 1])
    assert scores["accuracy"].value == 1.0
    assert scores["p_c"].value == 0.5


def test_breaking_nli_reads_the_labels_in_words():
    scores = scores_of("breaking_nli", [NOT_C] * 2 + [C], label=[0, 1, 2], category=["colors"] * 3, premise=list("abc"))
    said = summarize_result(Result("breaking_nli", {}, {"name": "m"}, {}, scores, {}))
    assert "of 2 pairs labelled not contradiction" in said
