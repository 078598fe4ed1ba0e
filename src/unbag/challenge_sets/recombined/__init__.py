"""Documents that contain all words of a claim, with and without a sentence that supports it."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, CountedOptions, MetricDefinition, build_metric_roles
from unbag.challenge_sets.score_validation import find_missing_value, find_unknown_operation
from unbag.scoring.document_consistency import DocumentConsistencyScores

EXCHANGED: Final = ("subject", "object", "number")
"""Operations that exchange an argument of the claim, in the order of tables."""

OPERATIONS: Final = (*EXCHANGED, "removed")
"""All operations, in the order of tables. The last one removes the evidence."""


def _find_contradiction(scores: DocumentConsistencyScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    rows = scores["by_operation"]
    return find_unknown_operation(rows, OPERATIONS) or find_missing_value("by_operation", rows)


SET: Final = ChallengeSet(
    name="recombined",
    title="Recombined",
    question="Does the model reject unsupported claims whose words are all in the document?",
    paper="unbag, after Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867",
    shuffled=(
        "The gold label of the row in the original order. The document contains all words of every claim, "
        "supported or exchanged. Without word order, only the plausibility of the claim remains."
    ),
    metrics=("document_consistency",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.recombined.recombined:Recombined",
    columns=("source_id", "group", "k", "position", "operation"),
    metric_definitions=(
        MetricDefinition(
            "balanced_accuracy",
            "balanced accuracy",
            "balanced_accuracy",
            roles=build_metric_roles("quoted", "compared", "beside_papers", "harness"),
        ),
        MetricDefinition(
            "false_entailment_rate",
            "false-entailment rate",
            "false_entailment_rate",
            False,
            build_metric_roles("quoted", "compared", "harness"),
        ),
        MetricDefinition(
            "paired_accuracy",
            "paired accuracy",
            "paired_accuracy",
            roles=build_metric_roles("quoted", "compared", "harness"),
        ),
    ),
    scores_type=DocumentConsistencyScores,
    options_type=CountedOptions,
    find_contradiction=_find_contradiction,
    sample=100,  # claims, of some dozen rows each, a third of which have 64 sentences
    evaluation_order=7,
    report_order=9,
    has_verification=True,
    from_text=True,
)
