"""Permuted: pairs with permuted words."""

from typing import Final, TypedDict

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, Role, Scores, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.scoring.permutation_acceptance import ORIGINAL, PermutationAcceptanceScores

_PAPER: Final = "Sinha et al. 2021"
_SIDES: Final = ("premise", "hypothesis")


def _of_paper(
    name: str, label: str, theirs: str, *more_roles: Role, higher_is_better: bool = False
) -> MetricDefinition:
    """Build a metric of section 4 of the paper, with its column in Tables 2 and 3; "" for no column."""
    published_columns = (PublishedColumn(_PAPER, "2", theirs), PublishedColumn(_PAPER, "3", theirs, "ocnli validation"))
    return MetricDefinition(
        name,
        label,
        name,
        higher_is_better,
        build_metric_roles("quoted", "harness", *more_roles),
        published_columns if theirs else (),
    )


class PermutedOptions(TypedDict):
    """Recorded options that the report reads."""

    mode: str


def _find_contradiction(scores: Scores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    if scores["n_labels"] < 2:
        return f"n_labels = {scores['n_labels']}, fewer than two labels"
    for name in ("entropy_quartiles_c", "entropy_quartiles_f"):
        if len(scores.get(name) or (0, 0, 0)) != 3:
            return f"{name}, which are not three quartiles"
    for name in ("by_bleu", "by_bleu_3", "by_bleu_4", "by_minitree", "by_length"):
        if any((row["n"] == 0) != (row["acceptance"] is None) for row in scores.get(name, ())):
            return f"{name}, with an acceptance without permutations"
    return ""


SET: Final = ChallengeSet(
    name="permuted",
    title="Permuted",
    question="Does the prediction change when no word keeps its position?",
    paper="Sinha et al. 2021, https://aclanthology.org/2021.acl-long.569",
    shuffled=(
        "The set has no shuffled control, since its rows are permuted. The row score of an example is 1 if it is "
        "correct in the original order, minus the share of permutations with the same label. A model that ignores "
        "word order has 0."
    ),
    has_shuffled_control=False,
    metrics=(
        "permutation_acceptance",
        "pos_minitree",
    ),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.permuted.permuted:Permuted",
    columns=("source_id", "permutation"),
    optional_columns=(
        *(f"{side}_words" for side in _SIDES),
        *(f"{side}_bleu_{n}" for side in _SIDES for n in (2, 3, 4)),
        *(f"{side}_minitree" for side in _SIDES),
    ),
    metric_definitions=(
        _of_paper("accuracy", "accuracy in order, A", "A", "compared", higher_is_better=True),
        _of_paper("omega_max", "Ω_max", "Ω_max", "compared"),
        _of_paper("omega_rand", "Ω_rand", "Ω_rand", "compared"),
        _of_paper("omega_all", "Ω_1.0", ""),
        _of_paper("p_c", "P^c", "", "compared"),
        # The paper's tables come from its code, which excludes examples without any accepted permutation.
        _of_paper("p_c_accepted", "P^c as the paper's code has it", "P^c", "beside_papers"),
        _of_paper("p_f", "P^f", "P^f"),
    ),
    scores_type=PermutationAcceptanceScores,
    options_type=PermutedOptions,
    find_contradiction=_find_contradiction,
    sample=500,
    # Precision depends on the number of examples: 500 with 10 permutations have narrower intervals than 240 with the
    # 100 permutations of the paper, from a quarter of the rows (docs/studies/speed.md). A complete set has 100.
    sample_options={"q": 10},
    corpus_pairs={"permutation": ORIGINAL},
    evaluation_order=8,
    report_order=2,
)
