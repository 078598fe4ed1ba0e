"""Tests of damaged caches and stored predictions: recreated and never used."""

import gc
import json
import re

import pytest

from tests.inference.test_runner import CountingPredictor, run_prediction
from tests.robustness.command import ALL, sample_inputs
from tests.robustness.damage import DAMAGES, SEEDS, apply_damage, flip_bit, truncate
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.baselines.lexical.model import LexicalModel
from unbag.challenge_sets import loading
from unbag.inference import StoredPredictions
from unbag.utils import checksums
from unbag.utils.sqlite_cache import SqliteCache

EVERY = pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 2), ids=lambda damage: damage.__name__)


@EVERY
@pytest.mark.parametrize("ending", [".arrow", "dataset_info.json", checksums.FILE])
def test_damaged_built_set_is_rebuilt(sixty_pairs, tmp_path, caplog, damage, ending):
    def build():
        rows = loading.load("plain", data=str(sixty_pairs), cache_dir=tmp_path / "sets")
        return rows.to_list(), rows.cache_files[0]["filename"]

    expected, file = build()
    [path] = [path for path in (tmp_path / "sets").rglob(f"*{ending}") if str(path.parent) in file]
    for seed in SEEDS:
        caplog.clear()
        damaged = apply_damage(damage, path, seed)
        assert build()[0] == expected
        assert ("building it again" in caplog.text and path.name in caplog.text) == damaged


def test_built_set_with_missing_file_is_rebuilt(sixty_pairs, tmp_path):
    expected = loading.load("plain", data=str(sixty_pairs), cache_dir=tmp_path / "sets").to_list()
    for ending in ("*.arrow", "dataset_info.json", checksums.FILE):
        [path] = (tmp_path / "sets").rglob(ending)
        path.unlink()
        assert loading.load("plain", data=str(sixty_pairs), cache_dir=tmp_path / "sets").to_list() == expected


@EVERY
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", checksums.FILE])
def test_damaged_lexical_model_is_fitted_again(sixty_pairs, caplog, damage, name):
    recipe = LexicalTrainingOptions((str(sixty_pairs),), pipeline="all", l2=1.0)
    folder = fit_or_load_lexical_model(recipe)
    expected = {path.name: path.read_bytes() for path in folder.iterdir()}
    for seed in SEEDS:
        caplog.clear()
        assert apply_damage(damage, folder / name, seed)
        if name != checksums.FILE:
            with pytest.raises(ValueError, match=re.escape(str(folder))):  # if the user names the folder
                LexicalModel.load(folder)
        assert fit_or_load_lexical_model(recipe) == folder
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected
        assert "building it again" in caplog.text


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
@EVERY
def test_damaged_lexical_model_without_checksums_is_rejected(sixty_pairs, damage, name):
    folder = fit_or_load_lexical_model(LexicalTrainingOptions((str(sixty_pairs),), pipeline="all", l2=1.0))
    (folder / checksums.FILE).unlink()
    content = (folder / name).read_bytes()
    for seed in range(20):
        (folder / name).write_bytes(damage(content, seed))
        refused = ""
        try:
            model = LexicalModel.load(folder)
            assert model.probabilities([(("a",), ("b",))]).shape == (1, 3)
        except ValueError as error:
            refused = str(error)
        assert not refused or str(folder) in refused


def test_changed_cache_entries_are_ignored(tmp_path):
    values = {f"sentence {n}": f"found {n} " * 20 for n in range(300)}
    path = tmp_path / "found.sqlite"
    for seed in range(40 if ALL else 8):
        SqliteCache(path, "found").put(values.items())
        assert SqliteCache(path, "found").get(list(values)) == values
        apply_damage(flip_bit if seed % 2 else truncate, path, seed)
        known = SqliteCache(path, "found").get(list(values))
        assert known.items() <= values.items()


@EVERY
def test_damaged_cache_database_is_recreated(tmp_path, damage):
    path = tmp_path / "found.sqlite"
    for seed in SEEDS:
        kept = SqliteCache(path, "found", wal=True)
        kept.put([("a", "1"), ("b", b"2")])
        del kept
        gc.collect()  # closes the database, as at the end of the process
        apply_damage(damage, path, seed)
        kept = SqliteCache(path, "found", wal=True)
        assert kept.get(["a", "b"]).items() <= {"a": "1", "b": b"2"}.items()
        kept.put([("a", "1"), ("b", b"2")])
        assert SqliteCache(path, "found").get(["a", "b"]) == {"a": "1", "b": b"2"}


def test_database_damaged_while_open_is_recreated(tmp_path):
    path = tmp_path / "found.sqlite"
    kept = SqliteCache(path, "found")
    values = {str(n): "x" * 1000 for n in range(100)}
    kept.put(values.items())
    path.write_bytes(b"nonsense" * 1000)
    assert kept.get(["5"]).items() <= values.items()
    kept.put([("5", "five")])
    assert SqliteCache(path, "found").get(["5"]) == {"5": "five"}


def test_full_disk_gives_one_line_and_no_damage(tmp_path):
    path = tmp_path / "found.sqlite"
    kept = SqliteCache(path, "found")
    kept.put([("a", "1")])
    kept._file.execute("PRAGMA max_page_count = 2")
    with pytest.raises(OSError, match=r"found\.sqlite: database or disk is full"):
        kept.put([(str(n), "x" * 1000) for n in range(100)])
    assert SqliteCache(path, "found").get(["a"]) == {"a": "1"}
    assert [each.name for each in tmp_path.iterdir()] == ["found.sqlite"]


@EVERY
def test_changed_record_is_ignored(tmp_path, damage):
    path = tmp_path / "record.json"
    record = {"training": {"config": {"out": "a"}, "n": (1, 2)}, "probabilities": [[0.1, 0.2, 0.7]] * 50}
    for seed in range(20):
        path.write_text(json.dumps(checksums.add_checksum(record), indent=2))
        assert checksums.read_verified_record(path) == json.loads(json.dumps(record))
        apply_damage(damage, path, seed)
        assert checksums.read_verified_record(path) is None


@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 2), ids=lambda damage: damage.__name__)
def test_damaged_manifest_is_rewritten(tmp_path, damage):
    expected = run_prediction(tmp_path).load_table()
    [manifest] = tmp_path.glob("*/manifest.json")
    for seed in range(5):
        apply_damage(damage, manifest, seed)
        again = CountingPredictor()
        found = run_prediction(tmp_path, again)
        assert again.calls == [], "the parts are whole"
        assert StoredPredictions.from_folder(found.path).load_table().equals(expected)
