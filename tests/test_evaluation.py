"""The whole flow on a few pairs of ours: build, predict, score, record."""

import json
import re

import numpy as np
import pytest

import unbag
from unbag import results
from unbag.evaluation import evaluate_file
from unbag.inference.function import CallablePredictor
from unbag.inference.probe_pairs import PAIRS
from unbag.labels import TWO_WAY
from unbag.predictors import prompted_options
from unbag.request import Request, build, export
from unbag.rows import DataError
from unbag.text.tokens import tokenize

SUBJECTS = ["Two young dogs", "An old woman in black", "Three of the boys", "My tall neighbour from Spain"]
ACTS = ["chase a red ball in the park", "wait for the last bus to town", "carry heavy boxes up the hill"]
LABELS = ["entailment", "neutral", "contradiction"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def request_(tmp_path):
    path = tmp_path / "ours.jsonl"
    rows = [
        {"premise": f"{subject} {act} today.", "hypothesis": f"{other} {act} now.", "label": LABELS[i % 3]}
        for i, (subject, other, act) in enumerate((s, o, a) for s in SUBJECTS for o in SUBJECTS for a in ACTS)
    ]
    rows.append({"premise": "Too short.", "hypothesis": "Too short.", "label": "neutral"})
    rows.append({**rows[0], "label": "-"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Request("permuted", options={"data": str(path), "q": 5})


def bag_of_words(premises, hypotheses):
    """Answer by a checksum of the sorted characters of both sides' words: arbitrary, and blind to their order."""
    return [LABELS[sum(map(ord, _letters(p) + _letters(h))) % 3] for p, h in zip(premises, hypotheses, strict=True)]


def _letters(sentence):
    return "".join(sorted(sentence.replace(" ", "")))


def reads_order(premises, hypotheses):
    """Give a distribution that hangs on the first word, so on the order."""
    rows = [[1 + len(p.split()[0]), 1 + len(h.split()[0]), 2] for p, h in zip(premises, hypotheses, strict=True)]
    array = np.array(rows, dtype=float)
    return array / array.sum(axis=1, keepdims=True)


def test_a_bag_of_words_accepts_every_order(tmp_path, request_):
    [result] = unbag.evaluate(bag_of_words, [request_], out=tmp_path / "out")
    scores = result.scores
    assert scores["n_examples"] == 48
    assert 0 < scores["accuracy"].value < 1, "nothing to see if all or nothing is right"
    assert scores["p_c"].value == 1
    assert scores["omega_max"].value == scores["accuracy"].value
    assert scores["n_f"] == 0
    assert "confident" not in scores, "bare labels say nothing of confidence"


def test_what_was_left_out_is_counted(tmp_path, request_):
    [result] = unbag.evaluate(bag_of_words, [request_], out=tmp_path / "out")
    assert result.data["rows"] == 50
    assert result.data["left_out"] == {"unlabelled": 1, "too short to permute": 1}
    assert result.data["origin"] == "ours.jsonl"


def test_the_results_file_holds_what_was_returned(tmp_path, request_):
    returned = unbag.evaluate(reads_order, [request_], out=tmp_path / "out")
    [read] = results.read(tmp_path / "out" / "results.json")
    assert read.scores["p_c"] == returned[0].scores["p_c"]
    assert read.scores["confident"] == returned[0].scores["confident"]
    assert read.model["name"] == "reads_order"


def test_two_runs_leave_the_same_results_file(tmp_path, request_):
    texts = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        unbag.evaluate(reads_order, [request_], out=folder)
        texts.append((folder / "results.json").read_text())
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0], "a path of the machine is no part of a result"


def test_drawn_examples_are_the_same_whatever_else_is_there(tmp_path, request_):
    few = build(Request("permuted", options=request_.options, examples=7))
    more = build(Request("permuted", options=request_.options, examples=20))
    assert len(few.rows) == 7 * 6
    assert set(few.rows["source_id"][:]) < set(more.rows["source_id"][:])
    assert few.data["left_out"]["not drawn"] == 41
    other = build(Request("permuted", options=request_.options, examples=7, seed=1))
    assert set(other.rows["source_id"][:]) != set(few.rows["source_id"][:])


def test_a_two_label_model_is_scored_in_its_own_space(tmp_path, request_):
    predictor = CallablePredictor(lambda premises, _: ["not_entailment"] * len(premises), label_space=TWO_WAY)
    [result] = unbag.evaluate(predictor, [request_], out=tmp_path / "out")
    assert result.scores["accuracy"].value == pytest.approx(2 / 3)  # neutral and contradiction, folded
    assert result.scores["omega_rand"].value == pytest.approx(2 / 3)


def test_a_file_of_predictions_scores_as_its_model(tmp_path, request_):
    [expected] = unbag.evaluate(reads_order, [request_], out=tmp_path / "out")
    rows = build(request_).rows
    table = reads_order(rows["premise"][:], rows["hypothesis"][:])
    lines = [
        json.dumps({"id": name, **dict(zip(LABELS, map(float, values), strict=True))})
        for name, values in zip(rows["id"][:], table, strict=True)
    ]
    path = tmp_path / "predictions.jsonl"
    path.write_text("\n".join(reversed(lines)) + "\n")  # the order of the file does not matter
    result = evaluate_file(path, request_, out=tmp_path / "scored")
    assert result.scores["p_c"] == expected.scores["p_c"]
    assert result.scores["confident"] == expected.scores["confident"]
    assert result.model["name"] == "predictions.jsonl"


def _predictions(tmp_path, request_, change):
    rows = [{"id": name, "prediction": "neutral"} for name in build(request_).rows["id"][:]]
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in change(rows)))
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[:-2], "2 of the set's 288 rows have no prediction, first 'ours-47#3'"),
        (lambda rows: [*rows, rows[0]], "line 289: the id 'ours-0#-1' was met before"),
        (lambda rows: [{"id": "x", "prediction": "neutral"}, *rows], "line 1: the set has no row with the id 'x'"),
        (lambda rows: [{**rows[0], "prediction": "maybe"}, *rows[1:]], "line 1: expected a prediction of entailment"),
        (lambda rows: [{"id": row["id"]} for row in rows], "expected the columns id and either prediction or"),
    ],
)
def test_a_bad_predictions_file_is_named_with_its_line(tmp_path, request_, change, words):
    path = _predictions(tmp_path, request_, change)
    with pytest.raises(DataError, match=re.escape(words)):
        evaluate_file(path, request_, out=tmp_path / "scored")
    assert not (tmp_path / "scored").exists()


def test_a_constant_prediction_has_its_labels_share(tmp_path, request_):
    result = evaluate_file(_predictions(tmp_path, request_, list), request_, out=tmp_path / "scored")
    assert result.scores["omega_max"].value == result.scores["omega_rand"].value == pytest.approx(1 / 3)


def test_no_usable_pair_is_said(tmp_path, request_):
    none = Request("permuted", options={**request_.options, "min_words": 50})
    with pytest.raises(ValueError, match=r"none of the pairs can be used.*min_words=50"):
        build(none)


def test_an_exported_set_loads_with_plain_datasets(tmp_path, request_):
    datasets = pytest.importorskip("datasets")
    record = export(request_, tmp_path / "set.parquet")
    rows = datasets.load_dataset("parquet", data_files=str(tmp_path / "set.parquet"), split="train")
    assert len(rows) == record["rows"] == 288
    assert rows.features["label"].names == LABELS
    assert rows.to_list() == build(request_).rows.to_list()
    assert tokenize(rows[1]["premise"]).length == rows[0]["premise_words"]


def test_results_of_another_schema_are_refused(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"schema": 99, "results": []}')
    with pytest.raises(ValueError, match="expected results of schema 1, found schema 99"):
        results.read(path)
    path.write_text("[]")
    with pytest.raises(ValueError, match="expected a results file of unbag"):
        results.read(path)


@pytest.mark.parametrize(("kind", "needs"), [("causal", "torch"), ("endpoint", "openai")])
def test_a_language_model_that_takes_words_for_others_is_told_of_options_it_has(
    tmp_path, request_, caplog, kind, needs
):
    taken_for = {"entailment": "entailment", "neutral": "contradiction", "contradiction": "neutral"}
    answers = {(premise, hypothesis): taken_for[label] for premise, hypothesis, label in PAIRS["en"]}
    model = CallablePredictor(lambda p, h: [answers.get(pair, "neutral") for pair in zip(p, h, strict=True)])
    model.identity = {"kind": kind, "name": "tiny"}
    [result] = unbag.evaluate(model, [request_], out=tmp_path / "out")
    assert result.model["label_probe"] == {"en": "4 of 12"}
    [said] = [record.getMessage() for record in caplog.records if record.name == "unbag.evaluation"]
    assert said.startswith(
        "tiny gets 4 of 12 obvious pairs right, and 12 of 12 read with Maybe as contradiction and No as neutral"
    )
    options = {option.removeprefix("no-") for option in re.findall(r"--([a-z-]+)", said)}
    assert options == ({"shots", "chat"} if kind == "causal" else {"shots"})
    pytest.importorskip(needs)
    assert options <= prompted_options(kind)
