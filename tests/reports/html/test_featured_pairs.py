"""Tests of the featured pairs of the cards."""

from dataclasses import replace

import pytest

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import ExampleLine, ExampleSelection, OriginalPrediction, ReportExample
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.reports.html.data import ReportData
from unbag.reports.html.examples import SHORT as SHORT_PAIR
from unbag.reports.html.examples import select_featured_pairs, shorten_lines

SHORT, LONG = "A boat navigates a man", "A boat that is very long navigates a man who is very old and does not mind"


def _build_pair(number, answer, probability=0.9, text=SHORT, **more):
    lines = (ExampleLine("premise", f"{text} {number}"), ExampleLine("hypothesis", text))
    return ReportExample("kind", f"r{number}", lines, "contradiction", answer, probability, **more)


def _build_report_data(*groups):
    """Return report data of groups, each with a set name and the candidates by model name."""
    models = {name: ReportModel(name, {}, False) for _, of in groups for name in of}
    made = []
    for number, (name, of) in enumerate(groups):
        data = {"name": "snli", "split": "test"}
        scored = [
            ScoredModel(
                models[model],
                Result(name, {}, {"name": model}, data, {}, {}),
                ExampleSelection(name, model, "1", "", (), tuple(pairs)),
            )
            for model, pairs in of.items()
        ]
        made.append(ResultGroup(f"set-{number}", "snli test", tuple(scored)))
    return ReportData(tuple(models.values()), tuple(made))


def _select_ids(*groups):
    selected = select_featured_pairs(_build_report_data(*groups))
    return {key: " ".join(pair.example.id for pair in pairs) for key, pairs in selected.items()}


def test_most_confident_mistake_is_featured_shortest_first():
    answers = [("entailment", 0.6, SHORT), ("entailment", 0.95, LONG), ("entailment", 0.95, SHORT)]
    wrong = [_build_pair(number, *each) for number, each in enumerate(answers)]
    right = [_build_pair(3, "contradiction", 0.99)]
    assert _select_ids(("plain", {"m": [*right, *wrong]})) == {"set-0": "r2 r3"}
    assert _select_ids(("plain", {"m": [*wrong[::-1], *right]})) == {"set-0": "r2 r3"}
    longer, shorter = replace(wrong[1], probability=1.0), replace(wrong[2], probability=0.8)
    assert _select_ids(("plain", {"m": [longer, shorter]})) == {"set-0": "r2"}, "22 words more, for .2"


def test_short_pair_is_preferred_and_document_is_truncated():
    document = _build_pair(0, "entailment", 1.0, "A man reads. " * 2_000)
    assert _select_ids(("plain", {"m": [document, _build_pair(1, "entailment", 0.5)]})) == {"set-0": "r1"}
    assert _select_ids(("plain", {"m": [document]})) == {"set-0": "r0"}
    shown = shorten_lines(document).lines
    assert [len(line.text) for line in shown] == [SHORT_PAIR + 1, SHORT_PAIR + 1]
    assert all(line.text.startswith("A man reads. A man") and line.text.endswith("…") for line in shown)


def test_subject_without_mistakes_features_mistake_of_other_model():
    mine = [_build_pair(0, "contradiction", 0.99), _build_pair(1, "contradiction", 0.7)]
    other = [_build_pair(0, "contradiction"), _build_pair(1, "entailment")]
    assert _select_ids(("plain", {"m": mine, "other": other})) == {"set-0": "r1"}


def test_all_models_are_shown_on_same_pair():
    other = [_build_pair(0, "neutral"), _build_pair(1, "neutral")]
    data = _build_report_data(("plain", {"m": [_build_pair(0, "entailment")], "other": other}))
    [[pair]] = select_featured_pairs(data).values()
    predicted = {name: (each.answer, each.id) for name, each in pair.predictions.items()}
    assert predicted == {"m": ("entailment", "r0"), "other": ("neutral", "r0")}


def test_originally_correct_pairs_are_preferred():
    pairs = [
        _build_pair(number, "entailment", share, before=OriginalPrediction("as given", before, 0.5), where="exchanged")
        for number, (before, share) in enumerate((("neutral", 0.99), ("contradiction", 0.6)))
    ]
    assert _select_ids(("swapped", {"m": pairs})) == {"set-0": "r1"}


def test_accepted_permutation_is_mistake():
    before = OriginalPrediction("in order", "contradiction", 0.9)
    pairs = [
        _build_pair(number, answer, before=before, where="permuted", has_order=False)
        for number, answer in enumerate(("neutral", "contradiction"))
    ]
    assert _select_ids(("permuted", {"m": pairs})) == {"set-0": "r1 r0"}


def test_same_sentences_are_featured_once():
    pairs = [_build_pair(0, "entailment", 0.9), _build_pair(1, "entailment", 0.8)]
    assert _select_ids(("plain", {"m": pairs}), ("cs_lambda", {"m": pairs})) == {"set-0": "r0", "set-1": "r1"}


@pytest.mark.parametrize("kept", [{"m": []}, {"m": [], "other": [_build_pair(0, "neutral")]}])
def test_subject_without_candidates_has_no_featured_pairs(kept):
    assert _select_ids(("plain", kept)) == {"set-0": ""}


def test_predictions_without_probability_are_ordered_by_length():
    pairs = [_build_pair(0, "neutral", None, LONG), _build_pair(1, "neutral", None)]
    assert _select_ids(("plain", {"m": pairs})) == {"set-0": "r1"}
