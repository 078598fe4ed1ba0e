"""Tests of the examples that each set selects for the report, from a few rows and predictions."""

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import CANDIDATES, OriginalPrediction, PredictedPairs, mark_phrases
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.evaluation import report_examples


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
        "label": [LABELS.index("neutral")] * n,
    }
    return datasets.Dataset.from_dict(base | columns)


def _select(name, rows, answers):
    return list(challenge_sets.get_challenge_set(name).select_examples(PredictedPairs(rows, answers)))


def _select_short(name, rows, answers):
    return list(challenge_sets.get_challenge_set(name).select_short_examples(PredictedPairs(rows, answers)))


def _list_kinds(shown):
    return [(each.kind, each.id) for each in shown]


def _list_marked_words(*lines):
    return [line.text[start:end] for line in lines for start, end, _ in line.marks]


def test_plain_lists_most_confident_mistakes_of_each_label():
    rows = _build_pairs(5, label=[1, 1, 0, 1, 1])
    answers = _build_predictions(("entailment", 0.6), ("contradiction", 0.9), "neutral", "neutral", ("entailment", 0.7))
    shown = _select("plain", rows, answers)
    assert _list_kinds(shown) == [
        ("false entailment, neutral", "r4"),
        ("false entailment, neutral", "r0"),
        ("most confident wrong, entailment", "r2"),
        ("most confident wrong, neutral", "r1"),
    ]
    last = shown[3]
    assert (last.gold, last.answer, last.probability, last.outcome) == ("neutral", "contradiction", 0.9, "wrong")


def _mark_unanswered(answers, *places):
    return answers._replace(unanswered=np.isin(np.arange(len(answers.probabilities)), places))


def test_abstained_example_shows_no_answer():
    [shown] = _select("plain", _build_pairs(1), _mark_unanswered(_build_predictions("contradiction"), 0))
    assert (shown.gold, shown.answer, shown.probability, shown.outcome) == ("neutral", "none", None, "wrong")
    both = _build_pairs(2, source_id=["a", "a"], swapped=[False, True])
    [shown] = _select("swapped", both, _mark_unanswered(_build_predictions("neutral", "neutral"), 0, 1))
    assert (shown.answer, shown.before) == ("none", OriginalPrediction("as given", "none", None))
    modified = dict.fromkeys(("modifier", "part", "position", "relation"), ["none"] * 2)
    rows = _build_pairs(2, pair=["p", "p"], reverse=[False, True], four_way=["reverse_entailment", None], **modified)
    [shown] = _select("sicck", rows, _mark_unanswered(_build_predictions("neutral", "entailment"), 0))
    assert (shown.kind, shown.gold, shown.answer) == ("most confident wrong", "reverse_entailment", "none")


def test_permuted_shows_acceptance_and_one_permutation():
    orders = ["one two three four", "two one four three", "four three one two", "one two three four", "b a", "c a"]
    sides = {"premise": orders, "hypothesis": ["x y"] * 6}
    rows = _build_pairs(6, **sides, source_id=list("aaabbb"), permutation=[-1, 0, 1, -1, 0, 1])
    answers = _build_predictions(
        "neutral", ("neutral", 0.6), ("neutral", 0.9), "entailment", ("neutral", 0.7), "entailment"
    )
    most_accepted, flipped = _select("permuted", rows, answers)
    assert _list_kinds([most_accepted, flipped]) == [("most accepted", "r2"), ("flipped", "r4")]
    assert [line.name for line in most_accepted.lines] == ["premise", "hypothesis", "premise permuted"]
    assert _list_marked_words(most_accepted.lines[2]) == ["one two"]
    assert most_accepted.note == "2 of 2 permutations accepted"
    assert flipped.note == "1 of 2 permutations accepted"
    # Permuted words have no right answer, and a prediction matters only if the original pair is right.
    assert [(each.outcome, each.fails) for each in (most_accepted, flipped)] == [
        ("accepted", True),
        ("accepted", False),
    ]
    assert most_accepted.before == OriginalPrediction("in order", "neutral", 0.8)
    assert flipped.before == OriginalPrediction("in order", "entailment", 0.8)
    refused = _build_predictions("neutral", "entailment", "contradiction", "neutral", "neutral", "neutral")
    *_, last = _select("permuted", rows, refused)
    assert (last.kind, last.outcome, last.fails) == ("most refused", "refused", False)


def test_candidates_are_shortest_rows_for_every_model():
    rows = _build_pairs(120, premise=["word " * (1 + number % 7) for number in range(120)])
    shown = [_select_short("plain", rows, _build_predictions(*[label] * 120)) for label in ("neutral", "entailment")]
    by_length = sorted(range(len(rows)), key=lambda row: len(rows[row]["premise"] + rows[row]["hypothesis"]))
    assert [[each.id for each in some] for some in shown] == [[f"r{i}" for i in by_length[:CANDIDATES]]] * 2
    assert [{each.outcome for each in some} for some in shown] == [{"right"}, {"wrong"}]


def _build_operation_rows(**columns):
    """Return four rows of two sources, labelled as entailed or not."""
    return _build_pairs(4, label=[1, 0, 1, 1], source_id=["a", "a", "a", "b"], **columns)


ENTAILED = SetPredictions(np.tile([0.8, 0.2], (4, 1)), TWO_WAY, has_probabilities=True)


def test_recombined_shows_mistakes_by_operation_with_marked_words():
    rows = _build_operation_rows(
        operation=["removed", "supported", "subject", "subject"],
        replacement=[None, None, "premise", "hypothesis"],
        k=[4] * 4,
        position=[0, 1, 2, 3],
    )
    shown = _select("recombined", rows, ENTAILED)
    expected = [("subject, surest wrong", "r2"), ("subject, surest wrong", "r3"), ("removed, surest wrong", "r0")]
    assert _list_kinds(shown) == expected
    assert (shown[0].gold, shown[0].answer, shown[0].outcome) == ("not_entailment", "entailment", "wrong")
    assert [_list_marked_words(*each.lines) for each in shown] == [["Premise"], ["Hypothesis"], []]
    assert shown[0].note == "4 sentences, evidence in number 3"
    candidates = _select_short("recombined", rows, ENTAILED)
    assert _list_kinds(candidates) == [("another subject", "r2"), ("another subject", "r3")]


def test_negation_shows_mistakes_by_operation_with_marked_negations():
    premises = ["The man is not asleep.", "He sleeps.", "It is not true that he is not asleep.", "She does not sleep."]
    rows = _build_operation_rows(operation=["sentence", "sentence", "double", "sentence"], premise=premises)
    shown = _select("negation", rows, ENTAILED)
    expected = [("sentence, surest wrong", "r0"), ("sentence, surest wrong", "r3"), ("double, surest wrong", "r2")]
    assert _list_kinds(shown) == expected
    assert _list_marked_words(*shown[2].lines) == ["not", "not"]
    assert {each.gold for each in _select_short("negation", rows, ENTAILED)} == {"not_entailment"}


def test_candidates_are_perturbed_rows():
    def list_ids(name, rows):
        return [each.id for each in _select_short(name, rows, _build_predictions(*["neutral"] * len(rows)))]

    features = {"misleading": [[]] * 3} | {f"lexical_{label}": [0.3] * 3 for label in LABELS}
    assert list_ids("cs_lambda", _build_pairs(3, lms=[0.2, 0.7, 0.9], **features)) == ["r1", "r2"]
    rearranged = _build_pairs(4, partition=[0, 3, 3, 2], uncertainty=[0.1, 0.9, 0.8, 0.7])
    for splits, wanted in ((["test", "test", "train", "test"], ["r1", "r3"]), ([""] * 4, ["r1", "r2", "r3"])):
        assert list_ids("resnli", rearranged.add_column("source_split", splits)) == wanted
    assert list_ids("swapped", _build_pairs(2, source_id=["a", "a"], swapped=[False, True])) == ["r1"]


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
    assert [text[start:end] for start, end, _ in mark_phrases(text, phrases, "misleads")] == marked


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_marks_are_ordered_and_disjoint(text, phrases):
    ends = [0]
    for start, end, _ in mark_phrases(text, phrases, "moved"):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
