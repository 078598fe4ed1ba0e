"""Tests of the metrics that sets declare, and of the score of the permuted set."""

import numpy as np
import pytest

from unbag import challenge_sets
from unbag.challenge_sets import papers
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.permuted.scores import compute_permuted_row_scores
from unbag.data.predictions import build_predictions_from_labels
from unbag.scoring.accuracy import accuracy
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.document_consistency import document_consistency
from unbag.scoring.label_distribution import label_distribution
from unbag.scoring.natural_logic import natural_logic
from unbag.scoring.negation_consistency import negation_consistency
from unbag.scoring.nested import iter_estimates
from unbag.scoring.permutation_acceptance import PermutedRows, permutation_acceptance
from unbag.scoring.skill import RowScores, skill_score
from unbag.scoring.swap_consistency import swap_consistency_of_pairs
from unbag.scoring.uncertainty_partitions import uncertainty_partitions


def score_permuted(predictions, q):
    """Score n examples, each with the original pair first, followed by q permutations."""
    rows = np.asarray(predictions)
    n = len(rows)
    sources, orders = np.repeat(np.arange(n), q + 1), np.tile(np.arange(-1, q), n)
    gold = np.repeat(np.arange(n) % 3, q + 1)
    return permutation_acceptance(PermutedRows(rows.ravel(), gold, sources, orders), resamples=20)


def build_row_scores(predictions, q):
    """Return the skill score row scores of predictions for the same examples."""
    rows = np.asarray(predictions)
    n = len(rows)
    columns = {
        "label": np.repeat(np.arange(n) % 3, q + 1),
        "source_id": np.repeat(np.arange(n), q + 1),
        "permutation": np.tile(np.arange(-1, q), n),
    }
    return compute_permuted_row_scores(columns, build_predictions_from_labels(rows.ravel().tolist()))


def get_skill_score(name, scores):
    return challenge_sets.get_challenge_set(name).get_skill_score(scores)


def test_order_row_score_equals_manual_example():
    # Labels 0, 1, 2. The first is right and accepted in 1 of 2 permutations, the second wrong and accepted in 2 of 2,
    # the third always wrong.
    worth = build_row_scores([[0, 0, 1], [0, 1, 1], [0, 0, 1]], q=2)
    assert worth.score.tolist() == [0.5, -1, 0]
    assert (worth.chance_score, worth.perfect_score) == (0, pytest.approx(2 / 3))


@pytest.mark.parametrize("kind", ["a bag of words", "a constant answer", "a guess"])
def test_model_without_order_knowledge_has_zero_skill(kind):
    rng = np.random.default_rng(3)
    n, q = 2000, 30
    answers = {
        "a bag of words": np.repeat(rng.integers(0, 3, (n, 1)), q + 1, axis=1),
        "a constant answer": np.ones((n, q + 1), dtype=int),
        "a guess": rng.integers(0, 3, (n, q + 1)),
    }[kind]
    # The standard error of a guess: sqrt(2/9 / 2000) / (2/3) = .016.
    close = 0.06 if kind == "a guess" else 1e-12
    assert skill_score(build_row_scores(answers, q), resamples=0)["score"].value == pytest.approx(0, abs=close)


def test_metric_without_examples_is_omitted():
    scores = swap_consistency_of_pairs([0, 0], [0, 0], [0, 0], resamples=0)  # only entailment, so no pair is swapped
    assert challenge_sets.get_challenge_set("swapped").list_metric_values(scores, "quoted") == []
    assert get_skill_score("swapped", scores) is None


def _score_random_predictions():
    """Return scores of every set for random predictions."""
    rng = np.random.default_rng(5)
    gold, predicted = np.tile(np.arange(3), 20), rng.integers(0, 3, 60)
    names = ["entailment", "neutral", "contradiction"]
    groups = [f"s{i // 2}" for i in range(60)]
    kinds = ["soswap", "addamod"] * 30
    few = {"resamples": 20}
    words = ["contradiction", "neutral", "forward_entailment"]
    beyond = {SKILL: skill_score(RowScores(predicted == gold, gold, range(60)), **few)}
    scores = {
        "permuted": score_permuted(rng.integers(0, 3, (60, 5)), q=4),
        "cs_lambda": compositionality_sensitivity(predicted, gold, rng.random(60), **few) | {"labels": names},
        "resnli": uncertainty_partitions(predicted, gold, np.arange(60) % 4, **few),
        "swapped": swap_consistency_of_pairs(predicted, gold, rng.integers(0, 3, 60), **few),
        "soswap_addamod": label_distribution(predicted, gold, groups, kind=kinds, **few),
        "breaking_nli": category_accuracy(predicted, gold, groups, **few) | {"labels": names, "unanswered": 0},
        "sicck": natural_logic([words[i] for i in predicted], [words[i] for i in gold], **few),
        "plain": accuracy(predicted, gold, **few) | {"labels": names},
        "negation": negation_consistency(
            predicted, gold, groups, np.arange(60) // 2, ["sentence", "double"] * 30, **few
        ),
        "recombined": document_consistency(
            predicted, gold, groups, groups, [4] * 60, [0] * 60, ["subject", "removed"] * 30, **few
        ),
    }
    return {name: {**each, **beyond} for name, each in scores.items()}


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_declared_metrics_exist_in_scores(name):
    described, scores = challenge_sets.get_challenge_set(name), _score_random_predictions()[name]
    assert get_skill_score(name, scores).definition.higher_is_better, "the Hub wants one that is higher the better"
    names = [quantity.name for quantity in described.metric_definitions]
    assert len(set(names)) == len(names)
    assert all(quantity.roles for quantity in described.metric_definitions), "a number that is shown nowhere"
    for role in ("quoted", "compared", "beside_papers", "harness"):
        values = [
            estimate for _, estimate in described.list_metric_values(scores | {"unseen": scores.get("accuracy")}, role)
        ]
        assert values, "every surface shows a number of every set"
        assert all(-1 <= estimate.value <= 1 and estimate.n > 0 for estimate in values)
    for quantity in described.list_metrics_with_role("compared"):
        found = dict(iter_estimates(scores | {"unseen": scores.get("accuracy")}))
        assert quantity.path in found, "its examples are found by the path"


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_descriptions_refer_to_existing_tables(name):
    described = challenge_sets.get_challenge_set(name)
    assert described.name == name
    assert issubclass(described.import_builder_class(), ChallengeSetBuilder)
    columns = {*described.columns, *described.optional_columns}
    assert columns <= set(described.import_builder_class().SCHEMA.names)
    for function in ("scores", "row_scores"):
        assert callable(getattr(described.import_set_module("scores"), f"compute_{name}_{function}"))
    for quantity in described.metric_definitions:
        for paper, table, column, *_ in quantity.published_columns:
            assert papers.get_paper_table(paper, table).read_shares(column)


def test_unknown_set_error_lists_sets():
    with pytest.raises(ValueError, match=r"expected one of the challenge sets .*permuted.*, got 'none such'"):
        challenge_sets.get_challenge_set("none such")
    assert challenge_sets.find_challenge_set("none such") is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("permutd", "permuted"),
        ("Breaking NLI", "breaking_nli"),
        ("cs-lambda", "cs_lambda"),
        ("soswap", "soswap_addamod"),
        ("addamod", "soswap_addamod"),
        ("resnil", "resnli"),
    ],
)
def test_misspelled_set_name_gets_suggestion(typed, meant):
    with pytest.raises(ValueError, match=f"got '{typed}', did you mean '{meant}'[?]"):
        challenge_sets.get_challenge_set(typed)


def test_limits_contain_all_metrics_of_set():
    for name in challenge_sets.list_set_names():
        for quantity in challenge_sets.get_challenge_set(name).metric_definitions:
            assert quantity.limits == ((-1, 1) if "drop" in quantity.name else (0, 1)), f"{name}: {quantity.name}"
