"""Plain: an unmodified corpus, the reference for the challenge sets."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn

SET: Final = ChallengeSet(
    name="plain",
    title="Corpus",
    question="How often is the model right on ordinary pairs?",
    paper="Talman & Chatzikyriakidis 2019, https://aclanthology.org/W19-4810",
    reference_paper="ReSNLI 2019",
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
    sample=1000,
    corpus_pairs={},
    evaluation_order=1,
    report_order=1,
    is_control=True,
    is_accuracy=True,
    has_verification=True,
)
