"""Category accuracy of the Breaking NLI set."""

from typing import Any

import numpy as np

from unbag.answers import NO_ANSWER, Answers, Columns
from unbag.labels import CONTRADICTION, label_id
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.category_accuracy import category_accuracy


def breaking_nli_scores(
    columns: Columns, answers: Answers, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.category_accuracy`; examples of one premise are drawn together.

    Equal probabilities for several labels are no answer, hence wrong: so the paper counts a pair for which its WordNet
    baseline finds no relation. Similarity and frequency count contradictions only, as in the paper's section 5, and are
    scored where the set was built with them; annotators' agreement where the pairs have their labels.
    """
    votes = [[int(answers.folded[vote]) for vote in labels] for labels in columns.get("annotator_labels", ())]
    best = answers.probabilities.max(axis=1, keepdims=True)
    tied = (answers.probabilities == best).sum(axis=1) > 1
    scores = category_accuracy(
        np.where(tied, NO_ANSWER, answers.predicted),
        answers.gold(columns["label"]),
        columns["category"],
        similarities=_of_contradictions(columns, "similarity"),
        frequencies=_of_contradictions(columns, "pair_frequency"),
        annotator_labels=votes if any(votes) else None,
        groups=columns.get("premise"),
        resamples=resamples,
    )
    return {**scores, "labels": list(answers.label_space), "unanswered": int(tied.sum())}


def _of_contradictions(columns: Columns, name: str) -> list[Any] | None:
    """Return a column of numbers with None for all but contradictions; None where it has no number."""
    if name not in columns:
        return None
    values = np.asarray(columns[name], dtype=np.float64)
    counts = (np.asarray(columns["label"]) == label_id(CONTRADICTION)) & ~np.isnan(values)  # a missing number is NaN
    counted = [value if counted else None for value, counted in zip(values.tolist(), counts.tolist(), strict=True)]
    return None if all(value is None for value in counted) else counted
