"""Accuracy on a corpus's own pairs."""

from typing import Any

from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.accuracy import accuracy
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.skill import Credits


def plain_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.accuracy`."""
    gold = answers.gold(columns["label"])
    scores = accuracy(answers.predicted, gold, n_labels=len(answers.label_space), resamples=resamples)
    return {**scores, "labels": list(answers.label_space)}


def plain_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Return for `scoring.skill` which pairs are answered right."""
    gold = answers.gold(columns["label"])
    return Credits(answers.predicted == gold, gold, range(len(gold)))
