"""An unanswered row never improves a number: a law over all metrics of all sets."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integrations.harness.test_export import build_rows
from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions
from unbag.inference.single_output import apply_threshold
from unbag.scoring.skill import skill_score
from unbag.scoring.verification import compute_verifier_scores

SETS = challenge_sets.list_set_names()
_ROUNDING = 1e-9


@cache
def _build_columns(name):
    rows = build_rows(name)
    columns = {column: [row[column] for row in rows] for column in rows[0]}
    return {
        column: np.array(values) if isinstance(values[0], int | float) else values for column, values in columns.items()
    }


def get_numbers(name, predictions):
    """Compute all numbers of a set with a direction, as (value, sign), with sign 1 where higher is better."""
    described = challenge_sets.get_challenge_set(name)
    columns = _build_columns(name)
    scores = dict(described.score_function(columns, predictions))
    own = described.score_examples(columns, predictions)
    scores["skill"] = skill_score(own, resamples=0)
    if described.has_verification:
        scores["verification"] = compute_verifier_scores(columns["label"], predictions, own.source, resamples=0)
    numbers = {
        each.name: (estimate.value, 1 if each.higher_is_better else -1)
        for each in (SCORE, *described.named_metrics)
        if (estimate := each.get_estimate(scores)) is not None and estimate.value is not None
    }
    if (verified := scores.get("verification")) and verified["risk_coverage"]:
        numbers["aurc"] = (verified["risk_coverage"]["aurc"], -1)
    return numbers


@pytest.mark.parametrize("has_probabilities", [False, True])
@pytest.mark.parametrize(
    ("name", "space"),
    # Swapped has no metric of its own for two labels.
    [(name, space) for name in SETS for space in (LABELS, TWO_WAY) if (name, space) != ("swapped", TWO_WAY)],
)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_unanswered_rows_never_improve_a_number(name, space, has_probabilities, data):
    rows = build_rows(name)
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    # Models between always wrong and always right, so that the numbers have room in both directions.
    ids = np.where(
        draw.random(len(rows)) < draw.random(), [row["label"] for row in rows], draw.integers(3, size=len(rows))
    )
    probabilities = np.eye(3)[ids]
    if has_probabilities:
        probabilities = draw.dirichlet(np.ones(3), len(rows)) * 0.5 + probabilities * 0.5
    full = SetPredictions(probabilities, LABELS, has_probabilities).to_label_space(space)
    some = draw.random(len(rows)) < draw.random()
    more = some | (draw.random(len(rows)) < draw.random())
    if draw.random() < 0.3:  # a judge that answers only where it is right
        more = more | (full.predicted != full.to_label_positions([row["label"] for row in rows]))
    chain = [get_numbers(name, full._replace(unanswered=mask)) for mask in (np.zeros_like(some), some, more)]
    assert chain[0]
    for before, after in pairwise(chain):
        for number, (value, sign) in after.items():
            # A share of no example has no value, and any value is then possible.
            assert number not in before or sign * value <= sign * before[number][0] + _ROUNDING, number


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_unanswered_rows_of_the_shuffled_control_never_raise_the_skill_score(seed):
    draw = np.random.default_rng(seed)
    columns = _build_columns("plain")
    gold = np.asarray(columns["label"])
    model, control = (
        np.where(draw.random(len(gold)) < share, gold, draw.integers(3, size=len(gold))) for share in (0.8, 0.3)
    )
    own, *controls = (
        challenge_sets.get_challenge_set("plain").score_examples(
            columns, SetPredictions(np.eye(3)[ids], LABELS, False, mask).count_unanswered_as_correct(gold)
        )
        for ids, mask in ((model, None), (control, None), (control, draw.random(len(gold)) < draw.random()))
    )
    full, part = (skill_score(own, shuffled_scores=each, resamples=0)["score"].value for each in controls)
    assert part <= full + _ROUNDING


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_unanswered_rows_never_improve_the_ranking_at_a_threshold(seed):
    draw = np.random.default_rng(seed)
    gold = np.arange(60) % 2
    entailed = np.clip(draw.random(60) - 0.4 * draw.random() * gold, 0, 1)
    predictions = SetPredictions(np.stack([entailed, 1 - entailed], axis=1), TWO_WAY, has_probabilities=True)
    mask = draw.random(60) < draw.random()
    for threshold in (0.5, "break-even"):
        found = []
        for unanswered in (np.zeros(60, dtype=bool), mask):
            decided, ranking, _ = apply_threshold(predictions._replace(unanswered=unanswered), gold, threshold)
            found.append((ranking["auc"], np.mean(decided.predicted == gold)))
        assert found[1][0] <= found[0][0] + _ROUNDING
        assert threshold == "break-even" or found[1][1] <= found[0][1]
        assert ranking["n_predicted_entailed"] == (decided.predicted == 0).sum()
