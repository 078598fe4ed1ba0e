"""The quantities: every set has some, and the one that stands for the permuted set is what it is said to be."""

import numpy as np
import pytest

from unbag import challenge_sets, papers
from unbag.builder import ChallengeSetBuilder
from unbag.scoring.accuracy import accuracy
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.label_distribution import label_distribution
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.paths import estimates
from unbag.scoring.permutation_acceptance import permutation_acceptance
from unbag.scoring.swap_consistency import swap_consistency
from unbag.scoring.uncertainty_partitions import uncertainty_partitions


def permuted(predictions, q):
    """Score n examples of label 0, each with its pair in order first and q permutations after it."""
    rows = np.asarray(predictions)
    n = len(rows)
    sources, orders = np.repeat(np.arange(n), q + 1), np.tile(np.arange(-1, q), n)
    gold = np.repeat(np.arange(n) % 3, q + 1)
    return permutation_acceptance(rows.ravel(), gold, sources, orders, resamples=20)


def score(name, scores):
    return challenge_sets.get(name).score(scores)


def test_the_permutation_drop_by_hand():
    # Labels 0, 1, 2. The first is right in order and in 1 of 2 orders, the second wrong in order and right in 2 of 2,
    # the third wrong everywhere: 1/3 right in order, 3 of 6 permuted pairs right.
    found = score("permuted", permuted([[0, 0, 1], [0, 1, 1], [0, 0, 1]], q=2))
    assert found.quantity.name == "permutation_drop"
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
    close = 0.04 if kind == "a guess" else 1e-12
    assert score("permuted", permuted(answers, q)).estimate.value == pytest.approx(0, abs=close)


def test_a_number_without_any_example_is_left_out():
    scores = swap_consistency([0, 0], [0, 0], [0, 0], resamples=0)  # entailment only: nothing is exchanged
    assert challenge_sets.get("swapped").measured(scores, "quoted") == []
    assert score("swapped", scores) is None


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
        "permuted": permuted(rng.integers(0, 3, (60, 5)), q=4),
        "cs_lambda": compositionality_sensitivity(predicted, gold, rng.random(60), **few) | {"labels": names},
        "resnli": uncertainty_partitions(predicted, gold, np.arange(60) % 4, **few),
        "swapped": swap_consistency(predicted, gold, rng.integers(0, 3, 60), **few),
        "soswap_addamod": label_distribution(predicted, gold, groups, subsets=kinds, **few),
        "breaking_nli": category_accuracy(predicted, gold, groups, **few) | {"labels": names, "unanswered": 0},
        "sicck": natural_logic([words[i] for i in predicted], [words[i] for i in gold], **few),
        "plain": accuracy(predicted, gold, **few) | {"labels": names},
    }


@pytest.mark.parametrize("name", challenge_sets.names())
def test_numbers_are_in_what_the_sets_are_scored_by(name):
    described, scores = challenge_sets.get(name), _scored()[name]
    assert score(name, scores).quantity.higher_is_better, "the Hub wants one that is higher the better"
    names = [quantity.name for quantity in described.quantities]
    assert len(set(names)) == len(names)
    assert all(quantity.roles for quantity in described.quantities), "a number that is shown nowhere"
    for role in ("quoted", "compared", "beside_papers", "harness"):
        values = [estimate for _, estimate in described.measured(scores, role)]
        assert values, "every surface shows a number of every set"
        assert all(-1 <= estimate.value <= 1 and estimate.n > 0 for estimate in values)
    for quantity in described.of_role("compared"):
        assert quantity.path in dict(estimates(scores)), "its examples are found by the path"


@pytest.mark.parametrize("name", challenge_sets.names())
def test_a_description_names_what_is_there(name):
    described = challenge_sets.get(name)
    assert described.name == name
    assert issubclass(described.builder_class(), ChallengeSetBuilder)
    columns = {*described.columns, *described.more_columns}
    assert columns <= set(described.builder_class().SCHEMA.names)
    assert callable(getattr(described.module("scores"), f"{name}_scores"))
    for quantity in described.quantities:
        for paper, table, column, _ in quantity.counterparts:
            assert papers.table(paper, table).shares(column)
    assert not described.figures_from or described.figures_from in {paper.short for paper in papers.papers()}


def test_a_set_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"expected a challenge set of .*permuted.*, found 'none such'"):
        challenge_sets.get("none such")
    assert challenge_sets.find("none such") is None
