"""Tests of the examples that each set selects for the report, from a few rows and predictions."""

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import (
    CANDIDATES,
    OriginalPrediction,
    PredictedPairs,
    mark_phrases,
    mark_unchanged_sequences,
)
from unbag.data.labels import LABELS, get_label_id
from unbag.data.predictions import SetPredictions
from unbag.evaluation import report_examples

plain = challenge_sets.get_challenge_set("plain")
swapped = challenge_sets.get_challenge_set("swapped")
breaking_nli = challenge_sets.get_challenge_set("breaking_nli")
sicck = challenge_sets.get_challenge_set("sicck")
resnli = challenge_sets.get_challenge_set("resnli")
permuted = challenge_sets.get_challenge_set("permuted")
cs_lambda = challenge_sets.get_challenge_set("cs_lambda")


def _build_predictions(*labels, probability=0.8):
    rows = []
    for each in labels:
        name, share = each if isinstance(each, tuple) else (each, probability)
        rows.append([share if label == name else (1 - share) / 2 for label in LABELS])
    return SetPredictions(np.array(rows, dtype=np.float32), LABELS, True)


def _build_pairs(n=3, **columns):
    base = {
        "id": [f"r{i}" for i in range(n)],
        "premise": [f"Premise number {i}." for i in range(n)],
        "hypothesis": [f"Hypothesis number {i}." for i in range(n)],
        "label": [get_label_id("neutral")] * n,
    }
    return datasets.Dataset.from_dict(base | columns)


def _select(described, rows, answers):
    return list(described.select_examples(PredictedPairs(rows, answers)))


def _select_short(described, rows, answers):
    return list(described.select_short_examples(PredictedPairs(rows, answers)))


def _list_kinds(shown):
    return [(each.kind, each.id) for each in shown]


def test_plain_lists_most_confident_mistakes_of_each_label():
    rows = _build_pairs(
        5, label=[get_label_id(name) for name in ("neutral", "neutral", "entailment", "neutral", "neutral")]
    )
    answers = _build_predictions(("entailment", 0.6), ("contradiction", 0.9), "neutral", "neutral", ("entailment", 0.7))
    shown = _select(plain, rows, answers)
    assert _list_kinds(shown) == [
        ("false entailment, neutral", "r4"),
        ("false entailment, neutral", "r0"),
        ("most confident wrong, entailment", "r2"),
        ("most confident wrong, neutral", "r1"),
    ]
    assert (shown[3].gold, shown[3].answer, shown[3].probability, shown[3].outcome) == (
        "neutral",
        "contradiction",
        0.9,
        "wrong",
    )


def _mark_unanswered(answers, *places):
    return answers._replace(unanswered=np.isin(np.arange(len(answers.probabilities)), places))


def test_abstained_example_shows_no_answer(sicck_rows):
    [shown] = _select(plain, _build_pairs(1), _mark_unanswered(_build_predictions("contradiction"), 0))
    assert (shown.gold, shown.answer, shown.probability, shown.outcome) == ("neutral", "none", None, "wrong")
    both = _build_pairs(2, source_id=["a", "a"], swapped=[False, True])
    [shown] = _select(swapped, both, _mark_unanswered(_build_predictions("neutral", "neutral"), 0, 1))
    assert (shown.answer, shown.before) == ("none", OriginalPrediction("as given", "none", None))
    labels = _build_predictions("neutral", "entailment", "neutral", "neutral")
    [shown] = _select(sicck, sicck_rows, _mark_unanswered(labels, 0))
    assert (shown.kind, shown.gold, shown.answer) == ("most confident wrong", "reverse_entailment", "none")


def test_cs_lambda_shows_most_misleading_pairs_with_features():
    features = [[{"premise": "number", "hypothesis": None, "logit": 0.5}]] * 3
    scores = {f"lexical_{label}": [0.1, 0.2, 0.3] for label in LABELS}
    rows = _build_pairs(3, lms=[0.2, 0.9, 0.7], misleading=features, **scores)
    shown = _select(cs_lambda, rows, _build_predictions("entailment", "neutral", "entailment"))
    assert _list_kinds(shown) == [
        ("most misleading, wrong", "r2"),
        ("most misleading, wrong", "r0"),
        ("most misleading, right", "r1"),
    ]
    premise, hypothesis = shown[0].lines
    assert [premise.text[start:end] for start, end, _ in premise.marks] == ["number"]
    assert hypothesis.marks == ()
    assert shown[0].note.endswith("most misleading: number (premise) +0.5")


def test_permuted_shows_acceptance_and_one_permutation():
    orders = ["one two three four", "two one four three", "four three one two", "one two three four", "b a", "c a"]
    rows = _build_pairs(
        6,
        premise=orders,
        hypothesis=["x y"] * 6,
        source_id=["a", "a", "a", "b", "b", "b"],
        permutation=[-1, 0, 1, -1, 0, 1],
        id=["a#-1", "a#0", "a#1", "b#-1", "b#0", "b#1"],
    )
    answers = _build_predictions(
        "neutral", ("neutral", 0.6), ("neutral", 0.9), "entailment", ("neutral", 0.7), "entailment"
    )
    shown = _select(permuted, rows, answers)
    assert _list_kinds(shown) == [("most accepted", "a#1"), ("flipped", "b#0")]
    assert [line.name for line in shown[0].lines] == ["premise", "hypothesis", "premise permuted"]
    assert [shown[0].lines[2].text[start:end] for start, end, _ in shown[0].lines[2].marks] == ["one two"]
    assert [each.note for each in shown] == ["2 of 2 permutations accepted", "1 of 2 permutations accepted"]
    # Permuted words have no right answer, and a prediction matters only if the original pair is right.
    assert [(each.outcome, each.fails) for each in shown] == [("accepted", True), ("accepted", False)]
    assert [each.before for each in shown] == [
        OriginalPrediction("in order", "neutral", 0.8),
        OriginalPrediction("in order", "entailment", 0.8),
    ]
    refused = _build_predictions("neutral", "entailment", "contradiction", "neutral", "neutral", "neutral")
    assert [(each.kind, each.outcome, each.fails) for each in _select(permuted, rows, refused)][-1] == (
        "most refused",
        "refused",
        False,
    )


def test_swapped_shows_change_with_original_prediction():
    rows = _build_pairs(4, source_id=["a", "a", "b", "b"], swapped=[False, True, False, True])
    shown = _select(swapped, rows, _build_predictions("neutral", "entailment", "entailment", "neutral"))
    assert _list_kinds(shown) == [("right, then wrong", "r1"), ("wrong, then right", "r3")]
    assert [each.before for each in shown] == [
        OriginalPrediction("as given", "neutral", 0.8),
        OriginalPrediction("as given", "entailment", 0.8),
    ]
    assert [each.outcome for each in shown] == ["wrong", "right"]


def test_breaking_nli_shows_at_most_two_per_category():
    rows = _build_pairs(4, category=["a", "a", "a", "b"], replaced=["Premise"] * 4, replacement=["hypothesis"] * 4)
    answers = _build_predictions(*[("entailment", share) for share in (0.7, 0.8, 0.9, 0.6)])
    shown = _select(breaking_nli, rows, answers)
    assert [each.id for each in shown] == ["r2", "r1", "r3"]
    assert [line.text[start:end] for line in shown[0].lines for start, end, _ in line.marks] == [
        "Premise",
        "Hypothesis",
    ]


@pytest.fixture
def sicck_rows():
    return _build_pairs(
        4,
        pair=["p", "p", "q", "q"],
        reverse=[False, True, False, True],
        four_way=["reverse_entailment", "forward_entailment", None, None],
        modifier=["number", "number", "none", "none"],
        part=["subject"] * 4,
        position=["premise"] * 4,
        relation=["RE", "FE", "equivalence", "equivalence"],
    )


def test_sicck_reads_four_way_predictions_by_reverse_rule(sicck_rows):
    [shown] = _select(sicck, sicck_rows, _build_predictions("neutral", "entailment", "neutral", "neutral"))
    assert (shown.kind, shown.gold, shown.answer) == (
        "most confident right",
        "reverse_entailment",
        "reverse_entailment",
    )
    assert [line.marks != () for line in shown.lines] == [True, False]


def test_candidates_are_shortest_rows_for_every_model():
    rows = _build_pairs(120, premise=["word " * (1 + number % 7) for number in range(120)])
    shown = [_select_short(plain, rows, _build_predictions(*[label] * 120)) for label in ("neutral", "entailment")]
    by_length = sorted(range(len(rows)), key=lambda row: len(rows[row]["premise"] + rows[row]["hypothesis"]))
    assert [[each.id for each in some] for some in shown] == [[f"r{i}" for i in by_length[:CANDIDATES]]] * 2
    assert [{each.outcome for each in some} for some in shown] == [{"right"}, {"wrong"}]


def test_candidates_are_perturbed_rows():
    misled = _build_pairs(
        3, lms=[0.2, 0.7, 0.9], misleading=[[]] * 3, **{f"lexical_{label}": [0.3] * 3 for label in LABELS}
    )
    assert [each.id for each in _select_short(cs_lambda, misled, _build_predictions(*["neutral"] * 3))] == [
        "r1",
        "r2",
    ]
    rearranged = _build_pairs(4, partition=[0, 3, 3, 2], uncertainty=[0.1, 0.9, 0.8, 0.7])
    for splits, wanted in ((["test", "test", "train", "test"], ["r1", "r3"]), ([""] * 4, ["r1", "r2", "r3"])):
        rows = rearranged.add_column("source_split", splits)
        assert [each.id for each in _select_short(resnli, rows, _build_predictions(*["neutral"] * 4))] == wanted
    both = _build_pairs(2, source_id=["a", "a"], swapped=[False, True])
    assert [each.id for each in _select_short(swapped, both, _build_predictions("neutral", "neutral"))] == ["r1"]


@pytest.mark.parametrize("has_probabilities", [True, False])
def test_selections_round_trip(tmp_path, has_probabilities):
    rows = _build_pairs(3)
    answers = _build_predictions("entailment", "neutral", "contradiction")._replace(has_probabilities=has_probabilities)
    result = Result("plain", {}, {"name": "a-model"}, {"sha256": "0" * 64}, {}, {})
    chosen = report_examples.select_examples(result, rows, answers)
    assert chosen.examples
    assert chosen.candidates
    assert all((each.probability is not None) == has_probabilities for each in chosen.examples)
    report_examples.write_selections([chosen], tmp_path / "examples.json")
    assert report_examples.read_selections(tmp_path / "examples.json") == [chosen]


def _list_marked_words(text, marks):
    return [text[start:end] for start, end, _ in marks]


@pytest.mark.parametrize(
    ("text", "phrases", "marked"),
    [
        ("Dogs chase a dog; the dogged DOG sleeps.", ["dog"], ["dog", "DOG"]),
        (
            "Two men play an electric  guitar in a guitar shop.",
            ["guitar", "electric guitar"],
            ["electric  guitar", "guitar"],  # the longest phrase is one mark
        ),
        ("He doesn't run.", ["n't"], ["n't"]),  # a part of a word, if no whole word matches
        ("两只狗在跑", ["狗"], ["狗"]),
    ],
)
def test_whole_words_or_else_parts_are_marked(text, phrases, marked):
    assert _list_marked_words(text, mark_phrases(text, phrases, "misleads")) == marked


def test_adjacent_words_are_marked_as_runs():
    original = "The old man feeds small birds in the park."
    permuted = "birds in the man The old park feeds small ."
    assert _list_marked_words(permuted, mark_unchanged_sequences(original, permuted)) == [
        "birds in the",
        "The old",
        "feeds small",
    ]


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_marks_are_ordered_and_disjoint(text, phrases):
    ends = [0]
    for start, end, _ in mark_phrases(text, phrases, "moved"):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
