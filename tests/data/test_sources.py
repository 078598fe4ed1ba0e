"""Tests of user-provided pairs: columns, labels, ids, and the errors that name line and option."""

import csv
import gzip
import io
import json
import re

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unbag import challenge_sets
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data import readers
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import build_predictions_from_labels
from unbag.data.sources import Example, open_data
from unbag.utils.safe_io import DataError

PAIRS = [("A man sleeps.", "A man is awake.", "contradiction"), ("A dog runs.", "An animal moves.", "entailment")]
DOCUMENT = "The clinic in Porto opened in 2011 and moved to a larger building in 2019."
CLAIMS = ("The clinic opened in 2011.", "The clinic opened in Lisbon.")
ENTAILMENT, NEUTRAL, CONTRADICTION = LABELS
NOT = "not_entailment"
HEADER, PAIR = "premise,hypothesis,label\n", "A man.,A dog.,"
TO_TRUE, TO_FALSE = "--labels not_entailment,entailment", "--labels entailment,not_entailment"


def _write(path, columns, rows):
    """Write rows in the format of the file's ending."""
    if ".parquet" in path.name:
        pq.write_table(pa.Table.from_arrays([pa.array(cells) for cells in zip(*rows, strict=True)], columns), path)
        return path
    text = io.StringIO()
    if ".jsonl" in path.name:
        for row in rows:
            cells = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in zip(columns, row, strict=True))
            text.write(f"{{{', '.join(cells)}}}\n")
    else:
        delimiter = "\t" if ".tsv" in path.name else ","
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([columns, *rows])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def _write_claims(path, values, names=("document", "claim", "label")):
    return _write(path, list(names), [(DOCUMENT, CLAIMS[n % 2], value) for n, value in enumerate(values)])


def _write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def _read_pairs(source):
    return [tuple(example[1:4]) for example in source.iter_examples()]


def _read_labels(source):
    return [example.label for example in source.iter_examples()]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz"])
def test_all_file_formats_give_same_pairs(tmp_path, ending):
    source = open_data(_write(tmp_path / f"pairs.{ending}", ["sentence1", "sentence2", "gold_label"], PAIRS))
    assert _read_pairs(source) == PAIRS
    assert [example.source_id for example in source.iter_examples()] == ["pairs-0", "pairs-1"]
    assert len(source.revision) == 64
    other = _write(tmp_path / f"other.{ending}", ["sentence1", "sentence2", "gold_label"], PAIRS[:1])
    assert open_data(other).revision != source.revision


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ([f"{PAIR}-", f"{PAIR}neutral", f"{PAIR}-1", PAIR], {"rows": 4, "unlabelled": 3, "empty": 0, "labelled": 1}),
        (
            [" ,A dog.,neutral", "A man.,,neutral", f"{PAIR}neutral", ",,", "A,B,"],
            {"rows": 5, "with an empty premise": 1, "with an empty hypothesis": 1, "empty": 1, "unlabelled": 1}
            | {"labelled": 1},
        ),
    ],
)
def test_excluded_rows_are_counted_by_reason(tmp_path, rows, counts):
    assert open_data(_write_text(tmp_path / "a.csv", HEADER + "\n".join(rows) + "\n")).count_rows() == counts


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        *(("premise", "hypothesis"), ("Document", "Claim"), ("CONTEXT", "STATEMENT"), ("source", "answer")),
        *(("passage", "response"), ("evidence", "summary"), ("document", "sentence"), ("Sentence1", "SENTENCE2")),
    ],
)
def test_common_column_names_are_recognized_ignoring_case(tmp_path, premise, hypothesis):
    source = open_data(
        _write_claims(tmp_path / "a.jsonl", ["supported", "unsupported"], [premise, hypothesis, "Label"])
    )
    assert source.labels == TWO_WAY
    assert _read_pairs(source) == [(DOCUMENT, CLAIMS[0], ENTAILMENT), (DOCUMENT, CLAIMS[1], NOT)]


def test_columns_can_be_renamed(tmp_path):
    path = _write_text(tmp_path / "a.csv", "key,claim,evidence,verdict\nx1,A dog.,A man.,neutral\n")
    columns = {"premise": "evidence", "hypothesis": "claim", "label": "verdict", "id": "key"}
    [example] = open_data(path, columns=columns).iter_examples()
    assert example == Example("x1", "A man.", "A dog.", NEUTRAL, document="A man.")
    # A column that the user names is no candidate for another column.
    path = _write_text(tmp_path / "b.csv", "source,answer,claim,label\nA man.,A dog.,a,Entailed\n")
    [example] = open_data(path, columns={"premise": "source", "id": "claim"}).iter_examples()
    assert example[:3] == ("a", "A man.", "A dog.")


@pytest.mark.parametrize(
    ("columns", "ours", "both"),
    [
        (("document", "source", "claim", "label"), "premise", "'document' and 'source'"),
        (("document", "Claim", "claim", "label"), "hypothesis", "'Claim' and 'claim'"),
        (("document", "claim", "summary", "answer", "label"), "hypothesis", "'claim', 'answer' and 'summary'"),
        (("document", "claim", "supported", "label"), "label", "'label' and 'supported'"),
    ],
)
def test_ambiguous_columns_error_names_option(tmp_path, columns, ours, both):
    path = _write(tmp_path / "a.jsonl", columns, [["supported"] * len(columns)])
    first = both.split("'")[1]
    advice = f"expected one column for the {ours}, got {both}; choose one with --columns {ours}={first}, or rename "
    with pytest.raises(DataError, match=re.escape(f"{advice}all but one in the data") + "$"):
        open_data(path)
    assert _read_labels(open_data(path, columns={ours: first})) == [ENTAILMENT]
    with pytest.raises(DataError, match=r"; rename all but one in the data$"):
        open_data(path, has_options=False)


@pytest.mark.parametrize(
    ("column", "values", "labels", "expected"),
    [
        ("label", ["Entailed", "Entailed", "", "Not entailed"], None, [ENTAILMENT, ENTAILMENT, NOT]),
        ("label", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], None, [ENTAILMENT, CONTRADICTION, NEUTRAL]),
        ("is_supported", [True, None, False], None, [ENTAILMENT, NOT]),
        # names of the ids 0, 1, … or of false and true
        ("label", [1], [CONTRADICTION, ENTAILMENT, NEUTRAL], [ENTAILMENT]),
        ("supported", [1, 0], TWO_WAY[::-1], [ENTAILMENT, NOT]),
        ("supported", [1, 0], ["supported", "unsupported"], [NOT, ENTAILMENT]),
        *[
            (column, values, labels, expected)
            for column, values in (("label", ["True", "FALSE"]), ("verdict", ["yes", "no"]))
            for labels, expected in (
                (TWO_WAY, [NOT, ENTAILMENT]),
                ([f"{str(values[0]).lower()}=entailment", f"{str(values[1]).lower()}={NOT}"], [ENTAILMENT, NOT]),
            )
        ],
        # meanings
        ("label", ["E", "C", "neutral", "7"], ["E=entailment", "C=contradiction", "7=neutral"],
         [ENTAILMENT, CONTRADICTION, NEUTRAL, NEUTRAL]),
        ("label", ["entailment", "neutral", "Contradiction"], [f"neutral={NOT}", f"Contradiction={NOT}"],
         [ENTAILMENT, NOT, NOT]),
        ("label", ["e", "contradiction", "", "-1"], ["E=entailment", "=neutral"], [ENTAILMENT, CONTRADICTION, NEUTRAL]),
        ("label", ["SUPPORTS", "Yes"], ["Supports=contradiction", "True=neutral"], [CONTRADICTION, NEUTRAL]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_are_read_by_name_or_meaning(tmp_path, ending, column, values, labels, expected):
    path = _write_claims(tmp_path / f"a.{ending}", values, ["document", "claim", column])
    source = open_data(path, labels=labels, columns={"label": column} if column == "verdict" else None)
    assert source.labels == (TWO_WAY if NOT in expected else LABELS)
    assert _read_labels(source) == expected
    assert source.count_rows()["unlabelled"] == len(values) - len(expected)


SPACE = (
    "expected one of entailment, neutral, contradiction, as in the other rows, got not_entailment; use the same labels"
)


@pytest.mark.parametrize(
    ("column", "values", "options", "message"),
    [
        ("label", [float("inf")], {"labels": LABELS}, "line 1: expected a whole number as a label, got inf"),
        ("label", [[1]], {"labels": LABELS}, "line 1: expected a label as text or a number"),
        ("label", [True], {"labels": LABELS}, "line 1: expected a label name, got the truth value true"),
        ("label", ["perhaps"], {}, "line 1: expected a label such as"),
        ("label", ["supported", "perhaps"], {}, "line 2: expected a label such as entailment"),
        *[
            (
                "supported", [number, 0], {},
                f"line 1: expected a label name, got the number 1, whose meaning is unknown; pass {TO_TRUE} if 1 means "
                f"entailed or supported, {TO_FALSE} if 0 does; for three",
            )
            for number in (1, "1")
        ],
        *[
            (
                column, [value], {"columns": {"label": column}},
                f"value true, whose meaning in the column '{column}' is unknown; pass {TO_TRUE} if true means entailed "
                f"or supported, {TO_FALSE} if false does, or use entailment, ",
            )
            for column, value in (("label", "True"), ("verdict", "yes"))
        ],
        ("label", [NEUTRAL, "Not-Entailment"], {},
         f"line 2: {SPACE} in all rows, or pass its meaning with --labels Not-Entailment=…"),
        ("label", [NEUTRAL, "unsupported"], {"has_options": False}, f"line 2: {SPACE} in all rows"),
        ("label", ["unsupported", ENTAILMENT, NEUTRAL], {},
         "line 3: expected one of entailment, not_entailment, as in the other rows"),
        ("label", [ENTAILMENT, CONTRADICTION], {"labels": [f"neutral={NOT}"]},
         "or pass its meaning with --labels contradiction=not_entailment"),
        ("label", ["E"], {}, "pass their meanings with --labels E=entailment,N=neutral,C=contradiction"),
        ("label", ["maybe"], {}, "with --labels maybe=…,… (each entailment, neutral, contradiction or not_entailment)"),
        ("label", ["no, never"], {}, "pass their meanings with --labels THEIRS=entailment,…"),
        ("label", ["E"], {"has_options": False},
         "; use entailment, neutral and contradiction, or entailment and not_entailment, in the data"),
        ("label", ["E"], {"labels": ["E=entailment", "neutral"]}, "got a mixture (E=entailment,neutral)"),
        ("label", ["E"], {"labels": ["E=entailment", "E=neutral"]}, "got 'E' twice"),
        ("label", ["E"], {"labels": ["E=perhaps"]}, "expected a label such as"),
        ("label", ["E"], {"labels": ["E=not_entailment", "N=neutral"]},
         "or contradiction, not_contradiction, got a mixture (E=not_entailment,N=neutral)"),
        ("label", ["E"], {"labels": [NEUTRAL, NOT]}, "not_contradiction at most once, got neutral, not_entailment"),
    ],
)  # fmt: skip
def test_label_error_names_line_and_option(tmp_path, column, values, options, message):
    path = _write_claims(tmp_path / "a.jsonl", values, ["document", "claim", column])
    with pytest.raises(DataError, match=re.escape(message)):
        _read_labels(open_data(path, **options))


IDS = "pairID,premise,hypothesis,label\na,A man.,A dog.,neutral\na,A cat.,A dog.,neutral\n"
NAMELESS = f"one,two,three\n{PAIR}neutral\n"
BY_NAME = "; pass the column names with --columns "


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", NAMELESS, {},
         "a.csv: expected a column for the premise (one of premise, sentence1, sentence_A, text1, text_a, document, "),
        ("a.csv", NAMELESS, {}, f"got ['one', 'two', 'three']{BY_NAME}premise=…,hypothesis=…,label=…, or rename"),
        ("a.csv", NAMELESS, {"columns": {"premise": "one"}}, f"{BY_NAME}hypothesis=…,label=…, or rename"),
        ("a.csv", NAMELESS, {"columns": {"premise": "one", "label": "gold"}},
         f"{BY_NAME}label=…,hypothesis=…, or rename"),
        ("a.csv", NAMELESS, {"has_options": False}, "; rename the columns in the data"),
        *[
            ("a.csv", f"{HEADER}{PAIR}neutral\n", {"columns": {side: ""}},
             f"a.csv: expected a column for the {side}, got no name (--columns {side}=)")
            for side in ("premise", "hypothesis", "label")
        ],
        ("a.csv", IDS, {}, "a.csv, line 3: expected unique ids, got 'a' twice"),
        ("a.csv", IDS, {"has_options": False}, "; rename the column to number the rows"),
        ("a.csv", f"{HEADER}A man.,A dog.\n", {}, "a.csv, line 2: expected 3 cells"),
        ("a.csv", HEADER, {}, "a.csv: expected rows, got none"),
        ("a.jsonl", '{"premise": "A", "hypothesis": "B", "label": "-"}\n{"premise": "A", "label": "-"}\n', {},
         "a.jsonl, line 2: expected the columns 'hypothesis' for the hypothesis"),
        ("a.xyz", HEADER, {}, "expected a file name ending in"),
        ("none/a.csv", None, {}, "no such file"),
    ],
)  # fmt: skip
def test_table_error_names_line_and_option(tmp_path, name, text, options, message):
    path = tmp_path / name if text is None else _write_text(tmp_path / name, text)
    with pytest.raises(DataError, match=re.escape(message)):
        open_data(path, **options).count_rows()
    if text == IDS:  # row numbers replace ids if the user names no column
        examples = open_data(path, columns={"id": ""}).iter_examples()
        assert [example.source_id for example in examples] == ["a-0", "a-1"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_duplicate_column_is_rejected(tmp_path, ending):
    path = _write(tmp_path / f"a.{ending}", ["premise", "hypothesis", "label", "label"], [["A", "B", *LABELS[:2]]])
    message = rf"a\.{ending}(, line 1)?: expected unique column names, got 'label' repeatedly"
    with pytest.raises(DataError, match=message):
        open_data(path).count_rows()


@pytest.mark.parametrize(
    ("names", "labels", "expected"),
    [
        (["unsupported", "supported"], None, [ENTAILMENT, NOT]),
        (["0", "1"], TWO_WAY, [NOT, ENTAILMENT]),
        (["hallucinated", "faithful"], [f"hallucinated={NOT}", "faithful=entailment"], [ENTAILMENT, NOT]),
        (["hallucinated", "faithful"], [NOT, "entailment"], [ENTAILMENT, NOT]),
        (["hallucinated", "faithful"], None, r"org/claims, the label names of 'label': .* --labels hallucinated=…,…"),
    ],
)
def test_label_names_of_hub_are_read_or_replaced_by_user(monkeypatch, names, labels, expected):
    text, label = datasets.Value("string"), datasets.ClassLabel(names=names)
    features = datasets.Features({"document": text, "claim": text, "label": label})
    rows = {"document": [DOCUMENT] * 2, "claim": list(CLAIMS), "label": [1, 0]}
    table = readers.HubTable("org/claims", datasets.Dataset.from_dict(rows, features=features), "0" * 40)
    monkeypatch.setattr(readers, "open_hub_table", lambda *_, **__: table)
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            open_data("org/claims", split="test", labels=labels)
        return
    source = open_data("org/claims", split="test", labels=labels)
    assert source.labels == TWO_WAY
    assert _read_labels(source) == expected


def test_rows_of_document_share_source_and_count_as_examples(tmp_path):
    """Twenty documents with four claims each: 80 examples of 20 sources. Samples are of examples, not of documents."""
    rows = [(f"Document {d} is here.", f"Claim {c} holds.", c % 2 == 0) for d in range(20) for c in range(4)]
    path = _write(tmp_path / "claims.jsonl", ["document", "claim", "supported"], rows)
    built = build_requested_set(SetRequest("plain", options={"data": str(path)}))
    assert [len(set(built.rows[name])) for name in ("id", "source_id")] == [80, 20]
    assert built.data["excluded"] == {}
    assert len(build_requested_set(SetRequest("plain", options={"data": str(path)}, max_examples=30)).rows) == 30
    is_right = np.repeat(np.arange(20) % 2, 4)  # for all or none of the claims of a document
    labels = np.array(built.rows["label"])
    predictions = build_predictions_from_labels(np.where(is_right, labels, 1 - labels).tolist())
    apart = built.rows.remove_columns("source_id").add_column("source_id", built.rows["id"][:])
    plain = challenge_sets.get_challenge_set("plain")
    by_document, by_pair = (plain.score_rows(rows, predictions) for rows in (built.rows, apart))
    estimates = [scores["accuracy"] for scores in (by_document, by_pair)]
    assert [estimate.value for estimate in estimates] == [0.5, 0.5]
    wide, narrow = (estimate.high - estimate.low for estimate in estimates)
    assert wide / narrow == pytest.approx(2, abs=0.2), "the root of the design effect, 4"
    assert by_document["skill"]["n_sources"] == 20
