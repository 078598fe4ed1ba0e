"""Category accuracy of the Breaking NLI set."""

from typing import Any

import numpy as np

from unbag.columns import column, numbers
from unbag.labels import CONTRADICTION, label_id
from unbag.measures import NO_ANSWER, Answers
from unbag.scoring.category_accuracy import category_accuracy


def score(rows: Any, answers: Answers) -> dict[str, Any]:
    """Score answers with `scoring.category_accuracy`; examples of one premise are drawn together.

    Equal probabilities for several labels are no answer, hence wrong: so the paper counts a pair for which its WordNet
    baseline finds no relation. Similarity and frequency count contradictions only, as in the paper's section 5, and are
    scored where the set was built with them.
    """
    best = answers.probabilities.max(axis=1, keepdims=True)
    tied = (answers.probabilities == best).sum(axis=1) > 1
    contradicts = (numbers(rows, "label") == label_id(CONTRADICTION)).tolist()

    def measured(name: str) -> list[Any] | None:
        values = column(rows, name).to_pylist()
        counted = [value if counts else None for value, counts in zip(values, contradicts, strict=True)]
        return None if all(value is None for value in counted) else counted

    return category_accuracy(
        np.where(tied, NO_ANSWER, answers.predicted),
        answers.gold(rows),
        column(rows, "category").to_pylist(),
        similarities=measured("similarity"),
        frequencies=measured("pair_frequency"),
        groups=column(rows, "premise").to_pylist(),
    ) | {"labels": list(answers.space), "unanswered": int(tied.sum())}
