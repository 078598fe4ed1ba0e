"""Tests of the metrics that sets declare, and of the score of the permuted set."""

import numpy as np
import pytest

from tests.factories import score_swapped_pairs
from unbag import challenge_sets
from unbag.challenge_sets import papers
from unbag.data.predictions import build_predictions_from_labels


def build_row_scores(predictions, q):
    """Return the skill score row scores of predictions for the same examples."""
    rows = np.asarray(predictions)
    n = len(rows)
    columns = {
        "label": np.repeat(np.arange(n) % 3, q + 1),
        "source_id": np.repeat(np.arange(n), q + 1),
        "permutation": np.tile(np.arange(-1, q), n),
    }
    return challenge_sets.get_challenge_set("permuted").score_examples(
        columns, build_predictions_from_labels(rows.ravel().tolist())
    )


def get_skill_score(name, scores):
    return challenge_sets.get_challenge_set(name).get_skill_score(scores)


def test_order_row_score_equals_manual_example():
    # Labels 0, 1, 2. The first is right and accepted in 1 of 2 permutations, the second wrong and accepted in 2 of 2,
    # the third always wrong.
    worth = build_row_scores([[0, 0, 1], [0, 1, 1], [0, 0, 1]], q=2)
    assert worth.score.tolist() == [0.5, -1, 0]
    assert (worth.chance_score, worth.perfect_score) == (0, pytest.approx(2 / 3))


def test_metric_without_examples_is_omitted():
    scores = score_swapped_pairs([0, 0], [0, 0], [0, 0], resamples=0)  # only entailment, so no pair is swapped
    assert challenge_sets.get_challenge_set("swapped").list_metric_values(scores, "quoted") == []
    assert get_skill_score("swapped", scores) is None


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_descriptions_refer_to_existing_tables(name):
    for quantity in challenge_sets.get_challenge_set(name).metric_definitions:
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
        ("addamod", "soswap_addamod"),
    ],
)
def test_misspelled_set_name_gets_suggestion(typed, meant):
    with pytest.raises(ValueError, match=f"got '{typed}', did you mean '{meant}'[?]"):
        challenge_sets.get_challenge_set(typed)


def test_limits_contain_all_metrics_of_set():
    for name in challenge_sets.list_set_names():
        for quantity in challenge_sets.get_challenge_set(name).metric_definitions:
            assert quantity.limits == ((-1, 1) if "drop" in quantity.name else (0, 1)), f"{name}: {quantity.name}"
