import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.inference.predict_child import make_rows, predict_from_hash
from unbag.data.labels import LABELS, TWO_WAY
from unbag.inference.function import CallablePredictor
from unbag.inference.prediction_store import StoredPredictions, StoreError
from unbag.inference.runner import predict_rows

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


def test_second_run_makes_no_predictions(tmp_path):
    first, again = run_prediction(tmp_path), CountingPredictor()
    second = run_prediction(tmp_path, again)
    assert again.calls == []
    assert (first.reused, second.reused) == (0, 100)
    assert second.table.equals(first.table)


def test_filtered_and_formatted_rows_have_same_key(tmp_path):
    """The key depends on the content, also for datasets with an index map, shards or a format."""
    run_prediction(tmp_path)
    again = CountingPredictor()
    pieces = [ROWS.select(range(0, 37)), ROWS.select(range(37, 100))]
    run_prediction(tmp_path, again, rows=datasets.concatenate_datasets(pieces).with_format("numpy"))
    run_prediction(tmp_path, again, rows=ROWS.select(list(range(99, -1, -1))).select(list(range(99, -1, -1))))
    assert again.calls == []


def test_interrupted_run_predicts_only_missing_chunks(tmp_path):
    calls = []

    def fails_at_the_third(premises, hypotheses):
        calls.append(len(premises))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return predict_from_hash(premises, hypotheses)

    with pytest.raises(KeyboardInterrupt):
        run_prediction(tmp_path / "a", CallablePredictor(fails_at_the_third, identity=SUBJECTS))
    rest = CountingPredictor()
    resumed = run_prediction(tmp_path / "a", rest)
    assert rest.calls == [30, 10]
    assert resumed.reused == 60
    unbroken = run_prediction(tmp_path / "b")
    names = sorted(path.name for path in unbroken.folder.path.glob("part-*"))
    assert len(names) == 4
    assert all(
        (resumed.folder.path / name).read_bytes() == (unbroken.folder.path / name).read_bytes() for name in names
    )


def rewrite_file(file, change):
    table = pq.read_table(file)
    pq.write_table(change(table), file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[:-200]),
        lambda file: file.unlink(),
        lambda file: rewrite_file(file, lambda table: table.slice(0, 29)),
        lambda file: rewrite_file(file, lambda table: table.take(list(range(29, -1, -1)))),
        lambda file: rewrite_file(file, lambda table: table.set_column(2, "entailment", table.column("neutral"))),
        lambda file: file.write_bytes(file.with_name("part-00000.parquet").read_bytes()),
    ],
    ids=["truncated", "gone", "row lost", "reordered", "changed", "another part"],
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


def test_progress_counts_reused_rows_and_batches(tmp_path):
    seen = []
    run_prediction(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 100), (30, 100), (60, 100), (90, 100), (100, 100)]
    (run_prediction(tmp_path).folder.path / "part-00001.parquet").unlink()
    seen.clear()
    run_prediction(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(70, 100), (100, 100)]


def test_empty_rows_give_empty_table(tmp_path):
    found = run_prediction(tmp_path, rows=ROWS.select([]))
    assert len(found) == 0
    assert found.table.column_names == ["id", "source_id", *LABELS]
    assert run_prediction(tmp_path, rows=ROWS.select([])).table.num_rows == 0


def test_invalid_predictions_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"without \['source_id'\]"):
        run_prediction(tmp_path, rows=ROWS.remove_columns("source_id"))
    with pytest.raises(ValueError, match=r"column .hypothesis., got none in row 50"):
        run_prediction(
            tmp_path, rows=ROWS.map(lambda row, i: {"hypothesis": None if i == 50 else "a"}, with_indices=True)
        )
    with pytest.raises(ValueError, match="expected 30 predictions for 30 pairs, got 1"):
        run_prediction(tmp_path, CountingPredictor(fn=lambda premises, hypotheses: ["neutral"]))


def test_folder_without_predictions_is_rejected(tmp_path):
    with pytest.raises(StoreError, match=r"with a manifest\.json"):
        StoredPredictions.from_folder(tmp_path)


def test_model_resumes_bit_for_bit_with_truncation_count(tiny_bert, tmp_path):
    from unbag.inference.transformer import TransformerPredictor

    def predictor():
        return TransformerPredictor.load(tiny_bert, max_length=14, batch_tokens=60)

    seen = []
    whole = run_prediction(tmp_path / "a", predictor(), progress=lambda done, total: seen.append(done))
    assert len(seen) > 10  # after every batch, not only after every chunk
    assert whole.truncated > 0
    broken = run_prediction(tmp_path / "b", predictor())
    for part in (0, 2):
        (broken.folder.path / f"part-0000{part}.parquet").unlink()
    resumed = run_prediction(tmp_path / "b", predictor())
    assert resumed.reused == 40
    assert resumed.truncated == whole.truncated
    for part in whole.folder.path.glob("part-*"):
        assert (resumed.folder.path / part.name).read_bytes() == part.read_bytes()
    half = run_prediction(
        tmp_path / "b", TransformerPredictor.load(tiny_bert, max_length=14, batch_tokens=60, dtype="bfloat16")
    )
    assert half.folder.path != resumed.folder.path


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
    rest = BatchPredictor()
    resumed = run_prediction(tmp_path / "a", rest)
    assert (resumed.reused, sum(rest.asked), resumed.truncated) == (30, 70, 4)
    assert resumed.table.equals(run_prediction(tmp_path / "b").table)
    parts = [f"part-{part:05}.parquet" for part in range(4)]
    assert sorted(path.name for path in resumed.folder.path.iterdir()) == ["manifest.json", *parts]
