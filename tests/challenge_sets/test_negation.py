"""Tests of the negation set on synthetic rows: scores, row scores, table, reading, figures and examples."""

import datasets
import numpy as np
import pytest

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import PredictedPairs
from unbag.data.labels import TWO_WAY
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.scoring.negation_consistency import score_negation
from unbag.scoring.skill import skill_score

negation = challenge_sets.get_challenge_set("negation")
SCHEMA = negation.get_builder_class().SCHEMA

COLUMNS = ("source_id", "mirror", "operation", "label")
PREMISES = ("The man is asleep. The kettle is not on the stove.", "The man is not asleep. The kettle is on the stove.")
HYPOTHESES = ("The man is asleep.", "The man is not asleep.")


def _build_rows(sources=30, operations=("sentence", "double")):
    """Return four rows per source and operation: two premises with two hypotheses each."""
    return [
        {
            "id": f"s{source}#{operation}#{mirror}#{label}",
            "source_id": f"s{source}",
            "premise": PREMISES[mirror ^ label],
            "hypothesis": HYPOTHESES[mirror],
            "label": label,
            "operation": operation,
            "mirror": f"s{source}#{operation}#{mirror}",
            "negation": "not",
            "source_premise": HYPOTHESES[0],
        }
        for source in range(sources)
        for operation in operations
        for mirror in (0, 1)
        for label in (0, 1)
    ]


def _build_columns(rows):
    return {name: [row[name] for row in rows] for name in COLUMNS}


def _build_result(predict, sources=30):
    rows = _build_rows(sources)
    scores = score_negation(_build_columns(rows), build_predictions_from_labels([predict(row) for row in rows]))
    data = {"name": "snli", "split": "validation", "rows": 10_000, "excluded": {"unlabelled": 158}}
    data |= {"origin": "stanfordnlp/snli", "revision": "1", "sha256": "2"}
    return Result("negation", {}, {"name": "an-organisation/a-model"}, data, scores, {})


def _predict_from_negations(row):
    """Predict entailment if premise and hypothesis have the same number of negations."""
    return int(row["premise"].count(" not ") != row["hypothesis"].count(" not "))


def _predict_without_double(row):
    return row["label"] if row["operation"] == "sentence" else 0


@pytest.mark.parametrize(
    ("predict", "score"),
    [(_predict_from_negations, 0.0), (lambda row: row["label"], 1.0), (lambda row: 0, 0.0), (lambda row: 1, 0.0)],
    ids=["count", "perfect", "entailment", "not_entailment"],
)
def test_order_blind_skill_is_zero_and_oracle_one(predict, score):
    rows = _build_rows()
    row_scores = negation.score_examples(
        _build_columns(rows), build_predictions_from_labels([predict(row) for row in rows])
    )
    found = skill_score(row_scores, resamples=0)
    assert found["score"].value == pytest.approx(score)
    assert (found["score"].n, found["n_sources"]) == (240, 30)


def test_partial_rows_are_scored_by_their_mirrors():
    rows = _build_rows()[:6]
    scores = score_negation(_build_columns(rows), build_predictions_from_labels([0] * 6), partial=True)
    assert (scores["accuracy"].value, scores["mirror_consistency"].value, scores["n_mirrors"]) == (0.5, 0, 3)


def test_reading_names_operation_with_lowest_accuracy():
    said = negation.summarize_result(_build_result(_predict_without_double))
    assert said.startswith("correct on 75.0 % [")
    assert ", least on double (50.0 % [" in said


@pytest.mark.parametrize(
    ("predict", "sources"), [(lambda row: 0, 30), (_predict_without_double, 19)], ids=["tie", "few"]
)
def test_reading_of_tie_or_few_sources_names_no_operation(predict, sources):
    assert "least on" not in negation.summarize_result(_build_result(predict, sources))


def _render_table(rows):
    features = datasets.Features(
        datasets.Features.from_arrow_schema(SCHEMA) | {"label": datasets.ClassLabel(names=list(TWO_WAY))}
    )
    return datasets.Dataset.from_list([{name: row[name] for name in SCHEMA.names} for row in rows], features=features)


def test_examples_are_mistakes_by_operation_with_marked_negations():
    rows = _build_rows(sources=2)
    probabilities = np.where(np.arange(2) == 0, 0.8, 0.2) * np.ones((len(rows), 1))
    answers = SetPredictions(probabilities, TWO_WAY, has_probabilities=True)
    shown = list(negation.select_examples(PredictedPairs(_render_table(rows), answers)))
    assert [each.kind for each in shown] == [
        f"{name}, surest wrong" for name in ("sentence", "double") for _ in range(2)
    ]
    assert {each.outcome for each in shown} == {"wrong"}
    assert {line.text[start:end] for line in shown[0].lines for start, end, _ in line.marks} == {"not"}
    candidates = list(negation.select_short_examples(PredictedPairs(_render_table(rows), answers)))
    assert {each.gold for each in candidates} == {"not_entailment"}
