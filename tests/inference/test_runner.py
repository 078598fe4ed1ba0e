"""Tests of stored predictions, in one process and in shards: unconnected processes with a common folder."""

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.inference.predict_child import make_rows, predict_from_hash
from unbag.data.labels import LABELS, TWO_WAY
from unbag.inference.function import CallablePredictor
from unbag.inference.prediction_store import StoredPredictions, StoreError
from unbag.inference.runner import Shard, predict_rows, predict_shard

ROWS = make_rows(100)
SUBJECTS = {"model": "hashed", "version": "1"}


class CountingPredictor(CallablePredictor):
    """Records the number of pairs of each call."""

    def __init__(self, fn=predict_from_hash, **options):
        self.calls = []

        def predict_and_record(premises, hypotheses):
            self.calls.append(len(premises))
            return fn(premises, hypotheses)

        super().__init__(predict_and_record, **{"identity": SUBJECTS, **options})


def run_prediction(folder, predictor=None, rows=ROWS, **options):
    return predict_rows(rows, predictor or CountingPredictor(), folder, chunk_rows=30, **options)


def test_predictions_follow_row_order(tmp_path):
    predictor = CountingPredictor()
    found = run_prediction(tmp_path, predictor)
    assert predictor.calls == [30, 30, 30, 10]
    table = found.table
    assert table.column_names == ["id", "source_id", *LABELS]
    assert table.column("id").to_pylist() == ROWS["id"]
    assert table.column("source_id").to_pylist() == ROWS["source_id"]
    values = np.stack([table.column(label).to_numpy() for label in LABELS], axis=1)
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, np.float32(predict_from_hash(ROWS["premise"], ROWS["hypothesis"])))
    assert len(found) == 100
    assert StoredPredictions.from_folder(found.folder.path).table.equals(table)


def test_filtered_and_formatted_rows_have_same_key(tmp_path):
    """The key depends on the content, also for datasets with an index map, shards or a format."""
    first, again = run_prediction(tmp_path), CountingPredictor()
    pieces = [ROWS.select(range(0, 37)), ROWS.select(range(37, 100))]
    for rows in (
        datasets.concatenate_datasets(pieces).with_format("numpy"),
        ROWS.select(list(range(99, -1, -1))).select(list(range(99, -1, -1))),
    ):
        second = run_prediction(tmp_path, again, rows=rows)
        assert (first.reused, second.reused, again.calls) == (0, 100, [])
        assert second.table.equals(first.table)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-200]),
        lambda file: file.unlink(),
        lambda file: pq.write_table(pq.read_table(file).slice(0, 29), file),
        lambda file: file.write_bytes(file.with_name("part-00000.parquet").read_bytes()),
    ],
    ids=["truncated", "gone", "row lost", "another part"],
)
def test_damaged_chunk_is_predicted_again(tmp_path, damage):
    good = run_prediction(tmp_path)
    expected = good.table
    damage(good.folder.path / "part-00001.parquet")
    with pytest.raises(StoreError, match=r"part-00001.*run"):
        StoredPredictions.from_folder(good.folder.path)
    again = CountingPredictor()
    assert run_prediction(tmp_path, again).table.equals(expected)
    assert again.calls == [30]


def test_flipped_bits_are_detected(tmp_path):
    good = run_prediction(tmp_path)
    expected, file = good.table, good.folder.path / "part-00002.parquet"
    whole = file.read_bytes()
    places = np.random.default_rng(0).choice(len(whole), size=80, replace=False)
    noticed = 0
    for place in places:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:  # some bytes of a Parquet file have no effect
            assert StoredPredictions.from_folder(good.folder.path).table.equals(expected)
            assert StoredPredictions.from_folder(good.folder.path).truncated == 0
        except StoreError:
            noticed += 1
    assert noticed > 40
    assert run_prediction(tmp_path).table.equals(expected)


def test_key_depends_on_predictor_rows_and_chunk_size(tmp_path):
    def changed(name, value):
        return ROWS.map(lambda row, index: {name: value if index == 50 else row[name]}, with_indices=True)

    runs = [
        run_prediction(tmp_path),
        run_prediction(tmp_path, CountingPredictor(identity=SUBJECTS | {"version": "2"})),
        run_prediction(
            tmp_path,
            CountingPredictor(
                fn=lambda p, h: [[row[0], 1 - row[0]] for row in predict_from_hash(p, h)], label_space=TWO_WAY
            ),
        ),
        run_prediction(tmp_path, rows=ROWS.select(range(99))),
        run_prediction(tmp_path, rows=changed("premise", "a dog")),
        run_prediction(tmp_path, rows=changed("id", "row-x")),
        run_prediction(tmp_path, rows=changed("source_id", "source-x")),
        predict_rows(ROWS, CountingPredictor(), tmp_path, chunk_rows=31),
    ]
    assert len({found.folder.path for found in runs}) == len(runs)
    assert all(found.reused == 0 for found in runs)
    assert run_prediction(tmp_path, rows=changed("label", 1)).reused == 100  # the label is no input of the model


def test_predictions_of_unidentified_predictor_are_not_reused(tmp_path):
    first, second = (run_prediction(tmp_path, CountingPredictor(identity=None)) for _ in range(2))
    assert second.reused == 0
    assert first.folder.path != second.folder.path
    assert first.folder.path.name.startswith("once-")
    assert first.table.equals(second.table)


def test_label_only_predictions_are_marked(tmp_path):
    names = CountingPredictor(fn=lambda premises, hypotheses: ["neutral"] * len(premises))
    assert not run_prediction(tmp_path, names).has_probabilities
    resumed = CountingPredictor(fn=lambda premises, hypotheses: pytest.fail("asked again"))
    assert not run_prediction(tmp_path, resumed).has_probabilities
    assert run_prediction(tmp_path / "other").has_probabilities


def test_empty_rows_give_empty_table(tmp_path):
    found = run_prediction(tmp_path, rows=ROWS.select([]))
    assert len(found) == 0
    assert found.table.column_names == ["id", "source_id", *LABELS]
    assert run_prediction(tmp_path, rows=ROWS.select([])).table.num_rows == 0


def test_invalid_rows_and_folder_without_predictions_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"without \['source_id'\]"):
        run_prediction(tmp_path, rows=ROWS.remove_columns("source_id"))
    with pytest.raises(ValueError, match=r"column .hypothesis., got none in row 50"):
        run_prediction(
            tmp_path, rows=ROWS.map(lambda row, i: {"hypothesis": None if i == 50 else "a"}, with_indices=True)
        )
    with pytest.raises(StoreError, match=r"with a manifest\.json"):
        StoredPredictions.from_folder(tmp_path)


class BatchPredictor(CountingPredictor):
    """Predicts batches of seven pairs in reverse order, and optionally stops after some batches."""

    def __init__(self, stop_after=None, **options):
        super().__init__(**options)
        self.asked, self.stop_after, self.truncated = [], stop_after, 0

    def iter_batches(self, premises, hypotheses):
        self.truncated += 1  # as a predictor that reads all pairs first
        for first in reversed(range(0, len(premises), 7)):
            rows = np.arange(first, min(first + 7, len(premises)))
            if self.stop_after is not None and len(self.asked) == self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(len(rows))
            yield (
                rows,
                np.float32(predict_from_hash([premises[row] for row in rows], [hypotheses[row] for row in rows])),
            )


def test_batches_count_as_progress_and_complete_chunks_are_kept(tmp_path):
    told = []
    with pytest.raises(KeyboardInterrupt):
        run_prediction(tmp_path / "a", BatchPredictor(8), progress=lambda *each: told.append(each))
    assert [done for done, _ in told] == [0, 2, 9, 16, 23, 30, 32, 39, 46]
    rest, told = BatchPredictor(), []
    resumed = run_prediction(tmp_path / "a", rest, progress=lambda *each: told.append(each))
    assert told[:2] == [(30, 100), (32, 100)]
    assert (resumed.reused, sum(rest.asked), resumed.truncated) == (30, 70, 4)
    assert resumed.table.equals(run_prediction(tmp_path / "b").table)
    parts = [f"part-{part:05}.parquet" for part in range(4)]
    assert sorted(path.name for path in resumed.folder.path.iterdir()) == ["manifest.json", *parts]


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
