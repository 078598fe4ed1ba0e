import hashlib
import json
import zipfile
from collections import Counter
from dataclasses import replace

import pytest

from unbag import evaluate, scripts
from unbag.challenge_sets import loading, papers
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS
from unbag.utils.safe_io import DataError

breaking_nli = scripts.import_script_module("dataset_scripts", "breaking_nli")

OFFICIAL = "data/breaking_nli/breaking_nli_dataset.zip"
PAIRS = [
    ("A man plays a guitar.", "A person plays an instrument.", "entailment"),
    ("A man plays a guitar.", "A woman plays an accordion.", "contradiction"),
    ("Two dogs run in a park.", "Three dogs sleep.", "contradiction"),
    ("Two dogs run in a park.", "Two animals run in a park.", "entailment"),
    ("A man plays an accordion.", "He is outside.", "neutral"),
]


@pytest.fixture
def pairs(write_pairs):
    return write_pairs(PAIRS)


@pytest.fixture
def official(tmp_path, monkeypatch):
    """Write a file in the format of the official one, with invented sentences."""
    keys = ("sentence1", "sentence2", "gold_label", "category", "pairID")
    pairs = [
        ("The girl has a red kite.", "The girl has a blue kite.", "contradiction", "colors", 7),
        ("The girl has a red kite.", "The girl has an orange kite.", "contradiction", "colors", 8),
        ("He drinks wine.", "He drinks champagne.", "neutral", "drinks", 10),
    ]
    rows = [{**dict(zip(keys, pair, strict=True)), "annotator_labels": [pair[2]] * 3} for pair in pairs]
    path = tmp_path / "breaking_nli_dataset.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/dataset.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    known = breaking_nli.BreakingNli.official
    file = replace(known.file, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(breaking_nli.BreakingNli, "official", replace(known, file=file))
    return path


def test_pairs_are_built_from_each_distinct_premise(pairs):
    rows = loading.load("breaking_nli", data=pairs)
    assert len(set(rows["id"][:])) == len(rows)
    assert set(rows["source_id"][:]) == {"pairs-0", "pairs-2", "pairs-4"}  # a repeated premise gives no pairs
    made = {row["hypothesis"]: LABELS[row["label"]] for row in rows if row["source_id"] == "pairs-2"}
    assert made == {"Three dogs run in a park.": "contradiction", "Two animals run in a park.": "entailment"}


def test_official_pairs_have_category_annotators_and_frequency(official, write_pairs):
    assert loading.create_builder("breaking_nli", "official", file=str(official.parent)).config.file == str(official)
    rows = loading.load("breaking_nli", "official", file=str(official))
    assert rows["id"][:] == ["7", "8", "10"]
    assert rows["category"][:] == ["colors", "colors", "drinks"]
    assert (rows[1]["replaced"], rows[1]["replacement"]) == ("red", "orange")
    assert rows["annotator_labels"][:] == [[2] * 3, [2] * 3, [1] * 3]
    assert rows["pair_frequency"][:] == [None] * 3
    training = write_pairs([("A red hat.", "A blue hat.", "contradiction")] * 2, "training.jsonl")
    counted = loading.load("breaking_nli", "official", file=str(official), train_data=(training,))
    assert counted["pair_frequency"][:] == [2, 0, 0]
    official.write_bytes(b"something else")
    with pytest.raises(DataError, match=r"breaking_nli_dataset\.zip: expected breaking_nli_dataset\.zip with sha256"):
        loading.load("breaking_nli", "official", file=str(official))


def test_text_bigrams_must_occur_ten_times(pairs, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("A woman plays.\n" * 10 + "Three dogs.\n" * 9)
    made = build_requested_set(SetRequest("breaking_nli", options={"data": pairs, "bigrams": (str(text),)}))
    assert set(made.rows["hypothesis"][:]) == {"A woman plays a guitar.", "A woman plays an accordion."}
    assert made.config["min_bigrams"] == 10
    assert made.config["bigrams_of"][0]["origin"] == "text.txt"
    fewer = loading.load("breaking_nli", data=pairs, bigrams=(str(text),), min_bigrams=9)
    assert "Three dogs run in a park." in fewer["hypothesis"][:]


def test_neutral_pairs_are_optional(write_pairs):
    path = write_pairs([("An animal runs.", "A dog runs.", "neutral")])
    [made] = loading.load("breaking_nli", data=path, neutral=True)
    assert (made["hypothesis"], LABELS[made["label"]], made["relation"]) == ("A dog runs.", "neutral", "hypernym")
    with pytest.raises(loading.UnsuitablePairsError, match="none of the pairs are suitable"):
        loading.load("breaking_nli", data=path)


def _read_table_4(column):
    """Read a column of Table 4 of the paper, without the totals."""
    table = papers.get_paper_table("Glockner et al. 2018", "4")
    place = 1 + table.values.index(column)
    return {row[0].replace(" (WN)", "_wordnet"): row[place] for row in table.rows[:-1]}


def test_official_counts_equal_tables_2_and_4(shared):
    rows = loading.load("breaking_nli", "official", file=str(shared / OFFICIAL))
    assert len(rows) == 8193
    labels = Counter(rows.features["label"].int2str(rows["label"][:]))
    assert labels == {"contradiction": 7164, "entailment": 982, "neutral": 47}  # Table 2
    assert Counter(rows["category"][:]) == _read_table_4("pairs")
    assert {len(votes) for votes in rows["annotator_labels"][:]} == {3}
    assert all(old or new for old, new in zip(rows["replaced"][:], rows["replacement"][:], strict=True))


@pytest.mark.nightly
def test_wordnet_baseline_on_official_pairs_equals_card(shared, wordnet, tmp_path):
    request = SetRequest("breaking_nli", "official", {"file": str(shared / OFFICIAL)})
    [result] = evaluate("wordnet", [request], output_dir=tmp_path / "out")
    ours = {row["category"]: round(100 * row["accuracy"].value, 1) for row in result.scores["by_category"]}
    theirs = _read_table_4("WordNet Baseline")
    differences = {name: round(value - theirs[name], 1) for name, value in ours.items()}
    assert differences == {  # as in the card: the description in the paper does not reproduce its table
        **{"antonyms": -0.4, "cardinals": 0.0, "nationalities": 17.0, "drinks": -23.4, "antonyms_wordnet": -0.7},
        **{"colors": -0.6, "ordinals": 0.0, "countries": -2.4, "rooms": -14.3, "materials": -28.7, "vegetables": 0.0},
        **{"instruments": -23.1, "planets": 0.0, "synonyms": -14.9},
    }
    assert round(100 * result.scores["accuracy"].value, 1) == 80.7  # 85.8 in Table 3
