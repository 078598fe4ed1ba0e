"""Tests of accuracy, accuracy by category, label proportions, BLEU, and the agreement of annotators."""

import gzip
import json
import random
import re
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, recall_score

from unbag.challenge_sets.perturbations.permutation import compute_reordering_bleu
from unbag.data.labels import LABELS, get_label_id
from unbag.scoring.accuracy import accuracy, compute_annotator_agreement, fleiss_kappa
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.label_distribution import label_distribution


def test_accuracy_and_recalls_equal_scikit_learn():
    rng = np.random.default_rng(4)
    gold, predicted = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    scores = accuracy(predicted, gold)
    assert scores["accuracy"].value == pytest.approx(accuracy_score(gold, predicted))
    recalls = [found.value for found in scores["by_label"]]
    assert recalls == pytest.approx(recall_score(gold, predicted, average=None).tolist())
    assert scores["majority"] == pytest.approx(np.bincount(gold).max() / 200)
    assert [found.value for found in accuracy([0, 1], [0, 0])["by_label"]] == [0.5, None, None]


ROWS = {
    "predictions": [2, 2, 0, 1, 2, 0, 1],
    "references": [2, 2, 2, 2, 0, 0, 1],
    "category": ["colors", "colors", "drinks", "drinks", "synonyms", "synonyms", "drinks"],
    "similarity": [0.5, 1.0, 0.59, 0.95, None, None, -0.2],
    "pair_frequency": [0, 1, 4, 5, None, None, 250],
}


def _values(rows, *names):
    return [(*(row[name] for name in names), row["accuracy"].value, row["accuracy"].n) for row in rows]


def test_category_accuracy_equals_hand_computed_values():
    scores = category_accuracy(**ROWS)
    assert scores["n_examples"] == 7
    assert scores["accuracy"].value == pytest.approx(4 / 7)
    assert scores["majority"] == pytest.approx(4 / 7)
    assert _values(scores["by_category"], "category") == [
        ("colors", 1.0, 2),
        ("drinks", pytest.approx(1 / 3), 3),
        ("synonyms", 0.5, 2),
    ]
    assert _values(scores["by_label"], "label") == [(0, 0.5, 2), (1, 1.0, 1), (2, 0.5, 4)]
    assert _values(scores["by_similarity"], "low", "high") == [
        (-1.0, 0.5, 1.0, 1),
        (0.5, 0.6, 0.5, 2),
        (0.6, 0.7, None, 0),
        (0.7, 0.8, None, 0),
        (0.8, 0.9, None, 0),
        (0.9, 1.0, 0.5, 2),  # includes 1.0
    ]
    assert _values(scores["by_frequency"], "least", "most") == [
        (0, 0, 1.0, 1),
        (1, 4, 0.5, 2),
        (5, 9, 0.0, 1),
        (10, 49, None, 0),
        (50, 99, None, 0),
        (100, None, 1.0, 1),
    ]
    assert not {"by_similarity", "by_frequency"} & set(category_accuracy([0], [0], ["colors"]))


def test_human_is_mean_accuracy_of_single_annotator():
    votes = [[2, 2, 2], [2, 2, 0], [0, 0, 2], [], [0, 0, 0], [0, 1, 0], [1, 1, 2]]
    scores = category_accuracy(**ROWS, annotator_labels=votes)
    assert (scores["human"].value, scores["human"].n) == (pytest.approx((3 + 2 + 1 + 3 + 2 + 2) / 3 / 6), 6)
    humans = {row["category"]: (row["human"].value, row["human"].n) for row in scores["by_category"]}
    assert humans["colors"] == (pytest.approx(5 / 6), 2)
    assert humans["drinks"] == (pytest.approx((1 / 3 + 2 / 3) / 2), 2)  # one example has no annotators
    assert [row["human"].n for row in scores["by_label"]] == [2, 1, 3]
    assert scores["kappa"]["annotators"] == 3
    assert scores["kappa"]["overall"].n == 6
    assert category_accuracy(**ROWS).keys() == scores.keys() - {"human", "kappa"}


def _proportions(scores):
    return [share.value for share in scores["shares"].values()], scores["accuracy"].value


def test_label_distribution_equals_hand_computed_values():
    subsets = ["swap"] * 4 + ["add"] * 2
    scores = label_distribution([0, 0, 2, 1, 1, 0], [2, 2, 2, 2, 1, 1], list("abcdae"), kind=subsets)
    assert scores["n_examples"] == 6
    assert list(scores["shares"]) == ["entailment", "neutral", "contradiction"]
    assert _proportions(scores) == ([3 / 6, 2 / 6, 1 / 6], 2 / 6)
    parts = scores["by_subset"]
    assert {name: part["n_examples"] for name, part in parts.items()} == {"swap": 4, "add": 2}
    assert _proportions(parts["swap"]) == ([2 / 4, 1 / 4, 1 / 4], 1 / 4)
    assert _proportions(parts["add"]) == ([1 / 2, 1 / 2, 0], 1 / 2)
    assert (scores["accuracy"].n, parts["swap"]["accuracy"].n, parts["add"]["accuracy"].n) == (5, 4, 2)
    two = label_distribution([0, 1, 1], [1, 1, 1], ["a", "b", "c"], names=("entailment", "not_entailment"))
    assert list(two["shares"]) == ["entailment", "not_entailment"]
    assert _proportions(two) == ([1 / 3, 2 / 3], 2 / 3)


def test_bleu_equals_nltk():
    """Compared with NLTK's unsmoothed sentence BLEU where all n-gram lengths have a match."""
    from nltk.translate.bleu_score import sentence_bleu

    rng = np.random.default_rng(0)
    compared = 0
    for length in (4, 7, 12, 30):
        original = rng.integers(0, length // 2, length)  # with repeated words, so that counts are clipped
        blocks = np.array_split(original, 3)
        rows = np.array([np.concatenate([blocks[i] for i in rng.permutation(3)]) for _ in range(20)])
        ours = compute_reordering_bleu(original.tolist(), rows, [2, 3, 4])
        for row, values in zip(rows.tolist(), ours, strict=True):
            for n, value in zip((2, 3, 4), values, strict=True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # NLTK warns about a precision of 0
                    theirs = sentence_bleu([original.tolist()], row, weights=[1 / n] * n)
                assert value == pytest.approx(theirs, abs=1e-9)
                compared += value > 0
    assert compared > 100


def test_bleu_of_short_sentences_and_clipped_counts_equals_hand_computed_value():
    assert compute_reordering_bleu([0, 1, 2], np.array([[0, 1, 2]]), [3, 4]).tolist() == [[1, 0]]
    # The bigrams of 0 0 0 1 0 are 00 00 01 10, those of 0 1 0 0 0 are 01 10 00 00. All four match.
    assert compute_reordering_bleu([0, 0, 0, 1, 0], np.array([[0, 1, 0, 0, 0]]), [2])[0, 0] == 1
    # The bigrams of 1 0 0 0 0 are 10 00 00 00. The reference has 00 twice, so three of four match.
    assert compute_reordering_bleu([0, 0, 0, 1, 0], np.array([[1, 0, 0, 0, 0]]), [2])[0, 0] == pytest.approx(0.75**0.5)


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
