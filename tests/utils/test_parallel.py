"""Tests that sets, tables and models do not depend on the number of processes or the spans of rows."""

import pandas
import pytest

import unbag
from tests.factories import write_table
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, export_challenge_set
from unbag.data import demo
from unbag.data.sources import open_data
from unbag.utils import parallel
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.usefixtures("empty_caches")
KEYS = ("id", "premise", "hypothesis", "label", "annotator_labels")


def _build_rows(n):
    rows = []
    for number, example in zip(range(n), demo.iter_demo_pairs("train"), strict=False):
        votes = [example.label] * 3 + ["neutral"] * (number % 3)
        label = "-" if number % 9 == 4 else example.label
        rows.append(dict(zip(KEYS, (f"r{number}", example.premise, example.hypothesis, label, votes), strict=True)))
    return rows


def test_set_bytes_do_not_depend_on_processes_or_spans(tmp_path, monkeypatch):
    data = tmp_path / "pairs.parquet"
    pandas.DataFrame(_build_rows(60)).to_parquet(data, row_group_size=11)
    made = []
    for number, (num_proc, rows_per_span) in enumerate([(1, 500), (1, 7), (2, 7)]):
        monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", rows_per_span)
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / f"cache-{number}")
        monkeypatch.setenv("UNBAG_CACHE", str(tmp_path / f"kept-{number}"))
        assert len(open_data(data).spans) > num_proc or rows_per_span == 500
        with parallel.set_num_proc(num_proc):
            request = SetRequest("swapped", options={"data": str(data)})
            record = export_challenge_set(request, tmp_path / f"{number}")
        files = {file.name: file.read_bytes() for file in sorted((tmp_path / f"{number}").iterdir())}
        made.append((record, files))
    assert made[0][0]["rows"] > 10
    assert made[0][0]["data"]["excluded"]["unlabelled"] == 7
    for other in made[1:]:
        assert other == made[0]


@pytest.mark.parametrize("num_proc", [1, 2])
def test_invalid_row_and_duplicate_id_are_named_by_any_process(tmp_path, monkeypatch, num_proc):
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 5)
    rows = _build_rows(40)
    rows[38]["id"] = "r2"
    data = write_table(tmp_path / "pairs.jsonl", rows)
    with pytest.raises(DataError, match=r"pairs\.jsonl, line 39: expected unique ids, got 'r2' twice"):
        loading.load("plain", data=data, num_proc=num_proc)
    assert len(loading.load("plain", data=data, columns={"id": ""}, num_proc=num_proc)) == 36
    for number in (13, 33):
        rows[number]["label"] = "perhaps"
    data = write_table(tmp_path / "labels.jsonl", rows)
    with pytest.raises(DataError, match=r"labels\.jsonl, line 14: expected a label such as"):
        loading.load("plain", data=data, num_proc=num_proc)


def test_invalid_number_of_processes_is_rejected():
    data = demo.get_demo_file("validation")
    with pytest.raises(ValueError, match="num_proc: expected a whole number of at least 1"):
        unbag.evaluate("majority", "plain", data=data, num_proc=True, lexical_baseline=False)
    with pytest.raises(ValueError, match="num_proc: expected"):
        unbag.load("plain", data=data, num_proc=0)


def test_digest_collision_is_no_duplicate_id(tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.challenge_sets.build_stats.xxhash.xxh3_64_intdigest", lambda name: 0)
    assert len(loading.load("plain", data=write_table(tmp_path / "pairs.jsonl", _build_rows(40)))) == 36
