"""Tests of invalid or corrupted records, which are read completely or rejected with one line that names the file."""

import copy
import json
import math
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.robustness.command import ALL, run_command, run_rejected, sample_inputs
from tests.robustness.conftest import LABELS, write_pairs
from tests.robustness.damage import DAMAGES, apply_damage
from unbag.api import evaluate
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.evaluation import report_examples, samples
from unbag.hub import results_dataset

WRONG = (None, True, -1, 1e999, math.nan, "", "x", "\x1b[31m", [], [None], {}, {"x": {}}, 10**30)
VERSIONS = sorted((Path(__file__).parent / "records").iterdir())
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
def test_damaged_file_gives_no_traceback(run, tmp_path, capsys, monkeypatch, damage):
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


@pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)
def test_records_of_released_versions_are_read(version, tmp_path, capsys):
    read = results.read_results(version / results.FILE)
    assert [result.set for result in read] == ["plain", "permuted"]
    assert all(samples.read_samples(version, number, result) for number, result in enumerate(read))
    assert run_command(capsys, "report", version, "--output", tmp_path / "report.html")[0] == 0
    assert run_command(capsys, "compare", version, version)[0] in (0, 1)
