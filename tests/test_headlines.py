"""The headlines: every set has some, and the scalar that stands for the permuted set is what it is said to be."""

import numpy as np
import pytest

from unbag import sets
from unbag.headlines import SCORE, headlines, score
from unbag.results import Result
from unbag.scoring.accuracy import accuracy
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.label_distribution import label_distribution
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.permutation_acceptance import permutation_acceptance
from unbag.scoring.swap_consistency import swap_consistency
from unbag.scoring.uncertainty_partitions import uncertainty_partitions

DATA = {"name": "snli", "split": "test", "origin": "stanfordnlp/snli (plain_text)", "revision": "0" * 40, "sha256": "1"}


def result(name, scores):
    return Result(name, {}, {"name": "org/model"}, DATA, scores, {"unbag": "0"})


def permuted(predictions, q):
    """Score n examples of label 0, each with its pair in order first and q permutations after it."""
    rows = np.asarray(predictions)
    n = len(rows)
    sources, orders = np.repeat(np.arange(n), q + 1), np.tile(np.arange(-1, q), n)
    gold = np.repeat(np.arange(n) % 3, q + 1)
    return result("permuted", permutation_acceptance(rows.ravel(), gold, sources, orders, resamples=20))


def test_every_set_has_headlines_and_one_that_stands_for_it():
    assert set(SCORE) == set(sets.names())
    with pytest.raises(ValueError, match="expected a set with headlines"):
        headlines(result("none such", {}))


def test_the_permutation_drop_by_hand():
    # Labels 0, 1, 2. The first is right in order and in 1 of 2 orders, the second wrong in order and right in 2 of 2,
    # the third wrong everywhere: 1/3 right in order, 3 of 6 permuted pairs right.
    found = score(permuted([[0, 0, 1], [0, 1, 1], [0, 0, 1]], q=2))
    assert found.metric == "permutation_drop"
    assert found.estimate.value == pytest.approx(1 / 3 - 3 / 6)
    assert found.estimate.n == 3


@pytest.mark.parametrize("kind", ["a bag of words", "a constant answer", "a guess"])
def test_the_permutation_drop_is_0_for_what_knows_no_order(kind):
    rng = np.random.default_rng(3)
    n, q = 2000, 30
    answers = {
        "a bag of words": np.repeat(rng.integers(0, 3, (n, 1)), q + 1, axis=1),
        "a constant answer": np.ones((n, q + 1), dtype=int),
        "a guess": rng.integers(0, 3, (n, q + 1)),
    }[kind]
    # A guess's standard error: sqrt(2/9 / 2000) = .0105.
    assert score(permuted(answers, q)).estimate.value == pytest.approx(0, abs=0.04 if kind == "a guess" else 1e-12)


def test_a_headline_without_any_example_is_left_out():
    scores = swap_consistency([0, 0], [0, 0], [0, 0], resamples=0)  # entailment only: nothing is exchanged
    assert headlines(result("swapped", scores)) == []
    assert score(result("swapped", scores)) is None


def _scored():
    """Return scores of every set as its measure makes them, of answers drawn at random."""
    rng = np.random.default_rng(5)
    gold, predicted = np.tile(np.arange(3), 20), rng.integers(0, 3, 60)
    names = ["entailment", "neutral", "contradiction"]
    groups = [f"s{i // 2}" for i in range(60)]
    kinds = ["soswap", "addamod"] * 30
    few = {"resamples": 20}
    words = ["contradiction", "neutral", "forward_entailment"]
    return {
        "permuted": permuted(rng.integers(0, 3, (60, 5)), q=4).scores,
        "cs_lambda": compositionality_sensitivity(predicted, gold, rng.random(60), **few) | {"labels": names},
        "resnli": uncertainty_partitions(predicted, gold, np.arange(60) % 4, **few),
        "swapped": swap_consistency(predicted, gold, rng.integers(0, 3, 60), **few),
        "soswap_addamod": label_distribution(predicted, gold, groups, subsets=kinds, **few),
        "breaking_nli": category_accuracy(predicted, gold, groups, **few) | {"labels": names, "unanswered": 0},
        "sicck": natural_logic([words[i] for i in predicted], [words[i] for i in gold], **few),
        "plain": accuracy(predicted, gold, **few) | {"labels": names},
    }


@pytest.mark.parametrize("name", sorted(SCORE))
def test_headlines_are_in_what_the_sets_are_scored_by(name):
    found = headlines(result(name, _scored()[name]))
    metrics = [each.metric for each in found]
    assert SCORE[name] in metrics
    assert score(result(name, _scored()[name])).higher_is_better, "the Hub wants one that is higher the better"
    assert len(set(metrics)) == len(metrics)
    assert all(-1 <= each.estimate.value <= 1 and each.estimate.n > 0 for each in found)
