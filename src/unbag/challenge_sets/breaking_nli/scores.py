"""Category accuracy of the Breaking NLI set."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import CONTRADICTION, label_id
from unbag.data.predictions import NO_ANSWER, Columns, SetPredictions
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.category_accuracy import category_accuracy
from unbag.scoring.skill import Credits


def breaking_nli_scores(
    columns: Columns, answers: SetPredictions, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.category_accuracy`; examples of one premise are drawn together.

    Equal probabilities for several labels are no answer, hence wrong: so the paper counts a pair for which its WordNet
    baseline finds no relation. Similarity and frequency count contradictions only, as in the paper's section 5, and are
    scored where the set was built with them; annotators' agreement where the pairs have their labels.
    """
    votes = [[int(answers.folded[vote]) for vote in labels] for labels in columns.get("annotator_labels", ())]
    tied = _tied(answers)
    scores = category_accuracy(
        np.where(tied, NO_ANSWER, answers.predicted),
        answers.gold(columns["label"]),
        columns["category"],
        similarity=_of_contradictions(columns, "similarity"),
        pair_frequency=_of_contradictions(columns, "pair_frequency"),
        annotator_labels=votes if any(votes) else None,
        premise=columns.get("premise"),
        resamples=resamples,
    )
    return {**scores, "labels": list(answers.label_space), "unanswered": int(tied.sum())}


def breaking_nli_credits(columns: Columns, answers: SetPredictions) -> Credits:
    """Return for `scoring.skill` which pairs are answered right; those of one premise are drawn together."""
    gold = answers.gold(columns["label"])
    return Credits((answers.predicted == gold) & ~_tied(answers), gold, columns.get("premise", range(len(gold))))


def _tied(answers: SetPredictions) -> NDArray[np.bool_]:
    """Return which rows have several labels of the highest probability, shape (n,)."""
    best = answers.probabilities.max(axis=1, keepdims=True)
    tied: NDArray[np.bool_] = (answers.probabilities == best).sum(axis=1) > 1
    return tied


def _of_contradictions(columns: Columns, name: str) -> list[Any] | None:
    """Return a column of numbers with None for all but contradictions; None where it has no number."""
    if name not in columns:
        return None
    values = np.asarray(columns[name], dtype=np.float64)
    counts = (np.asarray(columns["label"]) == label_id(CONTRADICTION)) & ~np.isnan(values)  # a missing number is NaN
    counted = [value if counted else None for value, counted in zip(values.tolist(), counts.tolist(), strict=True)]
    return None if all(value is None for value in counted) else counted
