"""Plain: an unmodified corpus, the reference for the challenge sets."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.scoring.accuracy import AccuracyScores


class PlainScores(AccuracyScores):
    """Scores on an unchanged corpus, with the names of the label ids."""

    labels: list[str]


def _find_contradiction(scores: PlainScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    n, expected = len(scores["by_label"]), len(scores["labels"])
    return "" if n == expected else f"by_label, with {n} values for {expected} labels"


SET: Final = ChallengeSet(
    name="plain",
    title="Corpus",
    question="How accurate is the model on ordinary pairs?",
    paper="Talman & Chatzikyriakidis 2019, https://aclanthology.org/W19-4810",
    shuffled=(
        "The gold label of the pair in the original order. The control measures how much of the corpus can be "
        "solved without word order."
    ),
    metrics=("category_accuracy", "verification"),
    optional_columns=("source_id",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.plain.plain:Plain",
    metric_definitions=(
        MetricDefinition(
            "accuracy",
            "accuracy",
            "accuracy",
            roles=build_metric_roles("quoted", "compared", "beside_papers", "harness"),
            published_columns=(
                PublishedColumn("Nie et al. 2019", "3", "original", same_rows=True),
                PublishedColumn("ReSNLI 2019", "2", "accuracy", same_rows=True),
            ),
        ),
    ),
    scores_type=PlainScores,
    find_contradiction=_find_contradiction,
    sample=1000,
    corpus_pairs={},
    evaluation_order=1,
    report_order=1,
    is_control=True,
    is_accuracy=True,
    has_verification=True,
)
