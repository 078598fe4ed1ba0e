"""Pairs of the same words, with another meaning."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, Quantity, roles
from unbag.challenge_sets.papers.counterparts import Counterpart

_PAPER: Final = "Nie et al. 2019"

KINDS: Final = {"soswap": "SOSwap", "addamod": "AddAmod"}
"""What the kinds of pairs are called."""


def _accuracy(kind: str, theirs: str) -> Quantity:
    """Return the share of the right label on one kind of pair: Table 2 of the paper."""
    return Quantity(
        f"accuracy_{kind}",
        f"accuracy, {KINDS[kind]}",
        f"by_subset.{kind}.accuracy",
        roles=roles("quoted", "compared", "beside_papers", "harness"),
        counterparts=(Counterpart(_PAPER, "2", theirs, "snli"),),
    )


SET: Final = ChallengeSet(
    name="soswap_addamod",
    title="SOSwap/AddAmod",
    question="Is it right when subject and object change places, or an adjective moves?",
    paper="Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867",
    figures_from=_PAPER,
    shuffled=(
        "The gold label of the pair in order, of which nothing is left: both sentences have the same words, "
        "so that the control is at most a guess at the kind of the pair."
    ),
    metrics=("label_distribution",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.soswap_addamod.soswap_addamod:SoswapAddamod",
    columns=("source_id", "kind"),
    quantities=(
        Quantity("accuracy", "accuracy", "accuracy", roles=roles("quoted", "harness")),
        _accuracy("soswap", "SOSwap C"),
        _accuracy("addamod", "AddAmod N"),
    ),
    evaluation_order=5,
    report_order=6,
    is_accuracy=True,
)
