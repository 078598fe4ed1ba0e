"""Tests of data with two labels (document, claim, supported or not), in files and on the Hub."""

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
from unbag.data.sources import MAX_SENTENCE_CHARACTERS, TOO_LONG, open_data
from unbag.utils.safe_io import DataError

DOCUMENT = "The clinic in Porto opened in 2011 and moved to a larger building in 2019."
CLAIMS = ("The clinic opened in 2011.", "The clinic opened in Lisbon.")
TO_TRUE, TO_FALSE = "--labels not_entailment,entailment", "--labels entailment,not_entailment"


def _write_jsonl(path, labels, *, premise="document", hypothesis="claim", label="label"):
    rows = [{premise: DOCUMENT, hypothesis: CLAIMS[n % 2], label: value} for n, value in enumerate(labels)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _write_csv(path, labels, label="label"):
    lines = [f'"{DOCUMENT}",{CLAIMS[n % 2]},{value}' for n, value in enumerate(labels)]
    path.write_text("\n".join([f"document,claim,{label}", *lines]) + "\n")
    return path


def _read_labels(source):
    return [example.label for example in source.iter_examples()]


@pytest.mark.parametrize("premise", ["premise", "document", "context", "source", "passage", "evidence", "sentence1"])
@pytest.mark.parametrize(
    "hypothesis",
    ["hypothesis", "claim", "statement", "answer", "response", "summary", "sentence", "sentence2"],
)
@pytest.mark.parametrize("spell", [str.lower, str.title, str.upper])
def test_common_column_names_are_recognized_ignoring_case(tmp_path, premise, hypothesis, spell):
    names = {"premise": spell(premise), "hypothesis": spell(hypothesis), "label": spell("label")}
    source = open_data(_write_jsonl(tmp_path / "a.jsonl", ["supported", "unsupported"], **names))
    assert source.labels == TWO_WAY
    assert [tuple(example[1:4]) for example in source.iter_examples()] == [
        (DOCUMENT, CLAIMS[0], "entailment"),
        (DOCUMENT, CLAIMS[1], "not_entailment"),
    ]


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
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(dict.fromkeys(columns, "supported")) + "\n")
    first = both.split("'")[1]
    with pytest.raises(DataError) as caught:
        open_data(path)
    assert str(caught.value).endswith(
        f"expected one column for the {ours}, got {both}; choose one with --columns {ours}={first}, or rename "
        "all but one in the data"
    )
    assert _read_labels(open_data(path, columns={ours: first})) == ["entailment"]
    with pytest.raises(DataError, match=r"; rename all but one in the data$"):
        open_data(path, has_options=False)


def test_column_named_by_user_is_no_other_candidate(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"source": DOCUMENT, "answer": CLAIMS[0], "claim": "a", "label": "supported"}) + "\n")
    source = open_data(path, columns={"premise": "source", "id": "claim"})
    assert [tuple(example[:3]) for example in source.iter_examples()] == [("a", DOCUMENT, CLAIMS[0])]


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("entailment", "not_entailment"),
        ("Entailed", "Not entailed"),
        ("SUPPORTED", "Unsupported"),
        ("supported", "not supported"),
        ("consistent", "Inconsistent"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_two_labels_are_read_by_name_ignoring_case(tmp_path, yes, no, ending):
    write = {"csv": _write_csv, "jsonl": _write_jsonl}[ending]
    source = open_data(write(tmp_path / f"a.{ending}", [yes, yes, "", no]))
    assert source.labels == TWO_WAY
    assert _read_labels(source) == ["entailment", "entailment", "not_entailment"]
    assert source.count_rows()["unlabelled"] == 1


def test_fever_labels_are_three(tmp_path):
    source = open_data(_write_csv(tmp_path / "a.csv", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]))
    assert source.labels == LABELS
    assert _read_labels(source) == ["entailment", "contradiction", "neutral"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_numeric_labels_are_rejected_without_names(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"document": [DOCUMENT] * 2, "claim": CLAIMS, "supported": [1, 0]}), path)
    else:
        {"csv": _write_csv, "jsonl": _write_jsonl}[ending](path, [1, 0], label="supported")
    with pytest.raises(DataError, match="got the number 1, whose meaning is unknown; pass --labels") as caught:
        _read_labels(open_data(path))
    assert f"{TO_TRUE} if 1 means entailed or supported, {TO_FALSE} if 0 does; for three" in str(caught.value)
    assert "entailment,neutral,contradiction" not in str(caught.value)  # a guess
    for labels in (TWO_WAY, TWO_WAY[::-1], ("supported", "unsupported")):
        source = open_data(path, labels=labels)
        assert source.labels == TWO_WAY
        expected = ["entailment", "not_entailment"] if labels == TWO_WAY[::-1] else ["not_entailment", "entailment"]
        assert _read_labels(source) == expected


@pytest.mark.parametrize("name", ["supported", "is_supported", "Supported"])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_booleans_in_support_column_are_read(tmp_path, name, ending):
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"document": [DOCUMENT] * 3, "claim": ["A."] * 3, name: [True, None, False]}), path)
    else:
        _write_jsonl(path, [True, None, False], label=name)
    source = open_data(path)
    assert source.labels == TWO_WAY
    assert _read_labels(source) == ["entailment", "not_entailment"]


@pytest.mark.parametrize(
    ("column", "values"),
    [("label", (True, False)), ("label", ("True", "FALSE")), ("verdict", ("yes", "no"))],
)
def test_booleans_in_other_column_need_names(tmp_path, column, values):
    path = _write_jsonl(tmp_path / "a.jsonl", values, label=column)
    with pytest.raises(DataError, match=f"value true, whose meaning in the column '{column}' is unknown") as caught:
        _read_labels(open_data(path, columns={"label": column}))
    advice = f"; pass {TO_TRUE} if true means entailed or supported, {TO_FALSE} if false does, or use entailment, "
    assert advice in str(caught.value)
    source = open_data(path, columns={"label": column}, labels=TWO_WAY)  # the names of false and true
    assert _read_labels(source) == ["not_entailment", "entailment"]
    meanings = [f"{str(value).lower()}={label}" for value, label in zip(values, TWO_WAY, strict=True)]
    source = open_data(path, columns={"label": column}, labels=meanings)
    assert _read_labels(source) == ["entailment", "not_entailment"]


@pytest.mark.parametrize(
    ("labels", "line", "words"),
    [
        (
            ["unsupported", "entailment", "neutral"],
            4,
            "expected one of entailment, not_entailment, as in the other rows",
        ),
        (
            ["entailment", "neutral", "unsupported"],
            4,
            "expected one of entailment, neutral, contradiction, as",
        ),
        (["supported", "perhaps"], 3, "expected a label such as entailment"),
    ],
)
def test_labels_of_two_label_spaces_error_names_line(tmp_path, labels, line, words):
    path = _write_csv(tmp_path / "a.csv", labels)
    with pytest.raises(DataError, match=re.escape(f"a.csv, line {line}: {words}")):
        _read_labels(open_data(path))


def test_third_label_can_be_not_entailment(tmp_path):
    path = _write_csv(tmp_path / "a.csv", ["entailment", "neutral", "Contradiction"])
    with pytest.raises(DataError, match=r"or pass its meaning with --labels Contradiction=not_entailment$"):
        _read_labels(open_data(path, labels=["neutral=not_entailment"]))
    with pytest.raises(DataError, match=r"; use the same labels in all rows$"):
        _read_labels(open_data(path, labels=["neutral=not_entailment"], has_options=False))
    source = open_data(path, labels=["neutral=not_entailment", "Contradiction=not_entailment"])
    assert source.labels == TWO_WAY
    assert _read_labels(source) == ["entailment", "not_entailment", "not_entailment"]


def _write_hub_corpus(monkeypatch, label, values):
    features = datasets.Features(
        {"document": datasets.Value("string"), "claim": datasets.Value("string"), "label": label}
    )
    rows = {"document": [DOCUMENT] * 2, "claim": list(CLAIMS), "label": values}
    table = readers.HubTable("org/claims", datasets.Dataset.from_dict(rows, features=features))
    monkeypatch.setattr(readers, "open_hub_table", lambda *_, **__: (table, "0" * 40))


@pytest.mark.parametrize("names", [("unsupported", "supported"), ("not_entailment", "entailment")])
def test_label_names_on_hub_are_read(monkeypatch, names):
    _write_hub_corpus(monkeypatch, datasets.ClassLabel(names=list(names)), [1, 0])
    source = open_data("org/claims", split="test")
    assert source.labels == TWO_WAY
    assert _read_labels(source) == ["entailment", "not_entailment"]


@pytest.mark.parametrize("names", [("0", "1"), ("hallucinated", "faithful"), ("no", "yes")])
def test_user_label_names_replace_generic_hub_names(monkeypatch, names):
    _write_hub_corpus(monkeypatch, datasets.ClassLabel(names=list(names)), [1, 0])
    assert _read_labels(open_data("org/claims", split="test", labels=TWO_WAY)) == ["not_entailment", "entailment"]
    if names[0] == "hallucinated":
        with pytest.raises(DataError, match=r"org/claims, the label names of 'label': .* --labels hallucinated=…,…"):
            open_data("org/claims", split="test")
        meanings = ["hallucinated=not_entailment", "faithful=entailment"]
        assert _read_labels(open_data("org/claims", split="test", labels=meanings)) == ["entailment", "not_entailment"]


def test_long_premises_are_excluded_only_if_truncated(tmp_path):
    path = tmp_path / "a.jsonl"
    long = (DOCUMENT + " ") * (MAX_SENTENCE_CHARACTERS // len(DOCUMENT) + 1)
    rows = [{"document": long if n else DOCUMENT, "claim": CLAIMS[n], "supported": not n} for n in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = build_requested_set(SetRequest("plain", options={"data": str(path)}))
    assert plain.rows["premise"][:] == [DOCUMENT, long]
    assert plain.rows["label"][:] == [0, 1]
    assert plain.rows.features["label"].names == list(TWO_WAY)
    assert plain.data["excluded"] == {}
    permuted = build_requested_set(SetRequest("permuted", options={"data": str(path), "q": 2, "min_words": 2}))
    assert set(permuted.rows["label"][:]) == {0}
    assert permuted.data["excluded"] == {TOO_LONG: 1}
    assert permuted.rows.features["label"].names == list(TWO_WAY)


def test_rows_of_document_share_source_and_count_as_examples(tmp_path):
    """Twenty documents with four claims each: 80 examples of 20 sources. Samples are of examples, not of documents."""
    path = tmp_path / "claims.jsonl"
    rows = [
        {"document": f"Document {d} is here.", "claim": f"Claim {c} holds.", "supported": c % 2 == 0}
        for d in range(20)
        for c in range(4)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    built = build_requested_set(SetRequest("plain", options={"data": str(path)}))
    assert [len(set(built.rows[name])) for name in ("id", "source_id")] == [80, 20]
    assert built.data["excluded"] == {}
    assert len(build_requested_set(SetRequest("plain", options={"data": str(path)}, max_examples=30)).rows) == 30
    answers = np.repeat(np.arange(20) % 2, 4)  # right for all or none of the claims of a document
    predicted = np.where(answers == 1, built.rows["label"], 1 - np.array(built.rows["label"]))
    plain = challenge_sets.get_challenge_set("plain")
    by_document = plain.score_rows(built.rows, build_predictions_from_labels(predicted.tolist()))
    apart = built.rows.remove_columns("source_id").add_column("source_id", built.rows["id"][:])
    by_pair = plain.score_rows(apart, build_predictions_from_labels(predicted.tolist()))

    def width(scores):
        return scores["accuracy"].high - scores["accuracy"].low

    assert by_document["accuracy"].value == by_pair["accuracy"].value == 0.5
    assert width(by_document) / width(by_pair) == pytest.approx(2, abs=0.2), "the root of the design effect, 4"
    assert by_document["skill"]["n_sources"] == 20
