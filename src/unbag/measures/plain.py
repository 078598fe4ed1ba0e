"""Accuracy on a corpus's own pairs."""

from typing import Any

from unbag.measures import Answers
from unbag.scoring.accuracy import accuracy


def score(rows: Any, answers: Answers) -> dict[str, Any]:
    """Score answers with `scoring.accuracy`."""
    scores = accuracy(answers.predicted, answers.gold(rows), n_labels=len(answers.space))
    return scores | {"labels": list(answers.space)}
