"""Label shares on SOSwap and AddAmod."""

from typing import Any

import numpy as np

from unbag.columns import column
from unbag.measures import NO_ANSWER, NONE, Answers
from unbag.scoring.label_distribution import LabelDistributionScores, label_distribution


def score(rows: Any, answers: Answers) -> LabelDistributionScores:
    """Score answers with `scoring.label_distribution`, by kind of pair; where there is no answer, it is `none`."""
    predicted, names = answers.predicted, tuple(answers.space)
    if (predicted == NO_ANSWER).any():
        predicted, names = np.where(predicted == NO_ANSWER, len(names), predicted), (*names, NONE)
    return label_distribution(
        predicted,
        answers.gold(rows),
        column(rows, "source_id").to_pylist(),
        subsets=column(rows, "kind").to_pylist(),
        names=names,
    )
