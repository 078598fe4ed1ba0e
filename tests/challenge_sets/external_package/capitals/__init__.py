"""A challenge set of another package: pairs in capital letters."""

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, build_metric_roles

SET = ChallengeSet(
    name="capitals",
    title="Capitals",
    question="Is it right when it is shouted at?",
    paper="Nobody 2026, https://example.org",
    package=__name__,
    builder="capitals.builder:Capitals",
    columns=("letters",),
    metric_definitions=(
        MetricDefinition(
            "accuracy",
            "accuracy in capitals",
            "accuracy",
            roles=build_metric_roles("quoted", "compared", "beside_papers", "harness"),
        ),
    ),
    sample=5,
    is_accuracy=True,
)
