"""Tests of the recombined set on synthetic rows: scores, row scores, table, reading, figures and examples."""

from dataclasses import replace

import datasets
import numpy as np
import pytest

from tests.factories import render, render_result
from unbag import challenge_sets
from unbag.challenge_sets.perturbations.recombined import EXCHANGES
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import PredictedPairs
from unbag.data.labels import CONTRADICTION_OR_NOT, TWO_WAY, LabelError
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.scoring.document_consistency import score_recombined

recombined = challenge_sets.get_challenge_set("recombined")

COLUMNS = ("source_id", "group", "k", "position", "operation", "label")


def _build_rows(claims=30):
    """Return rows of claims, each with a document of one sentence and one of four."""
    rows = []
    for claim in range(claims):
        for k in (1, 4):
            for operation in ("supported", *(("subject", "object") if k > 1 else ()), "removed"):
                rows.append(
                    {
                        "id": f"c{claim}#{k}#{operation}",
                        "source_id": f"c{claim}",
                        "premise": "A man rides. A girl waves." if k > 1 else "A man rides.",
                        "hypothesis": "A girl rides." if operation in EXCHANGES else "A man rides.",
                        "label": int(operation != "supported"),
                        "group": f"c{claim}#{k}",
                        "k": k,
                        "position": claim % k,
                        "operation": operation,
                        "donor_position": 1 if operation in EXCHANGES else None,
                        "donor_id": "p" if operation in EXCHANGES else None,
                        "replaced": "A man" if operation in EXCHANGES else None,
                        "replacement": "a girl" if operation in EXCHANGES else None,
                    }
                )
    return rows


def _build_columns(rows):
    return {name: [row[name] for row in rows] for name in COLUMNS}


def _build_result(predict, claims=30):
    rows = _build_rows(claims)
    scores = score_recombined(_build_columns(rows), build_predictions_from_labels([predict(row) for row in rows]))
    data = {"name": "snli", "split": "validation", "rows": 10_000, "excluded": {"unlabelled": 158}}
    data |= {"origin": "stanfordnlp/snli", "revision": "1", "sha256": "2"}
    return Result("recombined", {"k": "1,4"}, {"name": "an-organisation/a-model"}, data, scores, {})


def test_text_table_names_most_frequent_reasons():
    result = _build_result(lambda row: row["label"])
    counts = {"claims": 30, "excluded: a negation": 24, "excluded: no sentence has an argument": 80}
    text = replace(result, config={"counts": counts}, data=result.data | {"load_options": {"text": ["a.md"]}})
    shown = render(*map(recombined.build_table, (text, replace(text, data=result.data))), width=200)
    reasons = "Most frequent reasons for sentences without a claim: no sentence has an argument (80), a negation (24)"
    assert shown.count(reasons) == 1


def _predict_from_words(row):
    """Predict entailment if the document contains all words of the claim."""
    return 1 if row["operation"] == "removed" else 0


def test_contradiction_model_is_rejected():
    rows = _build_rows()
    answers = SetPredictions(np.eye(2)[[0] * len(rows)], CONTRADICTION_OR_NOT, has_probabilities=True)
    with pytest.raises(LabelError, match="expected labels that map to"):
        score_recombined(_build_columns(rows), answers)


def test_decisive_rows_have_documents_with_all_words():
    rows = _build_rows(claims=1)
    decisive = recombined.counts_for_skill(_build_columns(rows)).tolist()
    assert [row["id"] for row, each in zip(rows, decisive, strict=True) if each] == [
        "c0#4#supported",
        "c0#4#subject",
        "c0#4#object",
    ]


def test_word_matching_scores_equal_manual_example():
    scores = _build_result(_predict_from_words).scores
    assert scores["false_entailment_rate"].value == pytest.approx(2 / 4)
    assert scores["paired_accuracy"].value == pytest.approx(1 / 2), "right on documents of one sentence alone"
    assert [row["operation"] for row in scores["by_operation"]] == ["removed", "subject", "object"]


def test_partial_rows_are_scored():
    rows = _build_rows()[:9]
    assert (
        score_recombined(_build_columns(rows), build_predictions_from_labels([0] * 9), partial=True)[
            "paired_accuracy"
        ].value
        == 0
    )


def test_table_lists_groups():
    lines = render_result(_build_result(_predict_from_words)).splitlines()
    names = [line.split("  ")[0].strip() for line in lines]
    wanted = ["all", "k = 1", "k = 4", *(f"evidence at the {third}" for third in ("start", "middle", "end"))]
    wanted += ["subject", "object", "removed"]
    assert [name for name in names if name in wanted] == wanted
    assert "180 rows, 60 documents, of 10,000 rows; excluded 158 unlabelled" in " ".join(" ".join(lines).split())


def test_reading_names_operation_with_most_false_entailments():
    said = recombined.summarize_result(_build_result(lambda row: 1 if row["operation"] in ("object", "removed") else 0))
    assert said.startswith("predicts entailment for 25.0 % [")
    assert ", most often those with another subject (100.0 % [" in said
    assert said.endswith("of the documents (a constant prediction, or a model that uses only the claim: 0 %).")


@pytest.mark.parametrize(
    "predict",
    [lambda row: 0, lambda row: 1, lambda row: row["label"], _predict_from_words],
    ids=["0", "1", "perfect", "words"],
)
def test_reading_of_tied_operations_names_none(predict):
    assert "most often" not in recombined.summarize_result(_build_result(predict))


def _build_predictions(rows, predicted):
    probabilities = np.full((len(rows), 2), 0.2)
    probabilities[np.arange(len(rows)), predicted] = 0.8
    return SetPredictions(probabilities, TWO_WAY, has_probabilities=True)


def test_examples_are_mistakes_by_operation_with_marked_words():
    rows = _build_rows(claims=2)
    features = datasets.Dataset.from_list(rows)
    shown = list(recombined.select_examples(PredictedPairs(features, _build_predictions(rows, [0] * len(rows)))))
    assert [each.kind for each in shown] == [
        f"{name}, surest wrong" for name in ("subject", "object", "removed") for _ in range(2)
    ]
    first = shown[0]
    assert (first.gold, first.answer, first.outcome) == ("not_entailment", "entailment", "wrong")
    assert [line.text[start:end] for line in first.lines for start, end, _ in line.marks] == ["A girl", "A girl"]
    assert first.note == "4 sentences, evidence in number 1"
    candidates = list(
        recombined.select_short_examples(PredictedPairs(features, _build_predictions(rows, [0] * len(rows))))
    )
    assert {each.kind for each in candidates} == {"another subject", "another object"}
