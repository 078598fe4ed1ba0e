"""Tests of reading rows of a file: ranges, line numbers and errors."""

import json
import random
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unbag.data import parquet
from unbag.data.readers import DataFile, open_data_file
from unbag.utils import safe_io
from unbag.utils.safe_io import DataError


def test_row_range_equals_slice_of_parquet_file(tmp_path):
    """Text files are always read from their start, as one range."""
    rng, most_spans = random.Random(1), 0
    for seed in range(20):
        path, n = tmp_path / f"{seed}.parquet", rng.randrange(1, 40)
        pq.write_table(pa.table({"a": range(n)}), path, row_group_size=rng.choice([1, 3, 20, 100]))
        file = open_data_file(path)
        rows = list(file.read())
        assert [row.values["a"] for row in rows] == list(range(n))
        spans = file.split_ranges(3)
        assert [row for start, stop in spans for row in file.read(start, stop)] == rows
        most_spans = max(most_spans, len(spans))
        for _ in range(10):
            start, stop = rng.randrange(n + 2), rng.choice([None, *range(n + 2)])
            assert list(file.read(start, stop)) == rows[start:stop]
    assert most_spans > 1


def test_location_counts_newlines_in_quoted_cell(tmp_path):
    """Worked out by hand: the second row ends on the fifth line."""
    path = tmp_path / "a.csv"
    lines = ["x,y\n", "1,plain\n", '2,"two\n', '""quoted"",\n', 'lines"\n', "\n", '3,5" nail\n', "4,last\n"]
    path.write_text("".join(lines))
    found = [(row.number, row.location, row.values["x"]) for row in open_data_file(path).read()]
    assert found == [(n, f"{path}, line {line}", str(n + 1)) for n, line in enumerate((2, 5, 7, 8))]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"a": 1}\n\n' * 9 + '{"a": \n{"a": 2}\n', "line 19: expected JSON"),
        ("a.csv", 'a,b\n1,"x\ny"\n' + "2,y\n" * 9 + "3\n4,z\n", "line 13: expected 2 cells"),
        ("a.csv", "a,b\n" + "2,y\n" * 9 + '3,"x"y\n4,z\n', "line 11: ',' expected after '\"'"),
        ("a.csv", "a,b\n" + "2,y\n" * 9 + '3,"x\n4,z\n', "unexpected end of data"),
        ("a.csv", "a,b\n" + "2,y\n" * 9 + "3,x\ry\n4,z\n", "line 11: new-line character seen"),
        ("a.tsv", "a\tb\n" + "2\ty\n" * 9 + "3\n4\tz\n", "line 11: expected 2 cells"),
    ],
)
def test_error_in_later_row_names_line(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(said)):
        list(open_data_file(path).read())


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_line_longer_than_limit_is_rejected(tmp_path, monkeypatch, name):
    text = {"a.jsonl": '{"a": "%s"}\n', "a.csv": '"%s"\n', "a.tsv": "%s\n"}[name]
    path = tmp_path / name
    path.write_text("".join(text % each for each in ["a", *"1234567", "x" * 99, "y"]))
    monkeypatch.setattr(safe_io, "LONGEST_LINE", 50)
    with pytest.raises(DataError, match="line 9: expected at most 50 bytes per line"):
        list(open_data_file(path).read())


def test_only_large_row_groups_are_split(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(40_000)}), path)  # one row group
    spans = open_data_file(path).split_ranges(500)
    assert len(spans) == 16
    assert {stop - start for start, stop in spans[:-1]} == {2500}
    pq.write_table(pa.table({"a": range(40_000)}), path, row_group_size=10_000)
    assert len(open_data_file(path).split_ranges(5_000)) == 8


def test_only_row_groups_of_range_are_read(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(100)}), path, row_group_size=10)
    asked, batches = [], pq.ParquetFile.iter_batches
    watched = lambda self, **how: asked.extend(how["row_groups"]) or batches(self, **how)  # noqa: E731
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    assert [row.values["a"] for row in DataFile(path).read(38, 52)] == list(range(38, 52))
    assert asked == [3, 4, 5]
    assert list(DataFile(path).read(7, 7)) == []


@pytest.mark.parametrize(("text", "sizes"), [("A dog.", [1000, 1000, 500]), ("A dog." * 20, [1] * 2500)])
def test_only_rows_of_large_size_are_read_individually(tmp_path, monkeypatch, text, sizes):
    monkeypatch.setattr(parquet, "_LARGE_BATCH", 20_000)  # more than 1,000 short rows, and less than 2,500
    path = tmp_path / "a.arrow"
    table = pa.table({"a": [f"{text} {number}" for number in range(2500)]})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    batches = list(parquet.iter_row_batches(path, path))
    assert [batch.num_rows for _, batch in batches] == sizes
    assert pa.Table.from_batches([batch for _, batch in batches]) == table


def test_unreadable_batch_error_counts_rows_before_it(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [f"{number} dogs" for number in range(30)]}), path, row_group_size=10)
    content = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(2).column(0).dictionary_page_offset
    content[start : start + 40] = bytes(40)
    path.write_bytes(content)
    for first in (0, 20):
        with pytest.raises(DataError, match=r"a\.parquet, after 20 rows: expected a readable row, got an error"):
            list(DataFile(path).read(first))


def test_column_is_not_replaced_by_nested_field_of_same_name(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"input.premise": "A.", "input": {"premise": "B.", "hypothesis": "C."}}) + "\n")
    [row] = open_data_file(path).read()
    assert (row.values["input.premise"], row.values["input.hypothesis"]) == ("A.", "C.")
