"""Tests of reading a file in parts of any size: rows, line numbers, values and errors equal those of the whole file."""

import csv
import gzip
import io
import json
import random
import re
from math import ceil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unbag.data.readers import DataFile, RowStart, iter_row_starts, open_data_file
from unbag.data.text_layout import TextLayout
from unbag.utils import safe_io
from unbag.utils.safe_io import DataError

SIZES = (1, 2, 3, 7, 500)
PIECES = ["a", "ä", "犬", '"', '""', ",", ";", "\t", "\n", "\r\n", "\u2028", " ", "don't", '5" nail', "\ufeff"]


def _sample_cells(rng, *, without=""):
    text = "".join(rng.choices(PIECES, k=rng.randrange(5)))
    return "".join(character for character in text if character not in without)


def _sample_table(rng, **how):
    return [
        [str(number), _sample_cells(rng, **how), _sample_cells(rng, **how)] for number in range(rng.randrange(1, 40))
    ]


def _sample_csv(rng):
    out = io.StringIO()
    delimiter = rng.choice(",;")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=rng.choice(["\n", "\r\n"]))
    writer.writerow([rng.choice(["id", 'i"\nd', "i,d"] if delimiter == "," else ["id"]), "one", "two"])
    for row in _sample_table(rng):
        writer.writerow(row)
        out.write(rng.choice(["", "", "\n", "\r\n"]))  # blank lines are not rows
    return (rng.choice(["", "\ufeff"]) + out.getvalue()).encode()


def _sample_tsv(rng):
    lines = ["\t".join(row) for row in [["id", "one", "two"], *_sample_table(rng, without="\t\r\n")]]
    return "".join(line + rng.choice(["\n", "\r\n", "\n\n"]) for line in lines).encode()


def _sample_jsonl(rng):
    lines = [
        json.dumps(dict(zip("abc", row, strict=True)), ensure_ascii=rng.random() < 0.5) for row in _sample_table(rng)
    ]
    blank = ["\n", "\r\n", "\n \u3000\n", "\n\x1c\n", "\n\n"]
    return (rng.choice(["", "\ufeff", "\ufeff\n", " "]) + "".join(line + rng.choice(blank) for line in lines)).encode()


def _sample_parquet(rng):
    out = io.BytesIO()
    columns = dict(zip("abc", zip(*_sample_table(rng), strict=True), strict=True))
    pq.write_table(pa.table(columns), out, row_group_size=rng.choice([1, 3, 20, 100]))
    return out.getvalue()


MADE = {"csv": _sample_csv, "tsv": _sample_tsv, "jsonl": _sample_jsonl, "parquet": _sample_parquet}


def _read_in_parts(file, size):
    spans = file.split_ranges(size)
    assert spans[0][0] == 0
    assert [stop for _, stop in spans[:-1]] == [start for start, _ in spans[1:]], "a gap or an overlap"
    return [list(file.read(start, stop)) for start, stop in spans]


@pytest.mark.parametrize("kind", MADE)
def test_parts_concatenate_to_file(tmp_path, kind):
    parts_seen = 0
    for seed in range(12 if kind == "parquet" else 60):
        path = tmp_path / f"{seed}.{kind}"
        path.write_bytes(MADE[kind](random.Random(seed)))
        rows = list(open_data_file(path).read())
        for size in SIZES:
            parts = _read_in_parts(open_data_file(path), size)
            assert [row for part in parts for row in part] == rows, (seed, size)
            # At most 16 parts of a row group.
            least = ceil(pq.read_metadata(path).row_group(0).num_rows / 16) if kind == "parquet" else 1
            assert all(len(part) == max(size, least) for part in parts[:-1]), (seed, size)
            parts_seen += len(parts) - 1
    assert parts_seen > 90, "hardly a file had several parts"


@pytest.mark.parametrize("kind", MADE)
def test_row_range_equals_slice_of_file(tmp_path, kind):
    rng = random.Random(1)
    for seed in range(20):
        path = tmp_path / f"{seed}.{kind}"
        path.write_bytes(MADE[kind](random.Random(seed)))
        rows = list(open_data_file(path).read())
        asked, not_asked = open_data_file(path), open_data_file(path)
        asked.split_ranges(3)
        for _ in range(10):
            start, stop = rng.randrange(len(rows) + 2), rng.choice([None, *range(len(rows) + 2)])
            assert list(asked.read(start, stop)) == rows[start:stop] == list(not_asked.read(start, stop))


def test_row_start_skips_newlines_in_quoted_cell(tmp_path):
    """Worked out by hand: the second row ends on the fifth line."""
    path = tmp_path / "a.csv"
    lines = ["x,y\n", "1,plain\n", '2,"two\n', '""quoted"",\n', 'lines"\n', "\n", '3,5" nail\n', "4,last\n"]
    path.write_text("".join(lines))
    ends = [sum(map(len, lines[:n])) for n in range(len(lines))]
    assert list(iter_row_starts(path, 1, TextLayout())) == [
        RowStart(1, 2, ends[2]),
        RowStart(2, 5, ends[5]),
        RowStart(3, 7, ends[7]),
    ]
    assert [(row.number, row.location, row.values["x"]) for row in _read_in_parts(open_data_file(path), 2)[1]] == [
        (2, f"{path}, line 7", "3"),
        (3, f"{path}, line 8", "4"),
    ]


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
def test_error_in_later_part_names_line_of_file(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(said)) as whole:
        list(open_data_file(path).read())
    for size in SIZES:
        file = open_data_file(path)
        reasons = []
        for start, stop in file.split_ranges(size):
            try:
                list(file.read(start, stop))
            except DataError as error:
                reasons.append(str(error))
        assert reasons[0] == str(whole.value), size


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_size_limits_apply_in_parts(tmp_path, monkeypatch, name):
    text = {"a.jsonl": '{"a": "%s"}\n', "a.csv": '"%s"\n', "a.tsv": "%s\n"}[name]
    path = tmp_path / name
    path.write_text("".join(text % each for each in ["a", *"1234567", "x" * 99, "y"]))
    file = open_data_file(path)
    [span] = [
        (start, stop)
        for start, stop in file.split_ranges(2)
        if any("xxx" in str(row) for row in file.read(start, stop))
    ]
    assert span[0] > 0
    monkeypatch.setattr(safe_io, "LONGEST_LINE", 50)
    with pytest.raises(DataError, match="line 9: expected at most 50 bytes per line"):
        list(file.read(*span))
    with pytest.raises(DataError, match="line 9: expected at most 50 bytes per line"):
        open_data_file(path).split_ranges(2)


def test_invalid_utf8_in_later_part_error_names_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\n"1\n",2\n' * 1 + b"x,y\n" * 4 + b"caf\xe9,z\n")
    file = open_data_file(path)
    with pytest.raises(DataError, match="line 8: expected UTF-8, got the byte 0xe9 at column 4;"):
        list(file.read(*file.split_ranges(2)[-1]))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
def test_compressed_file_is_one_part(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 9))
    assert open_data_file(path).split_ranges(2) == ((0, None),)


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
    asked = []
    batches = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile, "iter_batches", lambda self, **how: asked.extend(how["row_groups"]) or batches(self, **how)
    )
    assert [row.values["a"] for row in DataFile(path, ["a"]).read(38, 52)] == list(range(38, 52))
    assert asked == [3, 4, 5]
    assert list(DataFile(path, ["a"]).read(7, 7)) == []


def test_unreadable_batch_error_counts_rows_before_it(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [f"{number} dogs" for number in range(30)]}), path, row_group_size=10)
    content = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(2).column(0).dictionary_page_offset
    content[start : start + 40] = bytes(40)
    path.write_bytes(content)
    for first in (0, 20):
        with pytest.raises(DataError, match=r"a\.parquet, after 20 rows: expected a readable row, got an error"):
            list(DataFile(path, ["a"]).read(first))
