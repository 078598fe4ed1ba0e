"""Tests of shards, unconnected processes with a common folder: together they predict each row once."""

import threading
import time

import pytest

from tests.inference.test_runner import ROWS, SUBJECTS, CountingPredictor
from unbag.data.labels import LABELS
from unbag.inference import CallablePredictor, predict_rows
from unbag.inference.runner import PredictionJob
from unbag.inference.shards import LeaseManager, Shard, build_shared_job, describe_lease, predict_shard
from unbag.utils.storage import StorageFolder

CHUNK = 9  # 12 chunks for 100 rows
CODE = {**SUBJECTS, **CountingPredictor().version}  # functions of another file that count as the same version


def read_chunks(store):
    return {name: store.folder.read(name) for name in store.folder.list_names() if name.startswith("part-")}


def run_shard(folder, index, of, predictor, lease=30.0):
    return predict_shard(build_shared_job(ROWS, predictor, folder, chunk_rows=CHUNK), Shard(index, of, lease))


@pytest.fixture(scope="module")
def uninterrupted_run(tmp_path_factory):
    found = predict_rows(ROWS, CountingPredictor(), tmp_path_factory.mktemp("unbroken"), chunk_rows=CHUNK)
    return read_chunks(found.store)


@pytest.mark.parametrize("kind", ["a path", "memory"])
def test_three_shards_predict_each_row_once(tmp_path, kind, uninterrupted_run):
    folder = tmp_path if kind == "a path" else f"memory://{tmp_path.name}"
    predictors, found = [CountingPredictor() for _ in range(3)], [None] * 3

    def run(index):
        found[index] = run_shard(folder, index, 3, predictors[index])

    threads = [threading.Thread(target=run, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)  # on `memory://`, a claim takes two steps, so threads must not claim at the same time
    for thread in threads:
        thread.join()
    assert sum(sum(predictor.calls) for predictor in predictors) == 100, "each row is asked once"
    assert all(read_chunks(one.store) == uninterrupted_run for one in found)
    assert (found[0].store.folder / "claims").list_names() == []


def test_shard_continues_with_chunks_of_absent_shards(tmp_path, uninterrupted_run, caplog):
    asked = []

    def predict_and_record(premises, hypotheses):
        asked.append(ROWS["premise"][:].index(premises[0]) // CHUNK)
        return CountingPredictor().predict(premises, hypotheses)

    found = run_shard(tmp_path, 1, 4, CallablePredictor(predict_and_record, identity=CODE))
    assert asked[:3] == [1, 5, 9]
    assert sorted(asked) == list(range(12))
    assert read_chunks(found.store) == uninterrupted_run
    assert "found no other running shard" in caplog.text


def test_claim_of_dead_shard_expires(tmp_path, uninterrupted_run):
    class KilledPredictor(BaseException):
        pass

    def raise_killed(premises, hypotheses):
        dead.append(len(premises))
        if len(dead) == 3:
            raise KilledPredictor
        return CountingPredictor().predict(premises, hypotheses)

    dead, lease, predictor = [], 0.5, CountingPredictor()
    work = build_shared_job(ROWS, CallablePredictor(raise_killed, identity=CODE), tmp_path, chunk_rows=CHUNK)
    real_exit, LeaseManager.__exit__ = (
        LeaseManager.__exit__,
        lambda claims, *_: claims._ended.set(),
    )  # no claim is released
    try:
        with pytest.raises(KilledPredictor):
            predict_shard(work, Shard(0, 2, lease))
    finally:
        LeaseManager.__exit__ = real_exit
    folder = work.store.folder / "claims"
    assert len(folder.list_names()) == 2, "the piece that was being made, and the shard"
    found = run_shard(tmp_path, 1, 2, predictor, lease)
    assert sum(predictor.calls) == 100 - 2 * CHUNK, "what was stored is not made again"
    assert read_chunks(found.store) == uninterrupted_run


def test_live_shard_keeps_its_claims(tmp_path):
    folder = StorageFolder(tmp_path)
    with LeaseManager(folder, "one", lease=1) as one, LeaseManager(folder, "other", lease=1) as other:
        assert one.take("a")
        assert one.take("a")
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            assert not other.take("a")
            time.sleep(0.02)
        assert describe_lease(folder.read("a.json")).startswith("one (process ")
        one.release("a")
        assert other.take("a")
        one.release("a")
        assert describe_lease(folder.read("a.json")).startswith("other")
    assert folder.list_names() == []


def test_nonexclusive_claims_are_checked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(StorageFolder, "is_exclusive", False)
    folder = StorageFolder(tmp_path)
    with LeaseManager(folder, "one", lease=6) as one, LeaseManager(folder, "other", lease=6) as other:
        taken = []
        threads = [threading.Thread(target=lambda who=who: taken.append(who.take("a"))) for who in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert taken.count(True) == 1


@pytest.mark.parametrize("kind", ["a function", "a model"])
def test_chunk_shards_equal_whole_chunk_bit_for_bit(tmp_path, kind, request):
    def predictor():
        if kind == "a model":
            from unbag.inference import TransformerPredictor

            folder = request.getfixturevalue("tiny_bert")
            return TransformerPredictor.load(folder, max_length=14, batch_tokens=60)
        return CountingPredictor()

    whole = predict_rows(ROWS, predictor(), tmp_path / "a", chunk_rows=60)
    work = PredictionJob.from_rows(ROWS, predictor(), tmp_path / "b", chunk_rows=60)
    pieces = work.store.list_chunk_shards(range(2), 3)
    assert sum(map(work.estimate_rows, pieces)) == 100
    for piece in pieces[::-1]:
        work.predict(piece, save_every=0)
    assert read_chunks(work.store) == read_chunks(whole.store)
    assert work.store.folder.list_names() == ["part-00000.parquet", "part-00001.parquet"]
    # Started by three shards and finished by one.
    again = PredictionJob.from_rows(ROWS, predictor(), tmp_path / "c", chunk_rows=60)
    again.predict(pieces[1])
    resumed = predict_rows(ROWS, predictor(), tmp_path / "c", chunk_rows=60)
    assert read_chunks(resumed.store) == read_chunks(whole.store)
    assert (resumed.store.folder / "unfinished").list_names() == []


def test_complete_chunk_shards_are_joined_by_next_process(tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.inference.runner._MIN_SHARD_ROWS", 3)
    work = build_shared_job(ROWS, CountingPredictor(), tmp_path, chunk_rows=60)
    assert work.choose_shards_per_chunk(2) == 8
    monkeypatch.setattr(PredictionJob, "join_shards", lambda self, chunk: None)  # as if killed before joining
    for piece in work.store.list_chunk_shards([0, 1], 8):
        work.predict(piece)
    monkeypatch.undo()
    monkeypatch.setattr("unbag.inference.runner._MIN_SHARD_ROWS", 3)
    later = CountingPredictor()
    found = predict_shard(build_shared_job(ROWS, later, tmp_path, chunk_rows=60), Shard(1, 2))
    assert later.calls == []
    assert found.load_table().equals(
        predict_rows(ROWS, CountingPredictor(), tmp_path / "b", chunk_rows=60).load_table()
    )


def test_progress_counts_chunk_shards_once(tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.inference.runner._MIN_SHARD_ROWS", 3)
    predictor, validate_in_threads = CountingPredictor(), []
    work = build_shared_job(ROWS, predictor, tmp_path, chunk_rows=60)
    predict_shard(work, Shard(0, 2), progress=lambda done, _: validate_in_threads.append((done, sum(predictor.calls))))
    assert len(predictor.calls) == 2 * 8
    assert validate_in_threads == sorted(set(validate_in_threads)), "it only grows"
    assert all(abs(done - asked) < 8 for done, asked in validate_in_threads), "a share tells of no other's rows"
    assert validate_in_threads[-1] == (100, 100)


def test_number_of_listings_does_not_depend_on_missing_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.inference.runner._MIN_SHARD_ROWS", 3)
    work = build_shared_job(ROWS, CountingPredictor(), tmp_path, chunk_rows=10)
    assert work.choose_shards_per_chunk(8) > 1
    monkeypatch.setattr(LeaseManager, "take", lambda *_: False)  # other shards hold all claims
    listings, names = [], StorageFolder.list_names
    monkeypatch.setattr(StorageFolder, "list_names", lambda folder: listings.append(folder) or names(folder))
    predict_shard(work, Shard(0, 8), wait=False)
    assert len(listings) < 10


def test_few_rows_are_divided_and_many_are_not(tmp_path):
    def split_rows(rows, processes, chunk_rows=4096):
        work = PredictionJob.from_rows(ROWS.select([0] * rows), CountingPredictor(), tmp_path, chunk_rows=chunk_rows)
        return work.choose_shards_per_chunk(processes)

    assert split_rows(100, 8) == 1, "less is not worth the tokens that are made twice"
    assert split_rows(2_000, 1) == 1
    assert split_rows(2_000, 8) == 7
    assert split_rows(10_000, 8) == 16
    assert split_rows(10_000, 2) == 6
    assert split_rows(10_000, 8, chunk_rows=100) == 1


def test_invalid_shard_is_rejected():
    assert (Shard.parse("2/3").index, Shard.parse("2/3").of) == (2, 3)
    for text in ("3/3", "1", "0/0", "-1/3", "a/b", "1/3/4"):
        with pytest.raises(ValueError, match="expected a shard as i/n"):
            Shard.parse(text)


def build_constant_function(answer):
    return lambda premises, hypotheses: [answer] * len(premises)


class NeutralModel:
    def predict(self, premises, hypotheses):
        return ["neutral"] * len(premises)


@pytest.mark.parametrize(
    "fn",
    [
        print,
        build_constant_function("neutral"),
        NeutralModel().predict,
        lambda premises, hypotheses: ["neutral"] * len(premises),
    ],
    ids=["in no file", "a closure", "a method", "a lambda"],
)
def test_unidentified_predictor_is_rejected(tmp_path, fn):
    with pytest.raises(ValueError, match="expected a model that every process can identify"):
        build_shared_job(ROWS, CallablePredictor(fn), tmp_path)


def test_function_key_depends_on_file_and_label_map(tmp_path):
    one, other = (build_shared_job(ROWS, CallablePredictor(read_chunks), tmp_path).store.key for _ in range(2))
    assert one == other
    maps = [dict(zip("012", labels, strict=True)) for labels in (LABELS, LABELS[::-1])]
    right, wrong = (
        build_shared_job(ROWS, CallablePredictor(read_chunks, label_map=each), tmp_path).store.key for each in maps
    )
    assert len({one, right, wrong}) == 3, "a label map that was mended finds no answers of the one before"
