import json
from dataclasses import replace

import pytest

from unbag.challenge_sets import loading, selection
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.challenge_sets.requirements import UnsuitablePairsError
from unbag.challenge_sets.selection import PairSelection
from unbag.data.text.sentences import find_character_exclusion_reason
from unbag.data.user_text import list_text_files, open_text
from unbag.hub.dataset import build_dataset_upload, choose_config_name
from unbag.utils.options import OptionError
from unbag.utils.safe_io import DataError

MARKDOWN = """---
title: A farm
---
# The farm

The old farmer fed the hungry goat in the barn. Did he also feed the small dog today?

- A young girl painted the *wooden* fence near the [house](a.md).
- Too short.

```
The code is not a sentence of the text.
```

| a | b |
|---|---|

The old farmer fed the hungry goat in the barn.
"""
KEPT = [
    "The old farmer fed the hungry goat in the barn.",
    "A young girl painted the wooden fence near the house.",
]


@pytest.fixture
def pipeline(pipeline, empty_caches):
    return pipeline


def _write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("words", "is_used"), [(4, False), (5, True), (40, True), (41, False)])
def test_form_exclusion_limits_number_of_words(words, is_used):
    sentence = " ".join(["Dogs", *["sleep"] * (words - 2), "here."])
    assert (find_character_exclusion_reason(sentence) is None) == is_used


def test_markdown_file_gives_sentences_and_exclusion_counts(pipeline, tmp_path):
    """Code, headings and tables are dropped. Other excluded sentences are counted."""
    source = open_text([_write(tmp_path / "farm.md", MARKDOWN)], pipeline=pipeline)
    examples = list(source.iter_examples())
    assert [example.premise for example in examples] == KEPT
    assert all(example.hypothesis == example.premise and example.label == "entailment" for example in examples)
    assert len({example.source_id for example in examples}) == len(KEPT)
    counts = source.count_rows()
    assert counts["rows"] == 5
    assert counts["labelled"] == 2
    assert counts["repeated"] == counts["shorter than 5 words"] == 1
    assert counts["not declarative (a question, an order, a fragment)"] == 1


def test_jsonl_and_text_file_give_same_sentences(pipeline, tmp_path):
    table = _write(tmp_path / "a.jsonl", "".join(json.dumps({"n": 1, "body": text}) + "\n" for text in KEPT))
    plain = _write(tmp_path / "a.txt", "\n\n".join(KEPT))
    for name, columns in ((table, None), (table, {"text": "body"}), (plain, None)):
        premises = [each.premise for each in open_text([name], pipeline=pipeline, columns=columns).iter_examples()]
        assert premises == KEPT


def test_text_revision_depends_on_content_not_folder(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    one, other = (_write(tmp_path / folder / "x.txt", "A text.") for folder in ("a", "b"))
    assert open_text([one]).revision == open_text([other]).revision
    assert open_text([_write(tmp_path / "x.txt", "Another text.")]).revision != open_text([one]).revision


def test_german_text_and_missing_text_column_are_rejected(pipeline, tmp_path):
    text = "Der alte Bauer hat die Ziege im Stall gefüttert und danach den Hund gesucht. " * 10
    with pytest.raises(DataError, match="expected English text"):
        list(open_text([_write(tmp_path / "a.txt", text)], pipeline=pipeline).iter_examples())
    with pytest.raises(DataError, match="--columns text="):
        open_text([_write(tmp_path / "a.csv", "x,y\n1,2\n")])


def test_text_folder_lists_files_sorted(tmp_path):
    names = [_write(tmp_path / name, "x") for name in ("b.txt", "a.md", "c.pdf")]
    assert list_text_files([tmp_path]) == sorted(names[:2])
    with pytest.raises(DataError, match="ending in"):
        list_text_files([names[2]])


def test_text_with_other_pairs_language_or_set_is_rejected(tmp_path):
    text = [_write(tmp_path / "a.txt", "x")]
    for options, message in (
        ({"data": "pairs.csv"}, "expected one source"),
        ({"language": "de"}, "language: expected en"),
    ):
        with pytest.raises(OptionError, match=message):
            PairSelection(text=text, **options).build_requests(["recombined"])
    suite = set(selection.list_suite_sets(from_text=True))
    assert {"soswap_addamod", "breaking_nli", "recombined", "negation"} <= suite < set(selection.list_suite_sets())
    with pytest.raises(UnsuitablePairsError, match="expected labelled pairs"):
        loading.create_builder("permuted", text=text)


def test_soswap_from_text_counts_exclusions(pipeline, tmp_path):
    file = _write(tmp_path / "farm.md", MARKDOWN)
    options = {"text": [file], "pipeline": pipeline, "kind": "soswap"}
    built = build_requested_set(SetRequest("soswap_addamod", None, options))
    assert "The hungry goat fed the old farmer in the barn." in built.rows["hypothesis"]
    assert set(built.rows["premise"]) <= set(KEPT)
    assert built.data["rows"] == len(built.rows.unique("source_id")) + sum(built.data["excluded"].values())
    assert built.data["load_options"]["text"] == ["farm.md"]


def test_breaking_nli_from_text_adds_numbers_and_names(pipeline, tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.challenge_sets.pairs.PIPELINE", pipeline)
    farm = "The old farmer sold twelve goats in the town."
    trips = [f"They arrived in {city} on a cold morning." for city in ("Paris", "Rome", "Oslo")]
    text = " ".join([farm, *trips, "They never arrived in Vienna on a cold morning."])
    built = build_requested_set(SetRequest("breaking_nli", None, {"text": [_write(tmp_path / "farm.txt", text)]}))
    rows = list(built.rows)
    numbers = {row["category"]: row for row in rows if row["category"].startswith("number_")}
    assert numbers["number_notations"]["hypothesis"] == "The old farmer sold 12 goats in the town."
    assert (numbers["number_notations"]["relation"], numbers["number_values"]["relation"]) == ("synonym", "co_hyponym")
    assert numbers["number_values"]["replaced"] == "twelve"
    names = [row for row in rows if row["category"] == "names"]
    assert [row["premise"] for row in names] == trips
    for row in names:
        assert {row["replaced"], row["replacement"]} < {"Paris", "Rome", "Oslo", "Vienna"}
        assert row["hypothesis"] == row["premise"].replace(row["replaced"], row["replacement"])
        assert (row["label"], row["relation"]) == (2, "co_hyponym")
    reasons = {reason: n for reason, n in built.config["rejected"].items() if reason.startswith("name: ")}
    assert reasons == {"name: under a negation, an alternative or a comparison": 1}
    # The word lists of captions would also change the number, and exchange the town.
    assert {row["category"] for row in rows} <= {*numbers, "names", "antonyms", "synonyms", "hypernyms"}
    pair = {"premise": f"{farm} A man sleeps.", "hypothesis": "A woman sleeps.", "label": "contradiction"}
    data = _write(tmp_path / "pairs.jsonl", json.dumps(pair))
    pairs = build_requested_set(SetRequest("breaking_nli", None, {"data": data}))
    assert set(pairs.rows["category"]).isdisjoint({*numbers, "names"})


def test_text_dataset_is_named_by_files_and_needs_license(pipeline, tmp_path):
    files = [_write(tmp_path / name, MARKDOWN) for name in ("farm.md", "field.md")]
    request = SetRequest("soswap_addamod", None, {"text": files, "pipeline": pipeline})
    assert choose_config_name(request) == "farm-and-1-more"
    assert choose_config_name(replace(request, config="fields")) == "fields"
    with pytest.raises(ValueError, match="farm-and-1-more: expected a license"):
        build_dataset_upload([request], "me/farm", tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "options", "words"),
    [
        ("soswap_addamod", "Hello.", {}, "none of the sentences .* excluded 1 shorter than 5 words"),
        (
            "recombined",
            MARKDOWN,
            {"k": "1,2"},
            r"none of the sentences .* 2 whose claim has no argument to exchange; most frequent reasons: \D+ \(\d\)",
        ),
    ],
)
def test_unsuitable_text_error_names_the_reasons(pipeline, tmp_path, name, text, options, words):
    files = [_write(tmp_path / "farm.md", text)]
    with pytest.raises(UnsuitablePairsError, match=words):
        build_requested_set(SetRequest(name, None, {"text": files, "pipeline": pipeline, **options}))
