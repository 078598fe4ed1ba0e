"""Tests of tables of predictions, of rows in parts and of engines."""

import json

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, Value

import unbag
from tests import factories
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.challenge_sets.views.examples import ExampleSelection
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.prediction_table import write_prediction_table
from unbag.evaluation.ray.building import META, load_parts, read_metadata
from unbag.evaluation.scoring import ScoredResult
from unbag.utils.safe_io import DataError
from unbag.utils.storage import StorageFolder

AWKWARD = 'He said "no", twice;\nthen he left.'

FEATURES = Features({name: Value("string") for name in ("id", "source_id", "premise", "hypothesis")})
FEATURES["label"] = ClassLabel(names=list(LABELS))


def _write_rows(texts, labels):
    ids = [f"row-{number}" for number in range(len(texts))]
    columns = {"id": ids, "source_id": ids, "premise": texts, "hypothesis": ["=1+1, or Ünïcode"] * len(texts)}
    return Dataset.from_dict({**columns, "label": labels}, features=FEATURES)


def _score(name, rows, predictions):
    result = factories.build_result(name)
    return ScoredResult(result, ExampleSelection("plain", name, "", "rule", ()), rows, predictions)


def _read_csv(path):
    return pandas.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def by_length(premises, hypotheses):
    """Return probabilities that depend on both sentences."""
    rows = np.array([[len(p), len(h), 40] for p, h in zip(premises, hypotheses, strict=True)], dtype=float)
    return rows / rows.sum(axis=1, keepdims=True)


def test_awkward_text_round_trips_through_csv(tmp_path):
    answers = SetPredictions(np.array([[0.1234567, 0.8, 0.0765433], [0.5, 0.25, 0.25]], dtype=np.float32), LABELS, True)
    scored = _score("model", _write_rows([AWKWARD, "Plain."], [0, 2]), answers)
    write_prediction_table([scored], tmp_path / "rows.csv")
    first, second = _read_csv(tmp_path / "rows.csv")
    cells = {"model": "model", "set": "plain", "data": "ours.jsonl", "id": "row-0"}
    cells |= {"premise": AWKWARD, "hypothesis": "=1+1, or Ünïcode", "gold": "entailment", "prediction": "neutral"}
    assert first == cells | {"entailment": "0.123457", "neutral": "0.8", "contradiction": "0.0765433"}
    assert (second["gold"], second["prediction"]) == ("contradiction", "entailment")


def test_other_label_spaces_have_empty_cells(tmp_path):
    rows = _write_rows(["One.", "Two."], [1, 2])
    two_way = SetPredictions(np.array([[0.75, 0.25], [0.25, 0.75]]), TWO_WAY, True)
    unsure = SetPredictions(np.full((2, 3), 1 / 3), LABELS, True, np.array([True, False]))
    only_labels = SetPredictions(np.eye(3)[[1, 1]], LABELS, has_probabilities=False)
    scored = [
        _score(name, rows, answers) for name, answers in (("two", two_way), ("unsure", unsure), ("labels", only_labels))
    ]
    write_prediction_table(scored, tmp_path / "rows.csv")
    found = _read_csv(tmp_path / "rows.csv")
    assert len(found) == 6
    assert [(row["gold"], row["prediction"]) for row in found] == [
        *(("not_entailment", "entailment"), ("not_entailment", "not_entailment")),
        *(("neutral", "none"), ("contradiction", "entailment")),
        *(("neutral", "neutral"), ("contradiction", "neutral")),
    ]
    probabilities = [[row[label] for label in (*LABELS, "not_entailment")] for row in found]
    assert probabilities[0] == ["0.75", "", "", "0.25"]
    assert probabilities[2] == probabilities[4] == [""] * 4
    assert probabilities[3] == ["0.333333"] * 3 + [""]


def test_predictions_csv_scores_equal_run(tmp_path):
    path, out = tmp_path / "rows.csv", tmp_path / "out"
    [result] = unbag.evaluate(by_length, "swapped", output_dir=out, predictions_csv=path, **factories.QUICK)
    request = SetRequest("swapped", options={"data": factories.QUICK["data"]}, max_examples=30)
    found, rows = _read_csv(path), build_requested_set(request).rows
    assert [(row["id"], row["premise"]) for row in found] == list(zip(rows["id"], rows["premise"], strict=True))
    assert [row["gold"] for row in found] == [LABELS[label] for label in rows["label"]]
    again = factories.score_file(path, request, output_dir=tmp_path / "scored", lexical_baseline=False)
    assert again.scores["accuracy_after"] == result.scores["accuracy_after"]
    assert 0 < result.scores["accuracy_after"].value < 1, "else any answers would do"


def test_predictions_csv_of_several_models_is_ordered_by_set(tmp_path):
    path, sets, data = tmp_path / "rows.csv", ["swapped", "plain"], factories.QUICK["data"]
    evaluate_all(
        ["majority", by_length],
        [SetRequest(name, options={"data": data}, max_examples=3) for name in sets],
        output_dir=tmp_path / "run",
        predictions_csv=path,
        lexical_baseline=False,
        shuffled=False,
        train_data=[data],
    )
    blocks = list(dict.fromkeys((row["set"], row["model"]) for row in _read_csv(path)))
    assert blocks == [(name, model) for name in sets for model in ("majority", "by_length")]


def test_parts_are_loaded_in_order_and_damaged_ones_rejected(tmp_path):
    folder, schema = StorageFolder(f"memory://{tmp_path.name}/rows"), pa.schema({"id": pa.string()})
    for name, texts in (("a", ["x", "y", "x"]), ("b", ["z"])):
        table = pa.table({"id": texts}).replace_schema_metadata({META: json.dumps({"key": name})})
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer, write_page_checksum=True)
        folder.write(name, buffer.getvalue().to_pybytes())
    folder.write("damaged", b"PAR1")
    assert load_parts(folder, ["a", "b"], schema, tmp_path / "rows")["id"][:] == ["x", "y", "x", "z"]
    assert len(load_parts(folder, [], schema, tmp_path / "none")) == 0
    found = [read_metadata(folder, name) for name in ("a", "b", "damaged", "none")]
    assert found == [{"key": "a"}, {"key": "b"}, None, None]
    with pytest.raises(DataError, match="damaged: expected a readable file"):
        load_parts(folder, ["damaged"], schema, tmp_path / "damaged")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"shard": "0/2"}, "output_dir: expected a folder or URL that all processes share"),
        ({"output_dir": "run", "shard": "0/2", "predictions_csv": "rows.csv"}, "expected a run without --shard"),
        ({"predictions_csv": "."}, "expected a file"),
        ({"engine": "spark"}, "--engine: expected 'ray' or no value, got 'spark'"),
        ({"num_gpus": 0.5}, "--num-gpus: expected --engine ray, got no engine"),
        ({"engine": "ray", "shard": "0/2"}, "--engine: cannot be combined with --shard, because both options distri"),
        ({"engine": "ray"}, "--engine ray: expected a single process, got a launcher"),
    ],
)
def test_unsuitable_table_or_engine_is_rejected(options, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if options == {"engine": "ray"}:
        monkeypatch.setenv("LOCAL_RANK", "0")
        monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=why):
        unbag.evaluate(by_length, "plain", **factories.QUICK, **options)
