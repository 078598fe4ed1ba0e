"""SOSwap and AddAmod: sentence pairs with the same words and different meanings."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, CountedOptions, MetricDefinition, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.scoring.label_distribution import LabelFractions

_PAPER: Final = "Nie et al. 2019"

KINDS: Final = {"soswap": "SOSwap", "addamod": "AddAmod"}
"""Display names of the kinds of pairs."""


def _accuracy(kind: str, theirs: str) -> MetricDefinition:
    """Build the share of the correct label on one kind of pair, as in Table 2 of the paper."""
    return MetricDefinition(
        f"accuracy_{kind}",
        f"accuracy, {KINDS[kind]}",
        f"by_subset.{kind}.accuracy",
        roles=build_metric_roles("quoted", "compared", "beside_papers", "harness"),
        published_columns=(PublishedColumn(_PAPER, "2", theirs, "snli"),),
    )


class SoswapAddamodScores(LabelFractions):
    """Label distribution on all pairs, and on the pairs of each kind."""

    by_subset: dict[str, LabelFractions]


def _find_contradiction(scores: SoswapAddamodScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    for kind, part in scores["by_subset"].items():
        if part["shares"].keys() != scores["shares"].keys():
            return f"by_subset.{kind}.shares, with other labels than shares"
    return ""


SET: Final = ChallengeSet(
    name="soswap_addamod",
    title="SOSwap/AddAmod",
    question="Does the model notice exchanged subjects and objects, or a moved adjective?",
    paper="Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867",
    shuffled=(
        "The gold label of the pair in the original order. Shuffling destroys all evidence for this label, since "
        "both sentences have the same words. The control can at most guess the kind of the pair."
    ),
    metrics=("label_distribution",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.soswap_addamod.soswap_addamod:SoswapAddamod",
    columns=("source_id", "kind"),
    metric_definitions=(
        MetricDefinition("accuracy", "accuracy", "accuracy", roles=build_metric_roles("quoted", "harness")),
        _accuracy("soswap", "SOSwap C"),
        _accuracy("addamod", "AddAmod N"),
    ),
    scores_type=SoswapAddamodScores,
    options_type=CountedOptions,
    find_contradiction=_find_contradiction,
    evaluation_order=5,
    report_order=6,
    is_accuracy=True,
    from_text=True,
)
