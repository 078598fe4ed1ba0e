"""Compositionality sensitivity of the CS_λ set."""

from typing import Any

from unbag.columns import column, numbers
from unbag.measures import Answers
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity


def score(rows: Any, answers: Answers) -> dict[str, Any]:
    """Score answers with `scoring.compositionality_sensitivity`; the human estimate where annotators' labels are."""
    votes = [[int(answers.folded[vote]) for vote in given] for given in column(rows, "annotator_labels").to_pylist()]
    return compositionality_sensitivity(
        answers.predicted,
        answers.gold(rows),
        numbers(rows, "lms"),
        annotator_labels=votes if any(votes) else None,
        n_labels=len(answers.space),
    ) | {"labels": list(answers.space)}
