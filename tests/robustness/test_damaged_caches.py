"""Tests of damaged caches and stored predictions: recreated and never used."""

import gc
import re

import pytest

from tests.inference.test_runner import CountingPredictor, run_prediction
from tests.robustness.conftest import DAMAGES, SEEDS, apply_damage, fit_model, sample_inputs
from unbag.baselines.lexical.model import LexicalModel
from unbag.challenge_sets import loading
from unbag.utils import checksums
from unbag.utils.sqlite_cache import SqliteCache

EVERY = pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 2))


def build_set(pairs, folder):
    """Build a set. Return its rows."""
    return loading.load("plain", data=str(pairs), cache_dir=folder / "sets").to_list()


def read_fitted_model(pairs, folder):
    """Fit a lexical model. Return its files."""
    return {path: path.read_bytes() for path in fit_model(pairs).iterdir()}


def predict(pairs, folder):
    """Predict rows. Return the predictions."""
    return run_prediction(folder / "store", CountingPredictor()).table


@EVERY
@pytest.mark.parametrize(
    ("create", "pattern"),
    [
        (build_set, "sets/**/*.arrow"),
        (build_set, "sets/**/dataset_info.json"),
        (build_set, f"sets/**/{checksums.FILE}"),
        (read_fitted_model, "caches/unbag/**/model.safetensors"),
        (read_fitted_model, "caches/unbag/**/config.json"),
        (read_fitted_model, f"caches/unbag/**/{checksums.FILE}"),
        (predict, "store/**/manifest.json"),
    ],
)
def test_damaged_cache_gives_same_content(sixty_pairs, tmp_path, caplog, damage, create, pattern):
    expected = create(sixty_pairs, tmp_path)
    [path] = tmp_path.glob(pattern)
    for seed in SEEDS:
        caplog.clear()
        is_damaged = apply_damage(damage, path, seed)
        assert create(sixty_pairs, tmp_path) == expected
        assert ("building it again" in caplog.text) == (is_damaged and create is not predict)
    if create is build_set:
        path.unlink()
        assert create(sixty_pairs, tmp_path) == expected


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
@EVERY
def test_damaged_lexical_model_without_checksums_is_rejected(sixty_pairs, damage, name):
    folder = fit_model(sixty_pairs)
    path = folder / name
    content = path.read_bytes()
    apply_damage(damage, path)
    with pytest.raises(ValueError, match=re.escape(str(folder))):  # if the user names the folder
        LexicalModel.load(folder)
    (folder / checksums.FILE).unlink()
    for seed in range(20):
        path.write_bytes(content)
        apply_damage(damage, path, seed)
        refused = ""
        try:
            model = LexicalModel.load(folder)
            assert model.probabilities([(("a",), ("b",))]).shape == (1, 3)
        except ValueError as error:
            refused = str(error)
        assert not refused or str(folder) in refused


@pytest.mark.parametrize("wal", [True, False])
@pytest.mark.parametrize("damage", DAMAGES)
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
        found = cache.get(list(values))
        assert found.items() <= values.items()
        assert len(found) > 290, "a damaged index may hide a few values, which are computed again"


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
