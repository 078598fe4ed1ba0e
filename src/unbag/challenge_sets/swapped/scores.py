"""Swap consistency of the swapped set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import CONTRADICTION, NEUTRAL, label_id
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions, flags, select_rows
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.skill import Credits
from unbag.scoring.swap_consistency import swap_consistency


def swapped_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.swap_consistency`, before and after the exchange.

    A two-label model's "not entailment" is right of neutral pairs and of contradictions, so it stands for whichever of
    the two the pair is. Of a part of the rows, pairs count that are there both ways round.
    """
    if partial:
        both = {name for name, swapped in zip(columns["source_id"], columns["swapped"], strict=True) if swapped} & {
            name for name, swapped in zip(columns["source_id"], columns["swapped"], strict=True) if not swapped
        }
        columns, answers = select_rows(np.array([name in both for name in columns["source_id"]]), columns, answers)
        if not both:
            return {}
    label = np.asarray(columns["label"])
    # From the model's label space to our ids: the gold label where its fold was predicted, else a label with that fold.
    ours = np.array([list(answers.folded).index(column) for column in range(len(answers.label_space))])
    predicted = np.where(answers.predicted == answers.folded[label], label, ours[answers.predicted])
    predicted = np.where(answers.predicted == NO_ANSWER, NO_ANSWER, predicted)
    return dict(
        swap_consistency(
            predicted,
            label,
            columns["source_id"],
            flags(columns["swapped"]),
            neutral=label_id(NEUTRAL),
            contradiction=label_id(CONTRADICTION),
            resamples=resamples,
        )
    )


def swapped_decisive(columns: Columns) -> NDArray[np.bool_]:
    """Return which rows are exchanged pairs, shape (n,)."""
    return flags(columns["swapped"])


def swapped_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Return for `scoring.skill` which neutral pairs and contradictions are answered right when exchanged.

    The gold label stays in these; a pair of another label has no exchanged row, and does not count.
    """
    swapped = flags(columns["swapped"])
    gold = answers.gold(columns["label"])
    right = answers.predicted == gold
    names = np.array(columns["source_id"], dtype=object)
    after = dict(zip(names[swapped], right[swapped], strict=True))
    counts = np.array([name in after for name in names[~swapped]], dtype=np.bool_)
    credit = np.array([after.get(name, False) for name in names[~swapped]])
    return Credits(credit, gold[~swapped], range(len(credit)), counts=counts)
