"""Compositionality sensitivity of the CS_λ set."""

from typing import Any

from unbag.answers import Answers, Columns
from unbag.scoring.bootstrap import DEFAULT_RESAMPLES
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity


def cs_lambda_scores(
    columns: Columns, answers: Answers, *, resamples: int = DEFAULT_RESAMPLES, partial: bool = False
) -> dict[str, Any]:
    """Score answers with `scoring.compositionality_sensitivity`; the human estimate where annotators' labels are."""
    annotations = columns.get("annotator_labels", ())
    votes = [[int(answers.folded[vote]) for vote in labels] for labels in annotations]
    scores = compositionality_sensitivity(
        answers.predicted,
        answers.gold(columns["label"]),
        columns["lms"],
        annotator_labels=votes if any(votes) else None,
        n_labels=len(answers.label_space),
        resamples=resamples,
    )
    return {**scores, "labels": list(answers.label_space)}
