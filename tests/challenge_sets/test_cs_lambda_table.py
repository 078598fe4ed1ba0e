"""Tests of the text below the table of CS_λ."""

from types import SimpleNamespace

import numpy as np

from unbag import challenge_sets
from unbag.data.labels import LABELS
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity

cs_lambda = challenge_sets.get_challenge_set("cs_lambda")


def _summarize(lms):
    gold = [row % 3 for row in range(len(lms))]
    scores = compositionality_sensitivity([0] * len(lms), gold, lms, resamples=0)
    return cs_lambda.summarize_result(SimpleNamespace(scores={**scores, "labels": list(LABELS)}))


def test_reading_names_lambda_of_score():
    lms = np.array([0.1] * 100 + [0.65] * 60 + [0.9] * 60)
    n = int(cs_lambda.counts_for_skill({"lms": lms}).sum())
    assert "(λ = 0.7), correct on" in (text := _summarize(lms))
    assert f"of {n} pairs" in text


def test_reading_of_few_misleading_pairs_names_no_lower_lambda():
    said = _summarize(np.array([0.1] * 100 + [0.65] * 60 + [0.9] * 12))
    assert said == "too few misleading pairs: 12 of 172 pairs are in CS_0.7, 50 are needed."
