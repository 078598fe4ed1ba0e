"""Tests of the scores of published predictions: matching, labels, partial coverage."""

import json

import numpy as np
import pytest

import unbag
from unbag.data.labels import LABELS
from unbag.evaluation.prediction_matching import describe_coverage
from unbag.utils.safe_io import DataError

N = 60
PAIRS = [(f"A man number {row} sleeps.", f"Person {row} rests!", LABELS[row % 3]) for row in range(N)]


@pytest.fixture
def data(tmp_path):
    """Write pairs to a file."""
    path = tmp_path / "pairs.jsonl"
    lines = [
        json.dumps({"id": f"pair-{row}", "premise": p, "hypothesis": h, "label": label})
        for row, (p, h, label) in enumerate(PAIRS)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def score(data):
    """Return a function that scores predictions on the unchanged pairs."""

    def score(predictions, sets="plain", **options):
        request = unbag.SetRequest(sets, options={"data": str(data)})
        return unbag.score(predictions, request, lexical_baseline=False, progress=False, **options)

    return score


def build_columns(rows=range(N), *, texts=True, **columns):
    """Build columns of texts of the given pairs, and the given columns."""
    sides = {"premise": [PAIRS[row][0] for row in rows], "hypothesis": [PAIRS[row][1] for row in rows]}
    return (sides if texts else {}) | columns


def test_score_by_texts_in_other_case_counts_normalized_rows(score):
    wrong_first = ["neutral", *[label for *_, label in PAIRS[1:]]]
    columns = build_columns(prediction=wrong_first)
    columns["premise"][3] = columns["premise"][3].upper()
    [result] = score(columns)
    assert result.scores["accuracy"].value == pytest.approx(59 / 60)
    assert result.model["matched"]["by"] == "premise and hypothesis, 1 of them normalized"


def test_score_of_some_rows_covers_these_rows(score):
    rows = range(0, N, 2)
    [result] = score(build_columns(rows, pred=["entailment" for _ in rows]))
    assert (result.scores["accuracy"].value, result.scores["accuracy"].n) == (pytest.approx(1 / 3), 30)
    assert result.model["matched"] == {
        "by": "premise and hypothesis",
        "rows": 30,
        "of": 60,
        "unmatched": 0,
        "ambiguous": 0,
    }
    assert result.data["excluded"] == {"without prediction": 30}


def test_numbers_get_the_meaning_of_the_files_gold_labels(score):
    ids = {"entailment": 2, "neutral": 1, "contradiction": 0}
    gold = [ids[label] for *_, label in PAIRS]
    predicted = [*[(number + 1) % 3 for number in gold[:6]], *gold[6:]]
    [result] = score(build_columns(label=gold, predicted_label=predicted))
    assert result.scores["accuracy"].value == pytest.approx(54 / 60)
    assert set(result.model["label_order"].split(",")) == {"0=contradiction", "1=neutral", "2=entailment"}


def test_numbers_without_gold_labels_are_rejected_with_accuracies(score):
    predicted = [LABELS.index(label) for *_, label in PAIRS]
    with pytest.raises(DataError, match=r"0=entailment,1=neutral,2=contradiction 100\.0%"):
        score(build_columns(prediction=predicted))
    [result] = score(build_columns(prediction=predicted), labels=LABELS)
    assert result.scores["accuracy"].value == 1


def test_labels_that_contradict_gold_labels_are_rejected(score):
    numbers = [LABELS.index(label) for *_, label in PAIRS]
    with pytest.raises(DataError, match="expected 0=entailment, 2=contradiction, as in the gold labels"):
        score(build_columns(label=numbers, prediction=numbers), labels=LABELS[::-1])


def test_logits_in_lists_become_probabilities(score):
    gold = [LABELS.index(label) for *_, label in PAIRS]
    logits = np.eye(3)[gold] * 5 - 1
    [result] = score(build_columns(label=gold, predicted_scores=logits.tolist(), predicted_label=gold))
    assert result.scores["accuracy"].value == 1
    expected = np.exp(4) / (np.exp(4) + 2 * np.exp(-1))
    brier = result.scores["verification"]["calibration"]["brier"].value
    assert brier == pytest.approx(((1 - expected) ** 2 + 2 * ((1 - expected) / 2) ** 2) / 3, rel=1e-5)


def test_table_with_a_column_per_model_gives_a_result_per_model(score):
    gold = [label for *_, label in PAIRS]
    report = score(build_columns(gold=gold, good=gold, constant=["neutral"] * N, some=[*gold[:30], *[None] * 30]))
    assert [(each.model["name"], each.scores["accuracy"].value, each.scores["accuracy"].n) for each in report] == [
        ("good", 1, 60),
        ("constant", pytest.approx(1 / 3), 60),
        ("some", 1, 30),
    ]


def test_repeated_texts_with_different_predictions_match_no_row(score):
    gold = [label for *_, label in PAIRS]
    columns = build_columns([*range(N), 0, 1], prediction=[*gold, "neutral", gold[1]])
    [result] = score(columns)
    assert (result.scores["accuracy"].n, result.model["matched"]["ambiguous"]) == (59, 1)


def test_rows_of_other_pairs_are_rejected(score):
    with pytest.raises(DataError, match="got no row with the same id or texts"):
        score({"premise": ["Other."], "hypothesis": ["Another."], "prediction": ["neutral"]})


def test_by_order_requires_equal_gold_labels(score):
    gold = [label for *_, label in PAIRS]
    [result] = score({"gold": gold, "pred": gold}, by_order=True)
    assert (result.scores["accuracy"].n, result.model["matched"]["by"]) == (N, "row number")
    with pytest.raises(DataError, match="--by-order: expected the gold labels"):
        score({"gold": [*gold[1:], gold[0]], "pred": gold}, by_order=True)
    with pytest.raises(DataError, match="--by-order: expected gold labels"):
        score({"pred": gold}, by_order=True)


def test_coverage_warning_depends_on_the_label():
    gold = np.arange(3000) % 3
    uniform = np.random.default_rng(0).random(3000)
    assert not describe_coverage(uniform < 0.5, gold, LABELS)
    assert describe_coverage(uniform < 0.5 + 0.1 * (gold == 2), gold, LABELS).startswith("coverage depends on the gold")
    assert not describe_coverage(np.ones(3000, dtype=bool), gold, LABELS)
