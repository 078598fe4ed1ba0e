import hashlib
import json
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from unbag import evaluate, scripts
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS
from unbag.utils.safe_io import DataError

breaking_nli = scripts.import_script_module("dataset_scripts", "breaking_nli")

PAIRS = [
    ("A man plays a guitar.", "A person plays an instrument.", "entailment"),
    ("A man plays a guitar.", "A woman plays an accordion.", "contradiction"),
    ("Two dogs run in a park.", "Three dogs sleep.", "contradiction"),
    ("Two dogs run in a park.", "Two animals run in a park.", "entailment"),
    ("A man plays an accordion.", "He is outside.", "neutral"),
    ("Nothing to see here.", "-", "neutral"),
]
# In the format of the official file, with invented sentences.
OFFICIAL = [
    ("The girl has a red kite.", "The girl has a blue kite.", "contradiction", "colors", 7),
    ("The girl has a red kite.", "The girl has an orange kite.", "contradiction", "colors", 8),
    ("He sits on the sofa.", "He sits on the couch.", "entailment", "synonyms", 9),
    ("He drinks wine.", "He drinks champagne.", "neutral", "drinks", 10),
]


@pytest.fixture
def pairs(write_pairs):
    return write_pairs(PAIRS)


@pytest.fixture
def official(tmp_path, monkeypatch):
    keys = ("sentence1", "sentence2", "gold_label", "category", "pairID")
    rows = [{**dict(zip(keys, row, strict=True)), "annotator_labels": [row[2]] * 3} for row in OFFICIAL]
    path = tmp_path / "breaking_nli_dataset.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/dataset.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    pairs = breaking_nli.BreakingNli.official
    changed = replace(pairs, file=replace(pairs.file, sha256=sha256))
    monkeypatch.setattr(breaking_nli.BreakingNli, "official", changed)
    return str(path)


def test_pairs_are_built_from_each_distinct_premise(pairs):
    rows = loading.load("breaking_nli", data=pairs)
    assert rows.features["label"].names == list(LABELS)
    assert len(set(rows["id"][:])) == len(rows)
    assert set(rows["source_id"][:]) == {"pairs-0", "pairs-2", "pairs-4"}  # a repeated premise gives no pairs
    made = {row["hypothesis"]: LABELS[row["label"]] for row in rows}
    assert made.items() <= {
        ("A woman plays a guitar.", "contradiction"),
        ("A person plays a guitar.", "entailment"),
        ("A man plays an accordion.", "contradiction"),
        ("A man plays an instrument.", "entailment"),
        ("Three dogs run in a park.", "contradiction"),
        ("Two animals run in a park.", "entailment"),
        ("A woman plays an accordion.", "contradiction"),
        ("A person plays an accordion.", "entailment"),
        ("A man plays a guitar.", "contradiction"),
    }
    assert len(made) >= 5


def test_official_pairs_have_category_and_annotators(official):
    folder = str(Path(official).parent)
    assert loading.create_builder("breaking_nli", "official", file=folder).config.file == official
    rows = loading.load("breaking_nli", "official", file=official)
    assert rows["id"][:] == ["7", "8", "9", "10"]
    assert rows["category"][:] == ["colors", "colors", "synonyms", "drinks"]
    assert (rows[1]["replaced"], rows[1]["replacement"]) == ("red", "orange")
    assert [LABELS[label] for label in rows[3]["annotator_labels"]] == ["neutral"] * 3
    assert rows["pair_frequency"][:] == [None] * 4


def test_official_pair_frequencies_need_training_corpus(official, write_pairs):
    training = write_pairs([("A red hat.", "A blue hat.", "contradiction")] * 2, "training.jsonl")
    rows = loading.load("breaking_nli", "official", file=official, train_data=(training,))
    assert rows["pair_frequency"][:] == [2, 0, 0, 0]


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


def test_model_is_scored_by_category_and_tie_is_wrong(official, tmp_path):
    def predict_half_sure(premises, hypotheses):
        # Predicts a contradiction if the kite changed, and a tie otherwise.
        return [[0, 0, 1] if "kite" in premise else [1 / 3] * 3 for premise in premises]

    request = SetRequest("breaking_nli", "official", {"file": official})
    [result] = evaluate(predict_half_sure, [request], output_dir=tmp_path / "out")
    assert {row["category"]: row["accuracy"].value for row in result.scores["by_category"]} == {
        "colors": 1.0,
        "drinks": 0.0,
        "synonyms": 0.0,  # although argmax of the tie is entailment
    }
    assert result.scores["unanswered"] == 2
    assert "by_similarity" not in result.scores


def test_other_official_file_is_rejected(official, tmp_path):
    other = tmp_path / "other.zip"
    other.write_bytes(b"something else")
    with pytest.raises(DataError, match=r"other\.zip: expected breaking_nli_dataset\.zip with sha256"):
        loading.load("breaking_nli", "official", file=str(other))


def test_official_counts_equal_tables_2_and_4(shared):
    path = shared / "data" / "breaking_nli" / "breaking_nli_dataset.zip"
    rows = loading.load("breaking_nli", "official", file=str(path))
    assert len(rows) == 8193
    labels = Counter(rows.features["label"].int2str(rows["label"][:]))
    assert labels == {"contradiction": 7164, "entailment": 982, "neutral": 47}  # Table 2
    assert Counter(rows["category"][:]) == {  # Table 4
        **{"antonyms": 1147, "cardinals": 759, "nationalities": 755, "drinks": 731, "antonyms_wordnet": 706},
        **{"colors": 699, "ordinals": 663, "countries": 613, "rooms": 595, "materials": 397, "vegetables": 109},
        **{"instruments": 65, "planets": 60, "synonyms": 894},
    }
    assert {len(votes) for votes in rows["annotator_labels"][:]} == {3}
    assert all(old or new for old, new in zip(rows["replaced"][:], rows["replacement"][:], strict=True))


@pytest.mark.nightly
def test_wordnet_baseline_on_official_pairs_equals_card(shared, wordnet, tmp_path):
    path = shared / "data" / "breaking_nli" / "breaking_nli_dataset.zip"
    request = SetRequest("breaking_nli", "official", {"file": str(path)})
    [result] = evaluate("wordnet", [request], output_dir=tmp_path / "out")
    ours = {row["category"]: round(100 * row["accuracy"].value, 1) for row in result.scores["by_category"]}
    theirs = {  # Table 4
        **{"antonyms": 95.5, "cardinals": 98.6, "nationalities": 78.5, "drinks": 94.8, "antonyms_wordnet": 94.5},
        **{"colors": 98.7, "ordinals": 40.7, "countries": 100.0, "rooms": 89.9, "materials": 75.3, "vegetables": 86.2},
        **{"instruments": 67.7, "planets": 100.0, "synonyms": 70.5},
    }
    differences = {name: round(ours[name] - theirs[name], 1) for name in theirs}
    assert differences == {  # as in the card: the description in the paper does not reproduce its table
        **{"antonyms": -0.4, "cardinals": 0.0, "nationalities": 17.0, "drinks": -23.4, "antonyms_wordnet": -0.7},
        **{"colors": -0.6, "ordinals": 0.0, "countries": -2.4, "rooms": -14.3, "materials": -28.7, "vegetables": 0.0},
        **{"instruments": -23.1, "planets": 0.0, "synonyms": -14.9},
    }
    assert round(100 * result.scores["accuracy"].value, 1) == 80.7  # 85.8 in Table 3
