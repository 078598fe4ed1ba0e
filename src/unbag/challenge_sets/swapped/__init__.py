"""Swapped: pairs with premise and hypothesis exchanged."""

from typing import Final

from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.scoring.swap_consistency import SwapConsistencyScores

_PAPER: Final = "ReSNLI 2019"


def _find_contradiction(scores: SwapConsistencyScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    has_pairs = {scores[name].value is None for name in ("drop", "agreement")}
    return "agreement, whose pairs are not those of drop" if len(has_pairs) > 1 else ""


SET: Final = ChallengeSet(
    name="swapped",
    title="Swapped",
    question="Does the prediction stay the same when both sentences are exchanged?",
    paper="Wang, Sun & Xing 2019, https://doi.org/10.1609/aaai.v33i01.33017136",
    shuffled=(
        "The gold label of the exchanged pair in the original word order. Without word order, a pair and the "
        "exchanged pair differ only in the words on each side."
    ),
    metrics=("swap_consistency",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.swapped.swapped:Swapped",
    columns=("source_id", "swapped"),
    metric_definitions=(  # over neutral pairs and contradictions, which are exchanged; the last one over the whole set
        MetricDefinition(
            "accuracy_before", "accuracy, as given", "accuracy_before", roles=build_metric_roles("quoted", "harness")
        ),
        MetricDefinition(
            "accuracy_after", "accuracy, exchanged", "accuracy_after", roles=build_metric_roles("quoted", "harness")
        ),
        MetricDefinition(
            "drop", "drop", "drop", False, build_metric_roles("quoted", "compared", "harness"), limits=DIFFERENCE
        ),
        MetricDefinition(
            "agreement",
            "same prediction both ways",
            "agreement",
            roles=build_metric_roles("quoted", "compared", "harness"),
        ),
        MetricDefinition(
            "accuracy_after_whole",
            "accuracy on the whole set, Table 1",
            "overall.accuracy_after",
            roles=build_metric_roles("beside_papers"),
            published_columns=(PublishedColumn(_PAPER, "1", "after", "snli"),),
        ),
    ),
    corpus_pairs={"swapped": False},
    scores_type=SwapConsistencyScores,
    find_contradiction=_find_contradiction,
    evaluation_order=2,
    report_order=5,
)
