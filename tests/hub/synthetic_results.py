"""Results of pseudo-random predictions in the format of `unbag evaluate`."""

from typing import Final

import numpy as np

from tests.factories import score_swapped_pairs
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.results import Result
from unbag.scoring.accuracy import accuracy
from unbag.scoring.skill import RowScores, skill_score

SNLI: Final = {
    "name": "snli",
    "split": "test",
    "origin": "stanfordnlp/snli (plain_text)",
    "revision": "c" * 40,
    "rows": 60,
    "excluded": {},
    "sha256": "5" * 64,
}
_ENVIRONMENT: Final = {"python": "3.11", "unbag": "0.1.0"}


def build_model_record(name="org/model", revision="a" * 40, **more):
    return {"name": name, "kind": "transformer", "model": name, "revision": revision, "dtype": "float32", **more}


def build_plain_result(about=None, *, seed=1):
    """Build a result on an unmodified corpus."""
    gold, predicted = np.random.default_rng(seed).integers(0, 3, (2, 60))
    scores = accuracy(predicted, gold, resamples=50) | {"labels": ["entailment", "neutral", "contradiction"]}
    return Result(
        "plain",
        {},
        about or build_model_record(),
        SNLI,
        scores | _build_skill_score(predicted == gold, gold),
        _ENVIRONMENT,
    )


def build_swapped_result(about=None, *, seed=1):
    """Build a result on swapped pairs, of which 40 of 60 are neutral or contradictions."""
    rng = np.random.default_rng(seed)
    gold = np.arange(60) % 3
    before, after = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    scores = score_swapped_pairs(before, gold, after, resamples=50) | _build_skill_score(after == gold, gold)
    return Result("swapped", {}, about or build_model_record(), SNLI | {"sha256": "6" * 64}, scores, _ENVIRONMENT)


def _build_skill_score(right, gold):
    scores = skill_score(RowScores(right, gold, range(len(gold))), resamples=50)
    return {SKILL: {**scores, "lexical_model": None}}
