from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.utils.safe_io import DataError

PAIRS = [
    ("A black cat is eating a fish.", "A cat is eating a fish.", "entailment"),
    ("A cat is eating a fish.", "A cat is chasing a fish.", "neutral"),
    ("A box is full.", "A box is empty.", "contradiction"),
    ("There are cats.", "A cat is eating.", "neutral"),  # not a subject, verb and object
    ("A cat is eating.", "A dog is eating.", "-"),  # unlabelled
]


@pytest.fixture
def file(shared):
    return str(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")


def test_each_pair_occurs_in_both_directions(write_pairs):
    rows = loading.load("sicck", data=write_pairs(PAIRS))
    as_they_are = {row["pair"]: row for row in rows if not row["reverse"]}
    exchanged = {row["pair"]: row for row in rows if row["reverse"]}
    assert len(rows) == 2 * len(as_they_are) == 2 * len(exchanged)
    assert len(set(rows["id"])) == len(rows)
    mirrored = {"forward_entailment": "reverse_entailment", "reverse_entailment": "forward_entailment"}
    for name, row in as_they_are.items():
        other = exchanged[name]
        assert (other["premise"], other["hypothesis"]) == (row["hypothesis"], row["premise"])
        assert other["four_way"] == mirrored.get(row["four_way"], row["four_way"])
    seed = as_they_are["pairs-0#0"]
    assert (seed["premise"], seed["hypothesis"]) == ("a black cat is eating a fish", "a cat is eating a fish")
    assert (seed["modifier"], seed["target"], LABELS[seed["label"]]) == ("none", "forward_entailment", "entailment")
    assert exchanged["pairs-0#0"]["label"] == LABELS.index("neutral")


def test_equivalence_has_no_four_way_label(write_pairs):
    path = write_pairs([("a cat is up", "a cat is up", "entailment")])
    four = loading.load("sicck", data=path)
    seven = loading.load("sicck", data=path, space="seven_way")
    assert "equivalence" in seven["target"]
    assert "equivalence" not in four["relation"]
    assert len(four) < len(seven) == len(loading.load("sicck", data=path, space="three_way"))


def test_official_set_has_three_and_two_label_versions(file):
    seven = loading.load("sicck", "official-seven_way", file=file)
    assert Counter(seven.filter(lambda row: not row["reverse"])["target"])["negation|alternation"] == 252
    three = loading.load("sicck", "official-three_way", file=file)
    assert set(three["target"]) == set(LABELS)
    assert [LABELS[label] for label in three["label"]] == list(three["target"])


def test_damaged_official_file_is_rejected(file, tmp_path):
    damaged = tmp_path / "damaged.csv"
    damaged.write_bytes(Path(file).read_bytes().replace(b"Universal", b"Modal"))
    with pytest.raises(DataError, match=r"damaged\.csv: expected SICCK-Ground-Truth-apr24\.csv with sha256"):
        loading.load("sicck", "official", file=str(damaged))


def test_two_label_model_is_scored_on_three_labels(file):
    rows = loading.load("sicck", "official", file=file)
    answers = SetPredictions(np.tile([0.2, 0.8], (len(rows), 1)), TWO_WAY, has_probabilities=True)
    scores = challenge_sets.get_challenge_set("sicck").score_rows(rows, answers)
    assert set(scores["by_label"]) == {"forward_entailment", "reverse_entailment", "not_entailment"}
    assert scores["accuracy"].value == (593 + 422) / 1304
