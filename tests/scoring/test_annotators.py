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


def _sample_annotations(n=60, annotators=4, labels=3, seed=0):
    """Return labels of annotators who agree with a hidden true label most of the time."""
    rng = random.Random(seed)
    truth = [rng.randrange(labels) for _ in range(n)]
    return [[label if rng.random() < 0.7 else rng.randrange(labels) for _ in range(annotators)] for label in truth]


def test_agreement_is_proportion_of_gold_label():
    found = compute_annotator_agreement([[0, 0, 1], [2, None, -1], [], [1, 1, 1]], np.array([0, 2, 1, 0]))
    assert found.share.tolist() == [pytest.approx(2 / 3), 1.0, 0.0, 0.0]
    assert found.annotated.tolist() == [True, True, False, True]


def test_gold_label_without_votes_has_zero_agreement():
    assert compute_annotator_agreement([[0], [0]], np.array([0, 2])).share.tolist() == [1.0, 0.0]


def test_kappa_equals_hand_computed_value():
    kappa = fleiss_kappa(VOTES, resamples=0)
    agreeing = (1 + 1 / 3 + 1 / 3 + 1 / 3) / 4
    shares = [6 / 12, 4 / 12, 2 / 12]
    chance = sum(share**2 for share in shares)
    assert kappa["annotators"] == 3
    assert kappa["overall"].value == pytest.approx((agreeing - chance) / (1 - chance))
    # In 2 of 4 ordered pairs with label 2, the second annotator agrees.
    assert kappa["by_label"][2]["kappa"].value == pytest.approx((1 / 2 - 1 / 6) / (1 - 1 / 6))
    assert [row["label"] for row in kappa["by_label"]] == [0, 1, 2]


def test_kappa_equals_nltk():
    nltk = pytest.importorskip("nltk.metrics.agreement")
    votes = _sample_annotations()
    rows = [(coder, item, label) for item, labels in enumerate(votes) for coder, label in enumerate(labels)]
    # NLTK's `pi` is Fleiss' κ, since it pools the labels of all annotators. `multi_kappa` is a different statistic.
    theirs = nltk.AnnotationTask(data=[tuple(map(str, row)) for row in rows]).pi()
    assert fleiss_kappa(votes, resamples=0)["overall"].value == pytest.approx(theirs)


def test_kappa_is_one_for_agreement_none_for_single_label():
    assert fleiss_kappa([[0, 0], [1, 1]], resamples=0)["overall"].value == 1
    assert fleiss_kappa([[0, 0], [0, 0]])["overall"].value is None
    assert fleiss_kappa([[0], [1]]) is None
    assert fleiss_kappa([[], []]) is None


def test_kappa_excludes_examples_with_fewer_labels():
    kappa = fleiss_kappa([*VOTES, [0, 1, None], [2]])
    assert kappa["overall"].n == 4
    assert kappa["overall"].value == fleiss_kappa(VOTES)["overall"].value


@pytest.mark.filterwarnings("error")
def test_kappa_ignores_resamples_without_complete_examples():
    # Only the first example has two labels, which differ: P = 0, chance agreement 1/2, κ = (0 - 1/2) / (1 - 1/2) = -1.
    kappa = fleiss_kappa([[0, 1], [0], [1]], resamples=50)
    assert kappa["overall"] == pytest.approx((-1, -1, -1, 1))


def test_kappa_resamples_groups_together():
    votes = _sample_annotations()
    alone, copied = fleiss_kappa(votes), [row for row in votes for _ in range(3)]
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


def _compute_table_2(rows):
    """Return human performance and κ (all, entailment, contradiction), as in Table 2."""
    rows = [row for row in rows if row["gold_label"] in LABELS]
    votes = [[get_label_id(vote) for vote in row["annotator_labels"]] for row in rows]
    people = compute_annotator_agreement(votes, np.array([get_label_id(row["gold_label"]) for row in rows]))
    kappa = fleiss_kappa(votes, resamples=0)
    by_label = {LABELS[row["label"]]: row["kappa"].value for row in kappa["by_label"]}
    shown = (kappa["overall"].value, by_label["entailment"], by_label["contradiction"])
    return round(100 * people.share.mean(), 1), *(round(value, 2) for value in shown), kappa["overall"].n


def test_breaking_nli_equals_table_2_of_glockner(shared):
    with zipfile.ZipFile(shared / "data" / "breaking_nli" / "breaking_nli_dataset.zip") as archive:
        rows = [json.loads(line) for line in archive.open("data/dataset.jsonl")]
    assert _compute_table_2(rows) == (94.1, 0.61, 0.90, 0.61, 8193)


def test_snli_test_equals_table_2_of_glockner(shared):
    with gzip.open(shared / "data" / "snli_1.0" / "snli_1.0_test.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    assert _compute_table_2(rows) == (87.7, 0.67, 0.69, 0.77, 9815)
