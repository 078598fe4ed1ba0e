"""Tests that sets, tables and models do not depend on the number of processes or the spans of rows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unbag
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, export_challenge_set
from unbag.data import demo
from unbag.data.labels import LABELS
from unbag.data.sources import open_data
from unbag.data.text.tokens import tokenize
from unbag.utils import parallel
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.usefixtures("empty_caches")
KEYS = ("id", "premise", "hypothesis", "label", "annotator_labels")
SETS = {
    "plain": {},
    "swapped": {},
    "permuted": {"q": 3, "min_words": 4},
    "cs_lambda": {"min_lms": 0.3, "pipeline": "all", "max_train_pairs": 40},  # cross-fitted to its own rows
    "resnli": {"test_size": 9},
}
HOW = [(1, 500), (1, 7), (2, 7)]  # number of processes, and rows per span


def _rows(n, *, first=0):
    rows = []
    for number, example in zip(range(first, first + n), demo.iter_demo_pairs("train"), strict=False):
        votes = [example.label] * 3 + ["neutral"] * (number % 3)
        label = "-" if number % 9 == 4 else example.label
        rows.append(dict(zip(KEYS, (f"r{number}", example.premise, example.hypothesis, label, votes), strict=True)))
    return rows


def _write(path, rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=11)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import csv

        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["premise", "hypothesis", "label", "id"], extrasaction="ignore")
            writer.writeheader()
            # Every other sentence contains a line break.
            for number, row in enumerate(rows):
                writer.writerow(row | {"premise": row["premise"].replace(" ", "\n", number % 2)})
    return path


def _options(name, data):
    options = {"data": str(data), **SETS[name]}
    if name == "cs_lambda":
        options["train_data"] = (str(data),)
    if name == "resnli":
        words = sorted({word for row in _rows(60) for word in tokenize(row["premise"] + row["hypothesis"]).texts})
        rng = np.random.default_rng(3)
        table = data.with_name("words.txt")
        table.write_text("".join(f"{word.lower()} {' '.join(map(str, rng.normal(size=5)))}\n" for word in words))
        options["embeddings"] = str(table)
    return options


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # ReSNLI builds its rows differently from all other sets.
        *(
            pytest.param(name, "parquet", marks=() if name in ("swapped", "resnli") else pytest.mark.nightly)
            for name in SETS
        ),
        pytest.param("swapped", "csv", marks=pytest.mark.nightly),
    ],
)
def test_set_bytes_do_not_depend_on_processes_or_spans(tmp_path, monkeypatch, name, kind):
    data = _write(tmp_path / f"pairs.{kind}", _rows(60))
    made = []
    for number, (num_proc, span) in enumerate(HOW):
        monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", span)
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / f"cache-{number}")
        monkeypatch.setenv("UNBAG_CACHE", str(tmp_path / f"kept-{number}"))
        assert len(open_data(data).spans) > num_proc or span == 500 or kind == "csv"
        with parallel.set_num_proc(num_proc):
            record = export_challenge_set(SetRequest(name, options=_options(name, data)), tmp_path / f"{number}")
        files = {file.name: file.read_bytes() for file in sorted((tmp_path / f"{number}").iterdir())}
        made.append((record, files))
    assert made[0][0]["rows"] > 10
    assert made[0][0]["data"]["excluded"]["unlabelled"] == 7
    for other in made[1:]:
        assert other == made[0]


@pytest.mark.parametrize("num_proc", [1, 2])
def test_first_invalid_row_is_named_by_any_process(tmp_path, monkeypatch, num_proc):
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 5)
    rows = _rows(40)
    for number in (13, 33):
        rows[number]["label"] = "perhaps"
    data = _write(tmp_path / "pairs.jsonl", rows)
    with pytest.raises(DataError, match=r"pairs\.jsonl, line 14: expected a label such as"):
        loading.load("plain", data=data, num_proc=num_proc)


@pytest.mark.parametrize("num_proc", [1, 2])
def test_duplicate_id_across_processes_is_named(tmp_path, monkeypatch, num_proc):
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 5)
    rows = _rows(40)
    rows[38]["id"] = "r2"
    data = _write(tmp_path / "pairs.jsonl", rows)
    with pytest.raises(DataError, match=r"pairs\.jsonl, line 39: expected unique ids, got 'r2' twice"):
        loading.load("plain", data=data, num_proc=num_proc)
    assert len(loading.load("plain", data=data, columns={"id": ""}, num_proc=num_proc)) == 36


def _by_length(premises, hypotheses):
    return [LABELS[(len(p) + len(h)) % 3] for p, h in zip(premises, hypotheses, strict=True)]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_invalid_number_of_processes_is_rejected(bad):
    with pytest.raises(ValueError, match="num_proc: expected a whole number of at least 1"):
        unbag.evaluate(_by_length, "plain", data=demo.get_demo_file("validation"), num_proc=bad, lexical_baseline=False)
    with pytest.raises(ValueError, match="num_proc: expected"):
        unbag.load("plain", data=demo.get_demo_file("validation"), num_proc=bad)


def test_digest_collision_is_no_duplicate_id(tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.challenge_sets.build_stats.xxhash.xxh3_64_intdigest", lambda name: 0)
    assert len(loading.load("plain", data=_write(tmp_path / "pairs.jsonl", _rows(40)))) == 36
