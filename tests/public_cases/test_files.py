"""Files that spreadsheets, pandas, `datasets` and evaluation logs write: read as meant, or refused with a remedy."""

import csv
import io
import json
from pathlib import Path

import datasets
import pandas
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.factories import BARE, run_unbag, write_table
from unbag.api import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS, TWO_WAY, find_flag_direction
from unbag.data.sources import open_data
from unbag.data.user_text import _unique_names
from unbag.reports.reproduce import list_remarks
from unbag.training.config import TrainConfig
from unbag.training.data import validate_corpora
from unbag.utils.safe_io import DataError

PAIRS = [
    ("The café opens at nine.", "It opens at nine.", "supported"),
    ('He said "no", then left.', "He left; she stayed.", "unsupported"),
    ("One\ttab, and\nanother line.", "None", "supported"),
    ("NA", "null", "unsupported"),
]
READ = [(p, h, "entailment" if label == "supported" else "not_entailment") for p, h, label in PAIRS]
NAMES = ["contradiction", "entailment", "neutral"]  # not in the order of unbag
PAIR = ("premise", "hypothesis", "label")
ROWS = [("A man sings.", f"Claim {number}.", number % 3) for number in range(6)]


def _read(path, **options):
    return [tuple(example[1:4]) for example in open_data(path, **options).iter_examples()]


def _write(path, delimiter, *, before="", header=("document", "claim", "label"), encoding="utf-8", end="\r\n"):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerows([header, *PAIRS])
    path.write_bytes((before + out.getvalue()).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("name", "delimiter", "how"),
    [
        ("commas.csv", ",", {}),
        ("semicolons.csv", ";", {"encoding": "utf-8-sig"}),
        ("tabs.csv", "\t", {}),
        ("bars.csv", "|", {}),
        ("separator.csv", ";", {"before": "sep=;\r\n"}),
        ("separator-tab.csv", "\t", {"before": "sep=\t\r\n", "encoding": "utf-16"}),
        ("utf-16.csv", "\t", {"encoding": "utf-16"}),
        ("utf-16-big.csv", ",", {"before": "\ufeff", "encoding": "utf-16-be"}),
        ("quoted.tsv", "\t", {}),
        ("utf-16.tsv", "\t", {"encoding": "utf-16"}),
        ("commas.tsv", ",", {}),
        ("spaces.csv", ",", {"header": (" Document ", "claim\u00a0", " Label")}),
    ],
)
def test_spreadsheet_file_is_read_cell_by_cell(tmp_path, name, delimiter, how):
    path = _write(tmp_path / name, delimiter, **how)
    assert _read(path) == READ


def test_old_line_ends_are_read(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"document,claim,label\rA man sings.,He sings.,supported\rA man sings.,He sleeps.,unsupported\r")
    assert [label for _, _, label in _read(path)] == list(TWO_WAY)


def test_unmarked_encoding_error_names_option_that_works(tmp_path):
    path = _write(tmp_path / "a.csv", ";", encoding="cp1252")
    with pytest.raises(DataError, match=r"line 2: expected UTF-8, got the byte 0xe9 .*; pass --encoding cp1252 if"):
        _read(path)
    assert _read(path, encoding="cp1252") == READ
    path = _write(tmp_path / "b.csv", ",", encoding="utf-16-le")
    with pytest.raises(DataError, match=r"got null bytes, .*; pass --encoding utf-16-le, or"):
        _read(path)
    assert _read(path, encoding="utf-16-le") == READ
    with pytest.raises(DataError, match="--encoding: expected a text encoding"):
        _read(path, encoding="base64")


@pytest.mark.parametrize(("name", "content"), [("a.csv", b"PK\x03\x04" + bytes(60)), ("a.xlsx", b"PK\x03\x04")])
def test_workbook_error_names_csv(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=r"save the sheet as csv$"):
        open_data(tmp_path / name)


def test_cell_with_long_document_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f'document,claim,label\n"{"A man sings. " * 20_000}",He sings.,supported\n')
    assert len(build_requested_set(SetRequest("plain", options={"data": str(path)})).rows["premise"][0]) == 260_000


def test_raw_quotation_marks_stay_in_tsv(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(
        'document\tclaim\tlabel\n"No," he said.\tHe "spoke"\tsupported\n"Yes."\t"A\tunsupported\nB"\tC\tsupported\n'
    )
    assert [pair[:2] for pair in _read(path)] == [('"No," he said.', 'He "spoke"'), ('"Yes."', '"A'), ('B"', "C")]


def test_trailing_empty_columns_and_rows_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "document;claim;label;;\nA man sings.;He sings.;supported;;\n;;;;\nA man sings.;He.;supported\n \n;;\n"
    )
    counts = open_data(path).count_rows()
    assert (counts["rows"], counts["labelled"], counts["empty"]) == (5, 2, 3)


@pytest.mark.parametrize(
    "dump",
    [
        lambda frame, path: path.write_text(json.dumps(frame.to_dict("records"), indent=2)),
        lambda frame, path: frame.to_json(path),
        lambda frame, path: frame.to_json(path, orient="table"),
        lambda frame, path: path.write_text(json.dumps(frame.to_dict("list"))),
        lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ],
)
def test_json_file_is_read(tmp_path, dump):
    dump(pandas.DataFrame(PAIRS, columns=["document", "claim", "label"]), tmp_path / "a.json")
    assert _read(tmp_path / "a.json") == READ


def test_fields_of_nested_objects_are_columns(tmp_path):
    path = tmp_path / "nested.jsonl"
    path.write_text('{"input": {"texts": {"a": "A.", "b": "B."}}, "gold": {"label": "neutral"}}\n')
    columns = {"premise": "input.texts.a", "hypothesis": "input.texts.b", "label": "gold.label"}
    [example] = open_data(path, columns=columns).iter_examples()
    assert example[1:4] == ("A.", "B.", "neutral")


def test_other_json_error_describes_array(tmp_path):
    (tmp_path / "a.json").write_text('{"document": "A", "claim": "B"}')
    with pytest.raises(DataError, match=r"expected an array of objects, one per pair, got dict; write an array"):
        _read(tmp_path / "a.json")


def _write_named(tmp_path, kind):
    features = datasets.Features(
        premise=datasets.Value("string"), hypothesis=datasets.Value("string"), label=datasets.ClassLabel(names=NAMES)
    )
    data = datasets.Dataset.from_list([dict(zip(features, row, strict=True)) for row in ROWS], features=features)
    path = tmp_path / f"pairs.{kind}"
    if kind == "parquet":
        data.to_parquet(path)
    elif kind == "feather":
        pyarrow.feather.write_feather(data.data.table, path)
    elif kind == "dict":
        datasets.DatasetDict(test=data, train=data.select(range(3))).save_to_disk(path)
    else:
        data.save_to_disk(path)
        if kind == "arrow":
            [path] = path.glob("*.arrow")
    return path


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "folder", "dict"])
def test_label_names_in_file_are_used_and_contradiction_is_refused(tmp_path, kind):
    path = _write_named(tmp_path, kind)
    split = {"split": "test"} if kind == "dict" else {}
    gold = [NAMES[number % 3] for number in range(6)]
    assert [label for _, _, label in _read(path, **split)] == gold
    assert [label for _, _, label in _read(path, **split, labels=NAMES)] == gold
    message = r"for the label id(s 0, 1, …,| 0,) as the data names (them|it), got .*omit"
    for labels in (list(LABELS), ["0=entailment", "1=not_entailment", "2=not_entailment"]):
        with pytest.raises(DataError, match=message):
            _read(path, **split, labels=labels)
    two = _read(path, **split, labels=["0=not_entailment", "1=entailment", "2=not_entailment"])
    assert [label for _, _, label in two] == [label if label == "entailment" else TWO_WAY[1] for label in gold]
    built = build_requested_set(SetRequest("plain", options={"data": str(path), "source_split": split.get("split")}))
    assert len(built.rows) == 6


def test_folder_with_splits_needs_split(tmp_path):
    path = _write_named(tmp_path, "dict")
    with pytest.raises(DataError, match=r"one of the splits test, train, got none; pass one, such as --split test"):
        open_data(path)
    assert len(_read(path / "train")) == 3


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_pandas_categories_are_label_names(tmp_path, ending):
    frame = pandas.DataFrame(PAIRS, columns=["document", "claim", "label"]).astype({"label": "category"})
    getattr(frame, f"to_{ending}")(tmp_path / f"a.{ending}")
    assert _read(tmp_path / f"a.{ending}") == READ


def test_ids_without_names_error_suggests_no_order(tmp_path):
    path = write_table(tmp_path / "a.csv", ROWS, PAIR)
    with pytest.raises(DataError) as caught:
        _read(path)
    assert "--labels 0=…,1=…,2=…" in str(caught.value)
    assert not any(",".join(order) in str(caught.value) for order in (NAMES, LABELS))
    assert len(_read(path, labels=["0=contradiction", "1=entailment", "2=neutral"])) == 6


def test_mapped_minus_one_is_label(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("document,claim,label\nA.,B.,1\nA.,C.,-1\nA.,D.,-1.0\n")
    assert open_data(path, labels=["1=entailment", "0=not_entailment"]).count_rows()["unlabelled"] == 2
    mapped = _read(path, labels=["1=entailment", "-1=not_entailment"])
    assert [label for _, _, label in mapped] == ["entailment", "not_entailment", "not_entailment"]


@pytest.mark.parametrize(
    "column", ["supported", "is_entailment", "faithful", "Hallucinated", "has_hallucination", "label"]
)
def test_flags_mean_the_same_in_all_formats(tmp_path, column):
    direction = find_flag_direction(column)
    for ending in ("csv", "jsonl", "parquet"):
        rows = {"document": ["A man sings."] * 2, "claim": ["He sings.", "He."], column: [True, False]}
        path = write_table(tmp_path / f"{column}.{ending}", rows)
        if direction is None:
            with pytest.raises(DataError, match="got the truth value true, whose meaning in the column 'label' is"):
                _read(path)
        else:
            assert [label for _, _, label in _read(path)] == list(TWO_WAY if direction else TWO_WAY[::-1])
        for labels in (["true=not_entailment", "false=entailment"], ["entailment", "not_entailment"]):
            assert [label for _, _, label in _read(path, labels=labels)] == list(TWO_WAY[::-1])


CONTEXTS = [["The ferry leaves at noon.", "It returns before dusk."], ["It rains."], [], ["A firm did the work.", None]]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv-json", "csv-python", "csv-array"])
def test_passages_are_joined_on_demand_and_empty_ones_counted(tmp_path, kind):
    answers = ["It leaves at noon.", "It snows.", "It leaves.", ""]
    frame = pandas.DataFrame({"contexts": CONTEXTS, "response": answers, "faithful": [True, False, False, True]})
    if kind == "csv-json":
        frame = frame.assign(contexts=list(map(json.dumps, CONTEXTS)))
    elif kind == "csv-array":
        frame = frame.assign(contexts=["[" + "\n ".join(f"'{each}'" for each in row if each) + "]" for row in CONTEXTS])
    elif kind == "csv-python":
        frame = frame.assign(contexts=[[each for each in row if each] for row in CONTEXTS])
    path = write_table(tmp_path / f"a.{kind.partition('-')[0]}", frame)
    with pytest.raises(DataError, match=r"the premise as text, got a list of 2 passages; pass --join-passages"):
        _read(path)
    source = open_data(path, join_passages=True)
    premises = [example.premise for example in source.iter_examples()]
    assert premises == ["The ferry leaves at noon.\n\nIt returns before dusk.", "It rains."]
    counts = source.count_rows()
    assert (counts["with an empty premise"], counts["with an empty hypothesis"], counts["rows"]) == (1, 1, 4)


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_span_lists_are_explained_and_remedy_works(tmp_path, ending):
    spans = [[], [{"start": 3, "text": "nine"}], []]
    columns = {"context": ["It opens."] * 3, "answer": ["It opens.", "It opens at nine.", "It."], "label": spans}
    path = write_table(tmp_path / f"a.{ending}", columns)
    with pytest.raises(DataError, match=r"an empty list means supported, pass --labels '(\S+)', or use") as caught:
        open_data(path).count_rows()
    labels = str(caught.value).split("--labels '")[1].split("'")[0].split(",")
    source = open_data(path, labels=labels)
    assert [each.label for each in source.iter_examples()] == ["entailment", "not_entailment", "entailment"]


def _build_plain(tmp_path, rows, **options):
    path = write_table(tmp_path / "documents.jsonl", rows)
    return build_requested_set(SetRequest("plain", options={"data": str(path), **options}))


def test_copies_of_document_are_one_source(tmp_path):
    copies = ["The “café” isn’t open.", "The \u201ccafe\u0301\u201d isn't\u00a0open.", ' The "café" isn\'t\n open. ']
    texts = [*copies, "Another one."]
    rows = [{"document": text, "claim": f"Claim {n}.", "label": "supported"} for n, text in enumerate(texts)]
    built = _build_plain(tmp_path, rows)
    assert built.data["documents"] == len(set(built.rows["source_id"])) == 2
    assert built.rows["premise"][:] == texts  # models read the original text


@pytest.mark.parametrize("column", ["document_id", "source_id", "doc_id", "Context ID", "file"])
def test_grouping_column_decides_what_is_independent(tmp_path, column):
    rows = [
        {"document": f"Chunk {n}.", "claim": "A claim.", "label": "supported", column: f"file {n // 3}"}
        for n in range(9)
    ]
    options = {"columns": {"source": "file"}} if column == "file" else {}
    built = _build_plain(tmp_path, rows, **options)
    assert built.data["documents"] == 3
    sources = built.rows["source_id"][:]
    assert [len(set(sources[start : start + 3])) for start in (0, 3, 6)] == [1, 1, 1]
    assert _build_plain(tmp_path, rows, columns={"source": ""}).data["documents"] == 9


@pytest.mark.parametrize("n_documents", [3, 9])
def test_examples_of_one_document_are_named_where_intervals_are_over_examples(tmp_path, n_documents):
    labels = ("neutral", "contradiction")
    rows = [(f"Text {n % n_documents}.", f"Claim {n}.", labels[n % 2]) for n in range(9)]
    path = write_table(tmp_path / "documents.jsonl", rows, PAIR)
    [result] = evaluate(lambda p, h: ["neutral"] * len(p), "swapped", data=str(path), **BARE)
    assert result.data.get("shared_documents") == (3 if n_documents == 3 else None)
    remarks = list_remarks(result)
    named = remarks[-1:] if n_documents == 3 else []
    assert [line for line in remarks if "share a document (3 documents)" in line] == named


GERMAN = [
    ("Ein Mann mit rotem Hut liest heute im Park eine lange Zeitung.", "Der Mann liest eine Zeitung.", "entailment"),
    ("Zwei Kinder werfen einen Ball über die hohe Mauer hinter dem Haus.", "Die Kinder schlafen.", "contradiction"),
]
DUTCH = [
    ("Een man met een rode hoed leest vandaag een lange krant in het park.", "Een man leest een krant.", "entailment"),
    ("Twee kinderen gooien een bal over de hoge muur achter het huis.", "De kinderen slapen thuis.", "neutral"),
]
ENGLISH = [
    ("The old man with the red hat watched a young woman in the park.", "A man watched a woman.", "entailment"),
    ("The children threw the red ball over the high wall of the house.", "The children are at home.", "neutral"),
]


def test_language_outside_xnli_runs_without_english_parser(tmp_path):
    path = write_table(tmp_path / "pairs.jsonl", DUTCH, PAIR)
    for name in ("plain", "swapped", "permuted"):
        options = {"q": 3, "min_words": 4} if name == "permuted" else {}
        assert len(loading.load(name, data=path, language="nl", **options)) >= 2
    with pytest.raises(ValueError, match="expected English"):
        loading.load("negation", data=path, language="nl")
    with pytest.raises(ValueError, match=r"expected a language code"):
        loading.load("plain", data=path, language="dutch")


def test_english_set_excludes_and_counts_other_languages(tmp_path):
    path = write_table(
        tmp_path / "pairs.jsonl", [*ENGLISH, *GERMAN, *DUTCH, ("犬が庭で走る。", "犬が走る。", "entailment")], PAIR
    )
    for name, n in (("soswap_addamod", 5), ("negation", 5), ("recombined", 5), ("breaking_nli", 5), ("plain", 0)):
        [source] = loading.create_builder(name, data=path).open_sources()
        assert source.count_rows()["not in English"] == n, name


def test_names_of_texts_are_unique():
    names = _unique_names(["a/x.txt", "b/x.txt", "c/0-x.txt"])
    assert len(set(names)) == 3


def test_options_of_data_work_in_every_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["contexts;answer;faithful", '"[""The café opens.""; ""At noon.""]";It opens.;true', "[];It opens.;false"]
    text = "\n".join([*lines, "The café is closed.;It opens.;false"]).replace('""; ""', '"", ""')
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    options = ["--data", "a.csv", "--encoding", "cp1252", "--join-passages"]
    built = run_unbag("build", "plain", *options, "--output", "set.parquet")
    assert built.exit_code == 0, built.output
    rows = pq.read_table("set.parquet").to_pylist()
    assert [row["premise"] for row in rows] == ["The café opens.\n\nAt noon.", "The café is closed."]
    Path("answers.csv").write_text("id,prediction\n" + "".join(f"{row['id']},entailment\n" for row in rows))
    command = ["score", "answers.csv", "--set", "plain", *options, "--no-lexical-baseline", "--output-dir", "scored"]
    assert run_unbag(*command).exit_code == 0
    [result] = evaluate(
        lambda premises, _: ["entailment" if "noon" in premise else "neutral" for premise in premises],
        "plain",
        **{"data": "a.csv", "encoding": "cp1252", "join_passages": True, "trust_labels": True, **BARE},
    )
    assert result.scores["accuracy"].value == 1
    assert result.data["load_options"] == {"encoding": "cp1252", "join_passages": True}
    assert result.data["documents"] == 2
    config = {"model": "org/model", "output_dir": tmp_path / "out", "corpus": ("a.csv",)}
    config["not_entailment_as"] = "neutral"
    validate_corpora(TrainConfig(**config, encoding="cp1252", join_passages=True))
    for lacking in ({"encoding": "cp1252"}, {"join_passages": True}):
        with pytest.raises(DataError, match=r"--(join-passages|encoding cp1252)"):
            validate_corpora(TrainConfig(**config, **lacking))
