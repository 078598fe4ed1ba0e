"""Tests of damaged predictions, embeddings, exported sets and cache folders: one error line that names the file."""

import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.robustness.command import run_command, run_rejected, sample_inputs
from tests.robustness.conftest import write_pairs
from tests.robustness.damage import DAMAGES, apply_damage
from unbag.challenge_sets.request import SetRequest, export_challenge_set, read_exported_set
from unbag.cli.app import normalize_cache_env
from unbag.inference.prediction_files import read_published_predictions
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.usefixtures("empty_working_dir")

SURE = {"entailment": 1, "neutral": 0, "contradiction": 0}
SPOILT = {
    "a key is missing": {"id": "b", "entailment": 1, "neutral": 0},
    "no id": dict(SURE),
    "not a number": SURE | {"id": "b", "neutral": float("nan")},
    "no sum of 1": SURE | {"id": "b", "neutral": 0.5},
    "text": SURE | {"id": "b", "neutral": "x" * 5000},
    "a list for an id": SURE | {"id": ["b"] * 5000},
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_invalid_later_row_error_names_line(tmp_path, spoilt):
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (SURE | {"id": "a"}, SPOILT[spoilt])))
    with pytest.raises(DataError, match=r"predictions.jsonl, line 2: ") as told:
        read_published_predictions(path)
    assert len(str(told.value)) < 1000


def test_table_without_labels_is_no_prediction_table(tmp_path):
    (tmp_path / "noise.parquet").write_bytes(random.Random(0).randbytes(500))
    pq.write_table(pa.table({"id": ["a"], "prediction": [{"a": 1}]}), tmp_path / "odd.parquet")
    for name in ("noise.parquet", "odd.parquet"):
        with pytest.raises(DataError, match=name):
            read_published_predictions(tmp_path / name)


def why_not(read):
    """Return the error message of a function, or None if it succeeds. Exceptions other than ValueError are raised."""
    try:
        read()
    except ValueError as error:
        return str(error)
    return None


@pytest.fixture
def exported(tmp_path):
    path = tmp_path / "set.parquet"
    export_challenge_set(SetRequest("plain", options={"data": str(write_pairs(tmp_path / "pairs.csv", 3))}), path)
    return path


RECORDS = (b"", b"[]", b'{"set": "plain"}', b'{"set": "nope", "language": "en"}', b"[" * 100_000, b"\xff")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: repr(record[:12]))
def test_invalid_record_of_exported_set_is_rejected(exported, capsys, record):
    found = pq.read_table(exported)
    pq.write_table(found.replace_schema_metadata({b"unbag": record}), exported)
    run_rejected(capsys, "score", exported, "--set", exported)


@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 2), ids=lambda damage: damage.__name__)
def test_damaged_exported_set_gives_no_traceback(exported, damage):
    content = exported.read_bytes()
    for seed in range(8):
        apply_damage(damage, exported, seed)
        said = why_not(lambda: read_exported_set(exported))
        assert said is None or str(exported) in said
        exported.write_bytes(content)


@pytest.mark.parametrize("name", ["UNBAG_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE"])
def test_cache_folder_that_is_file_is_rejected(tmp_path, monkeypatch, capsys, name):
    for empty in ("", "  "):
        monkeypatch.setenv(name, empty)
        normalize_cache_env()
        assert name not in os.environ
    (tmp_path / "file").write_text("x")
    for value in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv(name, str(value))
        assert name in run_rejected(capsys, "sets")
    for value in ("below/here", str(tmp_path)):
        monkeypatch.setenv(name, value)
        assert run_command(capsys, "sets")[0] == 0
