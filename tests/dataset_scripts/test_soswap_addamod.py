import pytest

from unbag.challenge_sets import loading
from unbag.data.sources import open_data

PAIRS = [
    ("A man is pushing an old car.", "An old man has a car.", "neutral"),
    ("A man is pushing an old car.", "A man sleeps.", "contradiction"),
    ("The dog sleeps.", "The old man sleeps near an old car.", "neutral"),
    ("Two boys are chasing a cat near a bus.", "An old cat and an old bus.", "-"),  # unlabelled
    ("A woman is painting a man in a car.", "Somebody paints.", "entailment"),
]


@pytest.fixture
def options(write_pairs, pipeline):
    return {"data": write_pairs(PAIRS), "pipeline": pipeline}


def test_both_kinds_are_built_from_distinct_labelled_premises(options):
    rows = loading.load("soswap_addamod", **options)
    made = [(row["id"], row["hypothesis"], row["label"]) for row in rows if row["kind"] == "soswap"]
    assert made == [
        ("pairs-0#soswap", "An old car is pushing a man.", 2),
        ("pairs-4#soswap", "A man is painting a woman in a car.", 2),
    ]
    [added] = [row for row in rows if row["kind"] == "addamod"]
    assert (added["id"], added["adjective"], added["source_premise"]) == ("pairs-4#addamod", "old", PAIRS[4][0])
    assert {added["premise"], added["hypothesis"]} == {
        "A woman is painting an old man in a car.",
        "A woman is painting a man in an old car.",
    }
    assert rows.features["label"].int2str(rows["label"][:]) == ["contradiction", "contradiction", "neutral"]


def test_attested_split_counts_adjectives_of_other_split(options, write_pairs, monkeypatch):
    files = {"test": write_pairs(PAIRS[4:], "test.jsonl"), "train": options["data"]}
    monkeypatch.setattr(
        "unbag.challenge_sets.pairs.open_corpus", lambda corpus, split, **settings: open_data(files[split])
    )
    request = {"corpus": "sick", "source_split": "test", "pipeline": options["pipeline"]}
    assert loading.load("soswap_addamod", **request)["kind"][:] == ["soswap"]
    attested = loading.load("soswap_addamod", **request, attested_split="train")
    assert [(row["kind"], row["adjective"]) for row in attested] == [("soswap", None), ("addamod", "old")]
