import gzip
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unbag.data.labels import LABELS
from unbag.data.sources import Example, open_data
from unbag.utils.safe_io import DataError

PAIRS = [("A man sleeps.", "A man is awake.", "contradiction"), ("A dog runs.", "An animal moves.", "entailment")]


def _write(path, rows, header="premise,hypothesis,label"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def _read_pairs(source):
    return [tuple(example[1:4]) for example in source.iter_examples()]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz"])
def test_all_file_formats_give_same_pairs(tmp_path, ending):
    path = tmp_path / f"pairs.{ending}"
    columns = ("sentence1", "sentence2", "gold_label")
    if ending == "parquet":
        pq.write_table(pa.table(dict(zip(columns, zip(*PAIRS, strict=True), strict=True))), path)
    else:
        if "jsonl" in ending:
            text = "".join(json.dumps(dict(zip(columns, pair, strict=True))) + "\n" for pair in PAIRS)
        else:
            between = "\t" if "tsv" in ending else ","
            text = "".join(between.join(row) + "\n" for row in [columns, *PAIRS])
        data = text.encode()
        path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    source = open_data(path)
    assert _read_pairs(source) == PAIRS
    assert [example.source_id for example in source.iter_examples()] == ["pairs-0", "pairs-1"]


def test_quotes_follow_csv_and_tsv_rules(tmp_path):
    csv = _write(tmp_path / "a.csv", ['"A man, asleep.","He said ""hi"".",neutral'])
    assert _read_pairs(open_data(csv)) == [("A man, asleep.", 'He said "hi".', "neutral")]
    tsv = _write(tmp_path / "a.tsv", ['"A man\tHe said "hi".\tneutral'], "premise\thypothesis\tlabel")
    assert _read_pairs(open_data(tsv)) == [('"A man', 'He said "hi".', "neutral")]


def test_unlabelled_rows_are_dropped_and_counted(tmp_path):
    path = _write(
        tmp_path / "a.csv", ["A man.,A dog.,-", "A man.,A dog.,neutral", "A man.,A dog.,-1", "A man.,A dog.,"]
    )
    assert open_data(path).count_rows() == {"rows": 4, "unlabelled": 3, "empty": 0, "labelled": 1}


def test_empty_cells_are_excluded_and_counted_by_reason(tmp_path):
    path = _write(tmp_path / "a.csv", [" ,A dog.,neutral", "A man.,,neutral", "A man.,A dog.,neutral", ",,", "A,B,"])
    assert open_data(path).count_rows() == {
        "rows": 5,
        "with an empty premise": 1,
        "with an empty hypothesis": 1,
        "empty": 1,
        "unlabelled": 1,
        "labelled": 1,
    }


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("1.5", "expected a whole number as a label, got 1.5"),
        ("Infinity", "expected a whole number as a label, got inf"),
        ("[1]", "expected a label as text or a number"),
    ],
)
def test_invalid_label_error_names_line(tmp_path, label, said):
    path = _write(tmp_path / "a.jsonl", [], f'{{"premise": "A man.", "hypothesis": "A dog.", "label": {label}}}')
    with pytest.raises(DataError, match=re.escape(f"a.jsonl, line 1: {said}")):
        _read_pairs(open_data(path, labels=LABELS))


def test_numeric_labels_need_names(tmp_path):
    path = _write(tmp_path / "a.csv", ["A man.,A dog.,1"])
    with pytest.raises(DataError, match=re.escape("a.csv, line 2: expected a label name, got the number 1")):
        open_data(path).count_rows()
    named = open_data(path, labels=["contradiction", "entailment", "neutral"])
    assert _read_pairs(named) == [("A man.", "A dog.", "entailment")]


def test_columns_can_be_renamed(tmp_path):
    path = _write(tmp_path / "a.csv", ["x1,A dog.,A man.,neutral"], "key,claim,evidence,verdict")
    columns = {"premise": "evidence", "hypothesis": "claim", "label": "verdict", "id": "key"}
    assert list(open_data(path, columns=columns).iter_examples()) == [
        Example("x1", "A man.", "A dog.", "neutral", document="A man.")
    ]


@pytest.mark.parametrize("name", ["premise", "hypothesis", "label"])
def test_empty_column_name_is_rejected(tmp_path, name):
    path = _write(tmp_path / "a.csv", ["A man.,A dog.,neutral"])
    with pytest.raises(
        DataError, match=rf"a\.csv: expected a column for the {name}, got no name \(--columns {name}=\)"
    ):
        open_data(path, columns={name: ""})
    assert _read_pairs(open_data(path, columns={"id": ""})) == [("A man.", "A dog.", "neutral")]


def test_given_ids_are_used_and_must_be_unique(tmp_path):
    path = _write(
        tmp_path / "a.csv", ["a,A man.,A dog.,neutral", "a,A cat.,A dog.,neutral"], "pairID,premise,hypothesis,label"
    )
    with pytest.raises(DataError, match=re.escape("line 3: expected unique ids, got 'a' twice")):
        list(open_data(path).iter_examples())
    with pytest.raises(DataError, match=r"; rename the column to number the rows$"):
        list(open_data(path, has_options=False).iter_examples())
    numbered = open_data(path, columns={"id": ""})
    assert [example.source_id for example in numbered.iter_examples()] == ["a-0", "a-1"]


@pytest.mark.parametrize(
    ("rows", "header", "words"),
    [
        (
            ["A man.,A dog.,neutral"],
            "one,two,three",
            "expected a column for the premise (one of premise, sentence1, sentence_A, text1, text_a, document, ",
        ),
        (
            ["A,B,neutral,x"],
            "premise,sentence1,hypothesis,label",
            "expected one column for the premise, got 'premise' and 'sentence1'; choose one with --columns premise=",
        ),
        (["A man.,A dog.,perhaps"], "premise,hypothesis,label", "line 2: expected a label such as"),
        (
            ["A man.,A dog.,neutral", "A man.,A dog.,Not-Entailment"],
            "premise,hypothesis,label",
            "line 3: expected one of entailment, neutral, contradiction, as in the other rows, got "
            "not_entailment; use the same labels in all rows, or pass its meaning with --labels Not-Entailment=…",
        ),
        (["A man.,A dog."], "premise,hypothesis,label", "line 2: expected 3 cells"),
        ([], "premise,hypothesis,label", "expected rows, got none"),
    ],
)
def test_invalid_row_error_names_line(tmp_path, rows, header, words):
    path = _write(tmp_path / "a.csv", rows, header)
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        open_data(path).count_rows()
    assert "a.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({}, "--columns premise=…,hypothesis=…,label=…"),
        ({"premise": "one"}, "--columns hypothesis=…,label=…"),
        ({"premise": "one", "label": "gold"}, "--columns label=…,hypothesis=…"),
    ],
)
def test_missing_columns_are_all_named(tmp_path, columns, wanted):
    path = _write(tmp_path / "a.csv", ["A man.,A dog.,neutral"], "one,two,three")
    with pytest.raises(DataError, match=f"; pass the column names with {re.escape(wanted)}, or rename") as caught:
        open_data(path, columns=columns)
    assert "got ['one', 'two', 'three']" in str(caught.value)
    with pytest.raises(DataError, match=r"; rename the columns in the data$"):
        open_data(path, columns=columns, has_options=False)


@pytest.mark.parametrize(
    ("theirs", "remedy"),
    [
        ("E", "--labels E=entailment,N=neutral,C=contradiction"),
        ("c", "--labels e=entailment,n=neutral,c=contradiction"),
        ("maybe", "--labels maybe=…,… (each entailment, neutral, contradiction or not_entailment)"),
        ("no, never", "--labels THEIRS=entailment,…"),
    ],
)
def test_unknown_label_spelling_error_names_option(tmp_path, theirs, remedy):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"premise": "A man.", "hypothesis": "A dog.", "label": theirs}) + "\n")
    with pytest.raises(DataError, match=re.escape(f"pass their meanings with {remedy}")):
        list(open_data(path).iter_examples())
    with pytest.raises(
        DataError, match=r"; use entailment, neutral and contradiction, or entailment and not_entailment, in the data$"
    ):
        list(open_data(path, has_options=False).iter_examples())


def test_label_meanings_are_applied(tmp_path):
    rows = ["A man.,A dog.,E", "A man.,A dog.,C", "A man.,A dog.,neutral", "A man.,A dog.,7"]
    path = _write(tmp_path / "a.csv", rows)
    meanings = ["E=entailment", "C=contradiction", "7=neutral"]
    assert [label for _, _, label in _read_pairs(open_data(path, labels=meanings))] == [
        "entailment",
        "contradiction",
        "neutral",
        "neutral",
    ]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["E=entailment", "neutral"], "got a mixture (E=entailment,neutral)"),
        (["E=entailment", "E=neutral"], "got 'E' twice"),
        (["E=perhaps"], "expected a label such as"),
        (
            ["E=not_entailment", "N=neutral"],
            "or contradiction, not_contradiction, got a mixture (E=not_entailment,N=neutral)",
        ),
        (
            ["neutral", "not_entailment"],
            "not_contradiction at most once, got neutral, not_entailment",
        ),
    ],
)
def test_invalid_label_meanings_are_rejected(tmp_path, labels, words):
    path = _write(tmp_path / "a.csv", ["A man.,A dog.,E"])
    with pytest.raises(DataError, match=re.escape(words)):
        open_data(path, labels=labels)


def test_invalid_utf8_error_names_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"premise,hypothesis,label\nA man.,A dog.,neutral\nA caf\xe9.,A dog.,neutral\n")
    with pytest.raises(DataError, match="line 3: expected UTF-8, got the byte 0xe9 at column 6;"):
        open_data(path).count_rows()


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_duplicate_column_is_rejected(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    names = ["premise", "hypothesis", "label", "label"]
    values = ["A man.", "A dog.", "neutral", "contradiction"]
    if ending == "parquet":
        pq.write_table(pa.Table.from_arrays([pa.array([value]) for value in values], names), path)
    elif ending == "jsonl":
        path.write_text("{" + ", ".join(f'"{n}": "{v}"' for n, v in zip(names, values, strict=True)) + "}\n")
    else:
        between = "," if ending == "csv" else "\t"
        path.write_text(f"{between.join(names)}\n{between.join(values)}\n")
    with pytest.raises(
        DataError, match=rf"a\.{ending}(, line 1)?: expected unique column names, got 'label' repeatedly"
    ):
        open_data(path).count_rows()


def test_json_line_without_column_error_names_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"premise": "A", "hypothesis": "B", "label": "neutral"}\n{"premise": "A", "label": "neutral"}\n')
    with pytest.raises(DataError, match=re.escape("line 2: expected the columns 'hypothesis' for the hypothesis")):
        open_data(path).count_rows()


@pytest.mark.parametrize(
    ("name", "words"), [("no.csv", "no such file"), ("test_sources.py", "expected a file name ending in")]
)
def test_missing_or_unknown_file_is_rejected(name, words, request):
    with pytest.raises(DataError, match=words):
        open_data(request.path.parent / name)


def test_file_revision_is_hash_of_content(tmp_path):
    first, second = (_write(tmp_path / f"{i}.csv", [f"A man.,A dog {i}.,neutral"]) for i in range(2))
    assert open_data(first).revision != open_data(second).revision
    assert len(open_data(first).revision) == 64
