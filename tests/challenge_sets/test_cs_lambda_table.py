"""Tests of the text below the table of CS_λ."""

from types import SimpleNamespace

import numpy as np

from unbag.challenge_sets.cs_lambda.report import summarize_result
from unbag.challenge_sets.cs_lambda.scores import MISLED, compute_cs_lambda_skill_score_mask
from unbag.data.labels import LABELS
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity


def _summarize(lms):
    gold = [row % 3 for row in range(len(lms))]
    scores = compositionality_sensitivity([0] * len(lms), gold, lms, resamples=0)
    return summarize_result(SimpleNamespace(scores={**scores, "labels": list(LABELS)}))


def test_reading_names_lambda_of_score():
    lms = np.array([0.1] * 100 + [0.65] * 60 + [0.9] * 60)
    n = int(compute_cs_lambda_skill_score_mask({"lms": lms}).sum())
    assert f"(λ = {MISLED:g}), correct on" in (text := _summarize(lms))
    assert f"of {n} pairs" in text


def test_reading_of_few_misleading_pairs_names_no_lower_lambda():
    said = _summarize(np.array([0.1] * 100 + [0.65] * 60 + [0.9] * 12))
    assert said == "too few misleading pairs: 12 of 172 pairs are in CS_0.7, 50 are needed."
