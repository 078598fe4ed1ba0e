"""Tests of agreement with the gold label, and of Fleiss' κ."""

import gzip
import json
import random
import re
import zipfile

import numpy as np
import pytest

from unbag.data.labels import LABELS, get_label_id
from unbag.scoring.accuracy import compute_annotator_agreement, fleiss_kappa

# Three annotators, four examples. By hand: p = (6, 4, 2) / 12, agreeing pairs 1, 1/3, 1/3 and 1.
VOTES = [[0, 0, 0], [0, 1, 0], [2, 1, 2], [1, 1, 0]]


@pytest.fixture
def sampled():
    """Return labels of four annotators who agree with a hidden true label most of the time."""
    rng = random.Random(0)
    truth = [rng.randrange(3) for _ in range(60)]
    return [[label if rng.random() < 0.7 else rng.randrange(3) for _ in range(4)] for label in truth]


def test_agreement_is_proportion_of_gold_label():
    found = compute_annotator_agreement([[0, 0, 1], [2, None, -1], [], [1, 1, 1], [0]], np.array([0, 2, 1, 0, 2]))
    assert found.share.tolist() == [pytest.approx(2 / 3), 1.0, 0.0, 0.0, 0.0]
    assert found.annotated.tolist() == [True, True, False, True, True]


def test_kappa_equals_hand_computed_value():
    kappa = fleiss_kappa([*VOTES, [0, 1, None], [2]], resamples=0)  # examples with fewer labels are excluded
    agreeing = (1 + 1 / 3 + 1 / 3 + 1 / 3) / 4
    shares = [6 / 12, 4 / 12, 2 / 12]
    chance = sum(share**2 for share in shares)
    assert kappa["annotators"] == 3
    assert kappa["overall"].value == pytest.approx((agreeing - chance) / (1 - chance))
    assert kappa["overall"].n == 4
    # In 2 of 4 ordered pairs with label 2, the second annotator agrees.
    assert kappa["by_label"][2]["kappa"].value == pytest.approx((1 / 2 - 1 / 6) / (1 - 1 / 6))
    assert [row["label"] for row in kappa["by_label"]] == [0, 1, 2]


def test_kappa_equals_nltk(sampled):
    nltk = pytest.importorskip("nltk.metrics.agreement")
    rows = [(coder, item, label) for item, labels in enumerate(sampled) for coder, label in enumerate(labels)]
    # NLTK's `pi` is Fleiss' κ, since it pools the labels of all annotators. `multi_kappa` is a different statistic.
    theirs = nltk.AnnotationTask(data=[tuple(map(str, row)) for row in rows]).pi()
    assert fleiss_kappa(sampled, resamples=0)["overall"].value == pytest.approx(theirs)


def test_kappa_is_one_for_agreement_none_for_single_label():
    assert fleiss_kappa([[0, 0], [1, 1]], resamples=0)["overall"].value == 1
    assert fleiss_kappa([[0, 0], [0, 0]])["overall"].value is None
    assert fleiss_kappa([[0], [1]]) is None
    assert fleiss_kappa([[], []]) is None


@pytest.mark.filterwarnings("error")
def test_kappa_ignores_resamples_without_complete_examples():
    # Only the first example has two labels, which differ: P = 0, chance agreement 1/2, κ = (0 - 1/2) / (1 - 1/2) = -1.
    kappa = fleiss_kappa([[0, 1], [0], [1]], resamples=50)
    assert kappa["overall"] == pytest.approx((-1, -1, -1, 1))


def test_kappa_resamples_groups_together(sampled):
    alone, copied = fleiss_kappa(sampled), [row for row in sampled for _ in range(3)]
    together = fleiss_kappa(copied, groups=np.arange(len(copied)) // 3)
    assert together["overall"][:3] == pytest.approx(alone["overall"][:3])
    assert fleiss_kappa(copied)["overall"].low > together["overall"].low


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ([[0, 1], [2, -2]], "annotator_labels: expected non-negative label ids, got -2 in row 1"),
        ([["a"], ["b"]], "annotator_labels: expected label ids, None or -1"),
    ],
)
def test_invalid_annotator_labels_raise(votes, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        fleiss_kappa(votes)
    with pytest.raises(ValueError, match=re.escape(words)):
        compute_annotator_agreement(votes, np.array([0, 0]))


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("breaking_nli/breaking_nli_dataset.zip", (94.1, 0.61, 0.90, 0.61, 8193)),
        ("snli_1.0/snli_1.0_test.jsonl.gz", (87.7, 0.67, 0.69, 0.77, 9815)),
    ],
)
def test_human_performance_and_kappa_equal_table_2_of_glockner(shared, file, expected):
    """Human performance, and κ of all pairs, of entailment and of contradiction."""
    if file.endswith(".zip"):
        lines = zipfile.ZipFile(shared / "data" / file).open("data/dataset.jsonl")
    else:
        lines = gzip.open(shared / "data" / file)
    with lines:
        rows = [row for row in map(json.loads, lines) if row["gold_label"] in LABELS]
    votes = [[get_label_id(vote) for vote in row["annotator_labels"]] for row in rows]
    people = compute_annotator_agreement(votes, np.array([get_label_id(row["gold_label"]) for row in rows]))
    kappa = fleiss_kappa(votes, resamples=0)
    by_label = {LABELS[row["label"]]: row["kappa"].value for row in kappa["by_label"]}
    shown = (kappa["overall"].value, by_label["entailment"], by_label["contradiction"])
    found = round(100 * people.share.mean(), 1), *(round(value, 2) for value in shown), kappa["overall"].n
    assert found == expected
