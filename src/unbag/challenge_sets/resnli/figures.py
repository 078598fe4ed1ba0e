"""Metrics and figures of ReSNLI."""

from collections.abc import Iterator
from typing import Any, Final

from unbag.challenge_sets.resnli import SET
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure, iter_metrics
from unbag.scoring.bootstrap import Estimate

_MEANINGS: Final = {
    "accuracy_unseen": "pairs from the corpus's other splits; a model may have been trained on these too",
    "accuracy": "includes pairs from train, which a model may have been trained on",
    "accuracy_easiest": "pairs whose words give the label away most",
    "accuracy_hardest": "pairs whose words give the label away least",
    "drop": "accuracy on the easiest minus accuracy on the hardest partition",
}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over the metrics of the set: label, meaning and value."""
    return iter_metrics(SET, _MEANINGS, scores)


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build the figure of accuracy by partition."""
    return [
        build_group_figure(
            group,
            lambda scores: ((row["partition"], row["accuracy"]) for row in scores["by_partition"]),
            title="Accuracy by partition",
            about="Partitions are numbered by difficulty: in partition 0, the words reveal the label most clearly.",
            x="partition",
            y="accuracy",
            kind="curve",
        )
    ]
