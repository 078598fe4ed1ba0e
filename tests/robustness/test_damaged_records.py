"""Tests of invalid or corrupted records, predictions, sets and cache folders: one error line names the file."""

import copy
import json
import math
import os
import random
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.robustness.command import ALL, run_command, run_rejected, sample_inputs
from tests.robustness.conftest import LABELS, write_pairs
from tests.robustness.damage import DAMAGES, apply_damage
from unbag.api import evaluate
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest, export_challenge_set, read_exported_set
from unbag.cli.app import normalize_cache_env
from unbag.evaluation import report_examples, samples
from unbag.hub import results_dataset
from unbag.inference.prediction_files import read_published_predictions
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.usefixtures("empty_working_dir")

WRONG = (None, True, -1, 1e999, math.nan, "", "x", "\x1b[31m", [], [None], {}, {"x": {}}, 10**30)
RELEASED = Path(__file__).with_name("records.zip")
"""One run per released version, in a folder of its name."""
VERSIONS = sorted({path.name for path in zipfile.Path(RELEASED).iterdir()})
N = 150 if ALL else 4  # number of corrupted values in a record, sampled with a fixed seed


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the outputs of two evaluations: of a set with a single score, and of a set with a table."""
    folder = tmp_path_factory.mktemp("run")
    path = write_pairs(folder / "pairs.csv", 6, does="runs fast")

    def answers(premises, hypotheses):
        return [
            LABELS[sum(map(ord, premise + hypothesis)) % 3]
            for premise, hypothesis in zip(premises, hypotheses, strict=True)
        ]

    sets = [
        SetRequest("plain", options={"data": str(path)}),
        SetRequest("permuted", options={"data": str(path), "q": 3, "min_words": 2}),
    ]
    evaluate(answers, sets, output_dir=folder / "run", lexical_baseline=False)
    return folder / "run"


def places(value, path=()):
    """Yield the paths of all parts of a JSON value."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def spoilt(record, number):
    """Return a record with a value of another type, or without a value."""
    record = copy.deepcopy(record)
    *above, last = random.Random(number).choice([place for place in places(record) if place])
    inner = record
    for key in above:
        inner = inner[key]
    if number % 4:
        inner[last] = random.Random(-number).choice(WRONG)
    else:
        del inner[last]
    return record


@pytest.mark.parametrize("name", [results.FILE, report_examples.FILE])
def test_corrupted_record_gives_no_traceback(run, tmp_path, capsys, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(run, tmp_path / "copy")
    record = json.loads((folder / name).read_text())
    for number in range(N):
        (folder / name).write_text(json.dumps(spoilt(record, number)))
        run_command(capsys, "report", folder, "--output", "report.html")
        if name == results.FILE:
            run_command(capsys, "compare", folder, run)
            run_command(capsys, "check", folder, "--min", "permuted:score=.1", "--no-worse-than", run)
            with suppress(ValueError):
                results_dataset.build_results_dataset_upload(
                    "org/results", results.read_results(folder / name), model="org/model"
                )


@pytest.mark.nightly
@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 1), ids=lambda damage: damage.__name__)
def test_damaged_file_of_run_gives_no_traceback(run, tmp_path, capsys, monkeypatch, damage):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(run, tmp_path / "copy")
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".parquet"))
    assert paths
    for path in paths:
        content = path.read_bytes()
        apply_damage(damage, path)
        for command in (("report", folder, "--output", "report.html"), ("compare", folder, run)):
            run_command(capsys, *command)
        path.write_bytes(content)


@pytest.mark.parametrize("number", ["NaN", "1e999", "9" * 400])
def test_record_with_infinite_number_is_rejected(run, tmp_path, capsys, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(run, tmp_path / "copy")
    record = json.loads((folder / results.FILE).read_text())
    record["results"][0]["scores"]["accuracy"]["value"] = "HERE"
    (folder / results.FILE).write_text(json.dumps(record).replace('"HERE"', number))
    for command in (
        ("report", folder, "--output", "report.html"),
        ("compare", folder, run),
        ("check", folder, "--min", "plain:accuracy=.1"),
    ):
        said = " ".join(run_rejected(capsys, *command).split())
        assert "results.json: expected a results file of unbag, got " in said
        assert "a number which is not finite" in said or "accuracy = [" in said  # too large for a float
    assert not (tmp_path / "report.html").exists()


def test_samples_with_unknown_columns_are_rejected(run, tmp_path):
    [result, _] = results.read_results(run / results.FILE)
    file = shutil.copytree(run, tmp_path / "copy") / "samples" / "00-plain.parquet"
    table = pq.read_table(file)
    [(key, meta)] = table.schema.metadata.items()
    meta = json.loads(meta) | {"quantities": {"accuracy": ["mean", [99]]}}
    pq.write_table(table.replace_schema_metadata({key: json.dumps(meta)}), file)
    with pytest.raises(ValueError, match="expected readable samples"):
        samples.read_samples(tmp_path / "copy", 0, result)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_of_released_versions_are_read(version, tmp_path, capsys):
    with zipfile.ZipFile(RELEASED) as archive:
        archive.extractall(tmp_path / "released")
    version = tmp_path / "released" / version
    read = results.read_results(version / results.FILE)
    assert [result.set for result in read] == ["plain", "permuted"]
    assert all(samples.read_samples(version, number, result) for number, result in enumerate(read))
    assert run_command(capsys, "report", version, "--output", tmp_path / "report.html")[0] == 0
    assert run_command(capsys, "compare", version, version)[0] in (0, 1)


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
