"""Tests of the readers of other people's files and records: damaged content is read, or rejected with one line.

`sample_files.zip` contains valid files per reader (`READER/sound…`), files that must be rejected (`READER/rejected-…`),
and inputs that once caused errors. `records.zip` contains one run per released version, in a folder of its name.
"""

import json
import os
import shutil
import tempfile
import zipfile
from contextlib import suppress
from functools import reduce
from itertools import count
from operator import getitem
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from unbag.api import evaluate
from unbag.baselines.lexical.model import LexicalModel, locate_lexical_model
from unbag.baselines.lexical.word_vectors import read_word_vectors
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest, read_exported_set
from unbag.cli.app import normalize_cache_env
from unbag.data.sources import open_data
from unbag.evaluation import human_study, report_examples, samples
from unbag.hub import results_dataset
from unbag.inference.prediction_files import read_published_predictions
from unbag.training.record import read_training_record
from unbag.utils.safe_io import DataError

with zipfile.ZipFile(Path(__file__).with_name("sample_files.zip")) as archive:
    SAMPLES = {name: archive.read(name) for name in archive.namelist()}


def read_pairs(path):
    return list(open_data(path).iter_examples())


def read_sheet(path):
    (path.parent / human_study.KEY).write_text("number,id,label,drawn_from\n0,a,neutral,D^c\n1,b,neutral,D^f\n")
    return human_study.score_annotation_sheet(path.parent, path)


def read_lexical_model(path):
    for name, other in (("config.json", "lexical.json"), ("model.safetensors", "lexical.safetensors")):
        if path.name != name:
            (path.parent / name).write_bytes(SAMPLES[f"{other}/sound"])
    return LexicalModel.load(locate_lexical_model(path.parent))


READERS = {
    "rows.csv": ("pairs.csv", read_pairs),
    "rows.tsv": ("pairs.tsv", read_pairs),
    "rows.jsonl": ("pairs.jsonl", read_pairs),
    "rows.parquet": ("pairs.parquet", read_pairs),
    "rows.csv.gz": ("pairs.csv.gz", read_pairs),
    "predictions.csv": ("answers.csv", read_published_predictions),
    "predictions.jsonl": ("answers.jsonl", read_published_predictions),
    "predictions.parquet": ("answers.parquet", read_published_predictions),
    "set.parquet": ("set.parquet", read_exported_set),
    "vectors.txt": ("words.txt", read_word_vectors),
    "vectors.txt.gz": ("words.txt.gz", read_word_vectors),
    "vectors.vec": ("words.vec", read_word_vectors),
    "vectors.zip": ("words.zip", read_word_vectors),
    "results.json": (results.FILE, results.read_results),
    "examples.json": (report_examples.FILE, report_examples.read_selections),
    "training.json": ("training.json", lambda path: read_training_record(path.parent)),
    "sheet.csv": ("sheet.csv", read_sheet),
    "lexical.json": ("config.json", read_lexical_model),
    "lexical.safetensors": ("model.safetensors", read_lexical_model),
}
INPUTS = settings(max_examples=2000 if ALL else 25, derandomize=not ALL, database=None)
_number = count()


@pytest.fixture(scope="module")
def folder():
    """Return a folder in memory, which avoids many files on the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def read(name, content, folder):
    """Return the value, or the error message if the content is rejected. Other exceptions fail the test."""
    file, reader = READERS[name]
    path = folder / str(next(_number)) / file  # a new name each time, since readers may cache by name
    path.parent.mkdir()
    path.write_bytes(content)
    try:
        return reader(path)
    except UnicodeError:
        raise
    except (ValueError, OSError) as error:
        message = str(error)
    finally:
        shutil.rmtree(path.parent)
    assert message.strip()
    assert "\n" not in message
    return message


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample_file_is_read_or_rejected(sample, folder):
    reader, _, kind = sample.partition("/")
    found = read(reader, SAMPLES[sample], folder)
    if kind.startswith("sound"):
        assert found, "a valid file is not empty"
        assert not isinstance(found, str), found
    if kind.startswith("rejected"):
        assert READERS[reader][0] in found, "the message names the file"
        assert len(found) < 1000


REPLACEMENTS = (
    b"",
    b"<!doctype html><html><body>Sign in</body></html>",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n",
    b"[" * 100_000,
    b"PK\x03\x04" + bytes(60),
)


@st.composite
def damaged_contents(draw, content):
    """Draw content with a few missing, repeated, zeroed, flipped or inserted parts, or other content."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(REPLACEMENTS) | st.binary(max_size=400))
    for _ in range(draw(st.integers(1, 3))):
        start, stop = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        before, part, after = content[:start], content[start:stop], content[stop:]
        flipped = bytes(byte ^ draw(st.sampled_from([1, 4, 32, 128])) for byte in part[:1]) + part[1:]
        parts = (b"", part + part, bytes(len(part)), flipped, draw(st.binary(max_size=30)) + part)
        content = before + draw(st.sampled_from(parts)) + (after if draw(st.booleans()) else b"")
    return content


@pytest.mark.parametrize("name", READERS)
def test_damaged_file_is_read_or_rejected(name, folder):
    @INPUTS
    @given(damaged_contents(SAMPLES[f"{name}/sound"]))
    def check(content):
        read(name, content, folder)

    check()


VALUES = (None, True, -1, 1.5, 1e999, float("nan"), 10**30, "", "x", "\x1b[31m", "\ud800", "x" * 3000)
VALUES += ([], [None], [[]], {}, {"x": {}}, [1, "a", None], {"": None})


def list_paths(value, path=()):
    """Yield the paths of all parts of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from list_paths(part, (*path, key))


def changed_records(text):
    """Build a strategy of JSON records with another value in one place, or without it."""

    def change(path, value, is_deleted):
        record = json.loads(text)
        *above, last = path
        inner = reduce(getitem, above, record)
        inner[last] = value
        if is_deleted:
            del inner[last]
        return json.dumps(record)

    paths = st.sampled_from(list(list_paths(json.loads(text))))
    return st.builds(change, paths, st.sampled_from(VALUES), st.booleans())


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith(".json")])
def test_record_with_other_values_is_read_or_rejected(name, folder):
    @INPUTS
    @given(changed_records(SAMPLES[f"{name}/sound"].decode()))
    def check(record):
        read(name, record.encode(), folder)

    check()


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
def run(evaluated, empty_working_dir, tmp_path):
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


def test_records_of_released_versions_are_read(empty_working_dir, capsys):
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
def test_invalid_later_row_error_names_line(tmp_path, row):
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps(SURE | {"id": "a"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"predictions.jsonl, line 2: ") as told:
        read_published_predictions(path)
    assert len(str(told.value)) < 1000


@pytest.mark.parametrize("name", ["UNBAG_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE"])
def test_cache_folder_that_is_file_is_rejected(empty_working_dir, tmp_path, monkeypatch, capsys, name):
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
