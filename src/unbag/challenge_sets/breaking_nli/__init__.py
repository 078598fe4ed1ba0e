"""Breaking NLI: pairs that differ in one word."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, Scores, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.score_validation import find_invalid_label, find_missing_value
from unbag.data.corpora import OFFICIAL
from unbag.data.labels import LABELS, NOT_ENTAILMENT
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.category_accuracy import CategoryAccuracyScores

_PAPER: Final = "Glockner et al. 2018"


def _accuracy(label: str) -> MetricDefinition:
    """Build the accuracy on the pairs of one label. Most pairs are contradictions, so overall accuracy says little."""

    def of_label(scores: Scores) -> Estimate | None:
        rows = {scores["labels"][row["label"]]: row["accuracy"] for row in scores["by_label"]}
        return rows.get(label)

    return MetricDefinition(
        f"accuracy_{label}", f"accuracy, {label}", roles=build_metric_roles("quoted"), compute=of_label
    )


class BreakingNliScores(CategoryAccuracyScores):
    """Scores of Breaking NLI, with the names of the label ids and the number of pairs without an answer."""

    labels: list[str]
    unanswered: int


def _find_contradiction(scores: BreakingNliScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    kappas = scores["kappa"]["by_label"] if "kappa" in scores else []
    ids = [row["label"] for row in (*scores["by_label"], *kappas)]
    return find_invalid_label(scores["labels"], ids) or find_missing_value("by_category", scores["by_category"])


SET: Final = ChallengeSet(
    name="breaking_nli",
    title="Breaking NLI",
    question="Does the model notice one replaced word: sofa for couch, seven for five?",
    paper="Glockner et al. 2018, https://aclanthology.org/P18-2103",
    shuffled=(
        "The gold label of the pair in the original order. Shuffling keeps the word that differs between the "
        "sentences, so the control measures knowledge of word pairs."
    ),
    metrics=("category_accuracy",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.breaking_nli.breaking_nli:BreakingNli",
    columns=("category",),
    optional_columns=("similarity", "pair_frequency", "annotator_labels", "premise"),
    metric_definitions=(
        MetricDefinition(
            "accuracy",
            "accuracy",
            "accuracy",
            roles=build_metric_roles("quoted", "compared", "beside_papers", "harness"),
            published_columns=(PublishedColumn(_PAPER, "3", "Breaking NLI", OFFICIAL, same_rows=True),),
        ),
        *(_accuracy(label) for label in (*LABELS, NOT_ENTAILMENT)),
    ),
    scores_type=BreakingNliScores,
    find_contradiction=_find_contradiction,
    sample=2000,
    evaluation_order=3,
    report_order=7,
    is_accuracy=True,
    has_verification=True,
    from_text=True,
)
