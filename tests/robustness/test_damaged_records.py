"""Tests of invalid or corrupted records, predictions, and cache folders: one error line names the file.

`records.zip` contains one run per released version, in a folder of its name.
"""

import json
import os
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from tests.robustness.conftest import (
    ALL,
    DAMAGES,
    LABELS,
    apply_damage,
    run_command,
    run_rejected,
    sample_inputs,
    write_pairs,
)
from tests.robustness.test_readers import changed_records
from unbag.api import evaluate
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.cli.app import normalize_cache_env
from unbag.evaluation import report_examples, samples
from unbag.hub import results_dataset
from unbag.inference.prediction_files import read_published_predictions
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.usefixtures("empty_working_dir")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """Return the outputs of two evaluations: of a set with a single score, and of a set with a table."""
    folder = tmp_path_factory.mktemp("run")
    pairs = {"data": str(write_pairs(folder / "pairs.csv", 6, does="runs fast"))}

    def answers(*sides):
        return [LABELS[sum(map(ord, premise + hypothesis)) % 3] for premise, hypothesis in zip(*sides, strict=True)]

    sets = [SetRequest("plain", options=pairs), SetRequest("permuted", options=pairs | {"q": 3, "min_words": 2})]
    evaluate(answers, sets, output_dir=folder / "run", lexical_baseline=False)
    return folder / "run"


@pytest.fixture
def run(evaluated, tmp_path):
    """Return a copy of these outputs."""
    return shutil.copytree(evaluated, tmp_path / "copy")


@pytest.mark.parametrize("name", [results.FILE, report_examples.FILE])
def test_corrupted_record_gives_no_traceback(evaluated, run, capsys, name):
    few = [HealthCheck.function_scoped_fixture]

    @settings(max_examples=150 if ALL else 4, derandomize=not ALL, database=None, suppress_health_check=few)
    @given(changed_records((run / name).read_text()))
    def check(record):
        (run / name).write_text(record)
        run_command(capsys, "report", run, "--output", "report.html")
        if name == results.FILE:
            run_command(capsys, "compare", run, evaluated)
            run_command(capsys, "check", run, "--min", "permuted:score=.1", "--no-worse-than", evaluated)
            with suppress(ValueError):
                results_dataset.build_results_dataset_upload(
                    "org/results", results.read_results(run / name), model="org/model"
                )

    check()


@pytest.mark.nightly
@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 1))
def test_damaged_file_of_run_gives_no_traceback(evaluated, run, capsys, damage):
    paths = sorted(path for path in run.rglob("*") if path.suffix in (".json", ".parquet"))
    assert paths
    for path in paths:
        content = path.read_bytes()
        apply_damage(damage, path)
        for command in (("report", run, "--output", "report.html"), ("compare", run, evaluated)):
            run_command(capsys, *command)
        path.write_bytes(content)


@pytest.mark.parametrize("number", ["NaN", "1e999", "9" * 400])
def test_record_with_infinite_number_is_rejected(run, capsys, number):
    record = json.loads((run / results.FILE).read_text())
    record["results"][0]["scores"]["accuracy"]["value"] = "HERE"
    (run / results.FILE).write_text(json.dumps(record).replace('"HERE"', number))
    said = " ".join(run_rejected(capsys, "report", run, "--output", "report.html").split())
    assert "results.json: expected a results file of unbag, got " in said
    assert "a number which is not finite" in said or "accuracy = [" in said  # too large for a float
    assert not Path("report.html").exists()


def test_samples_with_unknown_columns_are_rejected(run):
    [result, _] = results.read_results(run / results.FILE)
    table = pq.read_table(run / "samples" / "00-plain.parquet")
    [(key, meta)] = table.schema.metadata.items()
    meta = json.loads(meta) | {"quantities": {"accuracy": ["mean", [99]]}}
    pq.write_table(table.replace_schema_metadata({key: json.dumps(meta)}), run / "samples" / "00-plain.parquet")
    with pytest.raises(ValueError, match="expected readable samples"):
        samples.read_samples(run, 0, result)


def test_records_of_released_versions_are_read(capsys):
    with zipfile.ZipFile(Path(__file__).with_name("records.zip")) as archive:
        archive.extractall()
    for version in list(Path.cwd().iterdir()):
        read = results.read_results(version / results.FILE)
        assert [result.set for result in read] == ["plain", "permuted"]
        assert all(samples.read_samples(version, number, result) for number, result in enumerate(read))
        assert run_command(capsys, "report", version, "--output", "report.html")[0] == 0
        assert run_command(capsys, "compare", version, version)[0] in (0, 1)


SURE = {"entailment": 1, "neutral": 0, "contradiction": 0}


@pytest.mark.parametrize(
    "row",
    [
        {"id": "b", "entailment": 1, "neutral": 0},
        SURE,
        SURE | {"id": "b", "neutral": float("nan")},
        SURE | {"id": "b", "neutral": 0.5},
        SURE | {"id": "b", "neutral": "x" * 5000},
        SURE | {"id": ["b"] * 5000},
    ],
    ids=["missing label", "no id", "NaN", "sum of 1.5", "text", "list as id"],
)
def test_invalid_later_row_error_names_line(row):
    path = Path("predictions.jsonl")
    path.write_text(json.dumps(SURE | {"id": "a"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"predictions.jsonl, line 2: ") as told:
        read_published_predictions(path)
    assert len(str(told.value)) < 1000


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
