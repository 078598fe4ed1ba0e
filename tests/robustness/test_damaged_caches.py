"""Tests of damaged caches and stored predictions: recreated and never used."""

import gc
import re

import pytest

from tests.inference.test_runner import CountingPredictor, run_prediction
from tests.robustness.command import sample_inputs
from tests.robustness.damage import DAMAGES, SEEDS, apply_damage
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.baselines.lexical.model import LexicalModel
from unbag.challenge_sets import loading
from unbag.utils import checksums
from unbag.utils.sqlite_cache import SqliteCache

EVERY = pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 2), ids=lambda damage: damage.__name__)


def build_set(pairs, folder):
    """Build a set. Return its rows, and the folder of the cache."""
    rows = loading.load("plain", data=str(pairs), cache_dir=folder / "sets")
    return rows.to_list(), (folder / "sets").rglob(rows.cache_files[0]["filename"].rpartition("/")[2])


def fit_model(pairs, folder):
    """Fit a lexical model. Return its files, and its folder."""
    folder = fit_or_load_lexical_model(LexicalTrainingOptions((str(pairs),), pipeline="all", l2=1.0))
    return {path.name: path.read_bytes() for path in folder.iterdir()}, folder.iterdir()


def predict(pairs, folder):
    """Predict rows. Return the predictions, and the folder of the store."""
    found = run_prediction(folder / "store", CountingPredictor())
    return found.table, [found.folder.path / "manifest.json"]


CACHES = {
    "rows of a set": (build_set, "*.arrow"),
    "record of a set": (build_set, "dataset_info.json"),
    "checksums of a set": (build_set, checksums.FILE),
    "weights of a lexical model": (fit_model, "model.safetensors"),
    "config of a lexical model": (fit_model, "config.json"),
    "checksums of a lexical model": (fit_model, checksums.FILE),
    "manifest of predictions": (predict, "manifest.json"),
}


@EVERY
@pytest.mark.parametrize("name", CACHES)
def test_damaged_cache_gives_same_content(sixty_pairs, tmp_path, caplog, damage, name):
    make, pattern = CACHES[name]
    expected, files = make(sixty_pairs, tmp_path)
    [path] = next(iter(files)).parent.glob(pattern)
    for seed in SEEDS:
        caplog.clear()
        is_damaged = apply_damage(damage, path, seed)
        assert make(sixty_pairs, tmp_path)[0] == expected
        assert ("building it again" in caplog.text) == (is_damaged and make is not predict)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
@EVERY
def test_damaged_lexical_model_without_checksums_is_rejected(sixty_pairs, tmp_path, damage, name):
    folder = next(fit_model(sixty_pairs, tmp_path)[1]).parent
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(damage(content, 0))
    with pytest.raises(ValueError, match=re.escape(str(folder))):  # if the user names the folder
        LexicalModel.load(folder)
    (folder / checksums.FILE).unlink()
    for seed in range(20):
        (folder / name).write_bytes(damage(content, seed))
        refused = ""
        try:
            model = LexicalModel.load(folder)
            assert model.probabilities([(("a",), ("b",))]).shape == (1, 3)
        except ValueError as error:
            refused = str(error)
        assert not refused or str(folder) in refused


@pytest.mark.parametrize("wal", [True, False])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damaged_cache_database_keeps_no_changed_value(tmp_path, damage, wal):
    values = {f"sentence {n}": f"found {n} " * 20 for n in range(300)}
    path = tmp_path / "found.sqlite"
    for seed in SEEDS:
        cache = SqliteCache(path, "found", wal=wal)
        cache.put(values.items())
        del cache
        gc.collect()  # closes the database, as at the end of the process
        apply_damage(damage, path, seed)
        cache = SqliteCache(path, "found", wal=wal)
        assert cache.get(list(values)).items() <= values.items()
        cache.put(values.items())
        assert cache.get(list(values)) == values


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


def test_built_set_with_missing_file_is_rebuilt(sixty_pairs, tmp_path):
    expected = loading.load("plain", data=str(sixty_pairs), cache_dir=tmp_path / "sets").to_list()
    for ending in ("*.arrow", "dataset_info.json", checksums.FILE):
        [path] = (tmp_path / "sets").rglob(ending)
        path.unlink()
        assert loading.load("plain", data=str(sixty_pairs), cache_dir=tmp_path / "sets").to_list() == expected
