"""ReSNLI: pairs sorted by the uncertainty of a bag of words about the label."""

from typing import Final, NotRequired

from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.uncertainty_partitions import UncertaintyPartitionsScores

_PAPER: Final = "ReSNLI 2019"


class ResnliScores(UncertaintyPartitionsScores):
    """Scores on ReSNLI, with the accuracy outside the training splits and the number of partitions of the whole set."""

    unseen: NotRequired[Estimate]
    set_partitions: NotRequired[int]


def _find_contradiction(scores: ResnliScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    n, found = scores["n_partitions"], len(scores["by_partition"])
    if not found or n != found:
        return f"n_partitions = {n}, with {found} partitions"
    accuracies = [row["accuracy"].value for row in scores["by_partition"]]
    if not all(
        value is not None and 0 <= value <= 1
        for value in (*accuracies, scores["easiest"].value, scores["hardest"].value)
    ):
        return "by_partition, with an accuracy that is not between 0 and 1"
    return ""


SET: Final = ChallengeSet(
    name="resnli",
    title="ReSNLI",
    question="Is the model correct on pairs whose words reveal least about the label?",
    paper="anonymous EMNLP-IJCNLP submission 2019",
    shuffled=(
        "The gold label of the pair in the original order. The mean word embedding hardly predicts this label. "
        "Accuracy without word order therefore shows other lexical knowledge."
    ),
    metrics=("uncertainty_partitions",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.resnli.resnli:Resnli",
    columns=("partition",),
    optional_columns=("source_split",),
    metric_definitions=(
        # Most test pairs come from the corpus's training split, which most models were trained on. The paper's models
        # were not trained on them.
        MetricDefinition(
            "accuracy_unseen",
            "accuracy, pairs not from train",
            "unseen",
            roles=build_metric_roles("quoted", "compared", "beside_papers"),
            published_columns=(PublishedColumn(_PAPER, "3", "ReSNLI", "snli"),),
        ),
        MetricDefinition("accuracy", "accuracy, all pairs", "accuracy", roles=build_metric_roles("quoted", "harness")),
        MetricDefinition(
            "accuracy_easiest", "accuracy, easiest partition", "easiest", roles=build_metric_roles("quoted", "harness")
        ),
        MetricDefinition(
            "accuracy_hardest", "accuracy, hardest partition", "hardest", roles=build_metric_roles("quoted", "harness")
        ),
        MetricDefinition(
            "drop",
            "drop, easiest to hardest",
            "drop",
            False,
            build_metric_roles("quoted", "compared", "harness"),
            limits=DIFFERENCE,
        ),
    ),
    scores_type=ResnliScores,
    find_contradiction=_find_contradiction,
    sample=2000,  # a hundred in each partition
    corpus_pairs={},
    evaluation_order=7,
    report_order=4,
    is_accuracy=True,
    has_verification=True,
)
