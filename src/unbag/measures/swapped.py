"""Swap consistency of the swapped set."""

from typing import Any

import numpy as np

from unbag.columns import numbers
from unbag.labels import CONTRADICTION, NEUTRAL, label_id
from unbag.measures import NO_ANSWER, Answers
from unbag.scoring.swap_consistency import SwapConsistencyScores, swap_consistency


def score(rows: Any, answers: Answers) -> SwapConsistencyScores:
    """Score answers with `scoring.swap_consistency`, before and after the exchange.

    A two-label model's "not entailment" is right of neutral pairs and of contradictions, so it stands for whichever of
    the two the pair is.
    """
    names, swapped = numbers(rows, "source_id"), numbers(rows, "swapped")
    label = numbers(rows, "label")
    # From the model's space to our ids: the gold label where its fold was predicted, else a label with that fold.
    ours = np.array([list(answers.folded).index(place) for place in range(len(answers.space))])
    predicted = np.where(answers.predicted == answers.folded[label], label, ours[answers.predicted])
    predicted = np.where(answers.predicted == NO_ANSWER, NO_ANSWER, predicted)
    after = dict(zip(names[swapped], predicted[swapped], strict=True))
    return swap_consistency(
        predicted[~swapped],
        label[~swapped],
        [after.get(name, 0) for name in names[~swapped]],  # entailment pairs have none, and it is not read
        neutral=label_id(NEUTRAL),
        contradiction=label_id(CONTRADICTION),
    )
