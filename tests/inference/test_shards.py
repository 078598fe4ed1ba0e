"""Tests of shards, unconnected processes with a common folder: together they predict each row once."""

import pytest

from tests.inference.test_runner import ROWS, SUBJECTS, CountingPredictor
from unbag.inference.function import CallablePredictor
from unbag.inference.runner import Shard, predict_rows, predict_shard

CHUNK = 9  # 12 chunks for 100 rows
CODE = {**SUBJECTS, **CountingPredictor().version}  # functions of another file that count as the same version


def read_chunks(predictions):
    folder = predictions.folder
    return {name: folder.read(name) for name in folder.list_names() if name.startswith("part-")}


def run_shard(folder, index, of, predictor, **options):
    predict_shard(ROWS, predictor, folder, Shard(index, of), chunk_rows=CHUNK, **options)


@pytest.fixture(scope="module")
def uninterrupted_run(tmp_path_factory):
    found = predict_rows(ROWS, CountingPredictor(), tmp_path_factory.mktemp("unbroken"), chunk_rows=CHUNK)
    return read_chunks(found)


@pytest.mark.parametrize("kind", ["a path", "memory"])
def test_three_shards_predict_each_row_once(tmp_path, kind, uninterrupted_run):
    folder = tmp_path if kind == "a path" else f"memory://{tmp_path.name}"
    predictors = [CountingPredictor() for _ in range(3)]
    for index in (2, 0, 1):
        run_shard(folder, index, 3, predictors[index])
    assert sorted(sum(predictor.calls) for predictor in predictors) == [28, 36, 36]
    whole = CountingPredictor()
    found = predict_rows(ROWS, whole, folder, chunk_rows=CHUNK)
    assert (whole.calls, found.reused) == ([], 100)
    assert read_chunks(found) == uninterrupted_run


def test_run_after_shards_predicts_missing_and_damaged_chunks(tmp_path, uninterrupted_run):
    asked = []

    def predict_and_record(premises, hypotheses):
        asked.append(ROWS["premise"][:].index(premises[0]) // CHUNK)
        return CountingPredictor().predict(premises, hypotheses)

    told, predictor = [], CallablePredictor(predict_and_record, identity=CODE)
    run_shard(tmp_path, 1, 4, predictor, progress=lambda *each: told.append(each))
    first, *_ = own = list(asked)
    assert own == [first, first + 4, first + 8]
    assert [done for done, _ in told[:3]] == [0, 9, 18]
    [part] = tmp_path.glob(f"*/part-{first + 4:05}.parquet")
    part.write_bytes(part.read_bytes()[:-100])
    run_shard(tmp_path, 1, 4, predictor)
    assert asked[3:] == [first + 4]
    found = predict_rows(ROWS, predictor, tmp_path, chunk_rows=CHUNK)
    assert sorted(asked[4:]) == sorted({*range(12)} - {*own})
    assert read_chunks(found) == uninterrupted_run


def test_invalid_shard_and_unidentified_predictor_are_rejected(tmp_path):
    assert (Shard.parse("2/3").index, Shard.parse("2/3").of) == (2, 3)
    for text in ("3/3", "1", "-1/3", "1/3/4"):
        with pytest.raises(ValueError, match="expected I/N with I"):
            Shard.parse(text)
    with pytest.raises(ValueError, match="expected a model that every process can identify"):
        run_shard(tmp_path, 0, 2, CallablePredictor(lambda premises, hypotheses: ["neutral"] * len(premises)))


def predict_neutral(premises, hypotheses):
    return ["neutral"] * len(premises)


def test_function_reuses_only_predictions_of_shards(tmp_path, caplog):
    for _ in range(2):
        assert predict_rows(ROWS, CallablePredictor(predict_neutral), tmp_path, chunk_rows=CHUNK).reused == 0
    assert not caplog.records
    run_shard(tmp_path, 0, 2, CallablePredictor(predict_neutral))
    assert predict_rows(ROWS, CallablePredictor(predict_neutral), tmp_path, chunk_rows=CHUNK).reused in (46, 54)
    assert "reusing the predictions of earlier shards" in caplog.text
