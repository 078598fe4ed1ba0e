"""Negation: two premises with the same words and negations, one of which entails the hypothesis."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, build_metric_roles
from unbag.challenge_sets.score_validation import find_missing_value, find_unknown_operation
from unbag.scoring.negation_consistency import NegationConsistencyScores

OPERATIONS: Final = (
    "sentence",
    "clause",
    "relative",
    "restated",
    "double",
    "quantifier",
    "hypernym",
    "modifier",
    "prefix",
    "antonym",
)
"""Operations, in the order of tables."""


def _find_contradiction(scores: NegationConsistencyScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    rows = scores["by_operation"]
    return find_unknown_operation(rows, OPERATIONS) or find_missing_value("by_operation", rows)


SET: Final = ChallengeSet(
    name="negation",
    title="Negation",
    question="Does the model recognise what a negation applies to?",
    paper="unbag, after Gardner et al. 2020, https://arxiv.org/abs/2004.02709",
    shuffled=(
        "The gold label of the row in the original order. Both premises of a mirror have the same words, so "
        "without word order, no word shows which premise entails the hypothesis."
    ),
    metrics=("negation_consistency",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.negation.negation:Negation",
    columns=("source_id", "mirror", "operation"),
    metric_definitions=(
        MetricDefinition(
            "accuracy",
            "accuracy",
            "accuracy",
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
            "mirror_consistency",
            "mirror consistency",
            "mirror_consistency",
            roles=build_metric_roles("quoted", "compared", "harness"),
        ),
    ),
    scores_type=NegationConsistencyScores,
    find_contradiction=_find_contradiction,
    sample=100,  # premises, of some two dozen rows each
    evaluation_order=5,
    report_order=10,
    has_verification=True,
    from_text=True,
)
