"""CS_λ: pairs with misleading lexical cues."""

from typing import Final, NotRequired, TypedDict

from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition, Role, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.score_validation import find_invalid_label, find_missing_value
from unbag.scoring.compositionality_sensitivity import CompositionalitySensitivityScores

_PAPER: Final = "Nie et al. 2019"


def _accuracy(threshold: float, *more_roles: Role) -> MetricDefinition:
    """Build the accuracy on CS_λ for a λ of the paper's Table 5."""
    return MetricDefinition(
        f"accuracy_cs_{threshold:g}",
        f"accuracy, CS_{threshold:g}",
        f"subsets.lambda={threshold:g}.accuracy",
        roles=build_metric_roles("quoted", "harness", *more_roles),
        published_columns=(PublishedColumn(_PAPER, "5", f"CS_{threshold:g}"),),
    )


class CsLambdaScores(CompositionalitySensitivityScores):
    """Scores on CS_λ, with the names of the label ids."""

    labels: list[str]


class _TrainingData(TypedDict):
    origin: str
    split: str


class _LexicalModel(TypedDict):
    pairs: int
    training: list[_TrainingData]


class CsLambdaOptions(TypedDict):
    """Recorded options that the report reads: the lexical models, one per fold."""

    lexical_models: NotRequired[list[_LexicalModel]]


def _find_contradiction(scores: CsLambdaScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    if not scores["subsets"]:
        return "subsets = [], without all pairs"
    if len({"human" in subset for subset in scores["subsets"]}) > 1:
        return "subsets, some without human accuracy"
    for number, subset in enumerate(scores["subsets"]):
        if len({subset["n"], subset["accuracy"].n, subset["majority"].n}) > 1 or (subset["n"] == 0) != (
            subset["majority_label"] is None
        ):
            return f"subsets.{number}, whose numbers of pairs differ"
    ids = [each["majority_label"] for each in scores["subsets"]]
    return find_invalid_label(scores["labels"], ids) or find_missing_value("subsets", scores["subsets"])


SET: Final = ChallengeSet(
    name="cs_lambda",
    title="CS_λ",
    question="Is the model correct on pairs whose words suggest a wrong label?",
    paper="Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867",
    shuffled=(
        "The gold label of the pair in the original order. The words of these pairs suggest a different label. "
        "Accuracy without word order therefore shows lexical knowledge that the lexical model lacks."
    ),
    metrics=("compositionality_sensitivity",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.cs_lambda.cs_lambda:CsLambda",
    columns=("lms",),
    optional_columns=("annotator_labels",),
    metric_definitions=(
        MetricDefinition(
            "accuracy",
            "accuracy, all",
            "subsets.lambda=0.accuracy",
            roles=build_metric_roles("quoted", "compared", "harness"),
            published_columns=(PublishedColumn(_PAPER, "5", "whole"),),
        ),
        _accuracy(0.5),
        _accuracy(0.6),
        _accuracy(0.7, "compared", "beside_papers"),
        MetricDefinition(
            "drop_cs_0.7",
            "drop, all to CS_0.7",
            "subsets.lambda=0.7.drop",
            False,
            build_metric_roles("quoted"),
            limits=DIFFERENCE,
        ),
    ),
    scores_type=CsLambdaScores,
    options_type=CsLambdaOptions,
    find_contradiction=_find_contradiction,
    sample=10_000,  # large, since only a few pairs reach λ = 0.7
    # Without these options, tagging a million sentences for the lexical model would dominate the time of the suite.
    sample_options={"train_data": ("snli",), "max_train_pairs": 20_000},
    sample_options_unless=frozenset({"lexical"}),
    sample_options_language="en",
    evaluation_order=6,
    report_order=3,
    is_accuracy=True,
    has_verification=True,
)
