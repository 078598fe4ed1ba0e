"""Label shares on SOSwap and AddAmod."""

from typing import Any

from unbag.columns import column
from unbag.measures import Answers
from unbag.scoring.label_distribution import label_distribution


def score(rows: Any, answers: Answers) -> dict[str, Any]:
    """Score answers with `scoring.label_distribution`, by kind of pair."""
    return label_distribution(
        answers.predicted,
        answers.gold(rows),
        column(rows, "source_id").to_pylist(),
        subsets=column(rows, "kind").to_pylist(),
        names=answers.space,
    )
