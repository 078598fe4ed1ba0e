"""SICCK: pairs with inserted quantifiers, negations and adjectives."""

from typing import Final

from unbag.challenge_sets.base import ChallengeSet, MetricDefinition, Role, build_metric_roles
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.score_validation import find_missing_value
from unbag.data.corpora import OFFICIAL
from unbag.scoring.natural_logic import NaturalLogicScores

_PAPER: Final = "Akoju et al. 2023"


def _of_paper(name: str, label: str, theirs: str, *more_roles: Role) -> MetricDefinition:
    """Build one of the four measures of the paper's Table 8: macro averages over the four labels, and accuracy."""
    counterpart = PublishedColumn(_PAPER, "8", theirs, OFFICIAL, same_rows=True)
    return MetricDefinition(
        name, label, name, roles=build_metric_roles("quoted", "harness", *more_roles), published_columns=(counterpart,)
    )


def _find_contradiction(scores: NaturalLogicScores) -> str:
    """Describe a score that contradicts the others. Return "" if there is none."""
    missing = [name for name in ("modifier_type", "part", "modifier") if name not in scores["by"]]
    return f"by, without {', '.join(missing)}" if missing else find_missing_value("by", scores["by"])


SET: Final = ChallengeSet(
    name="sicck",
    title="SICCK",
    question="Does the model interpret words such as every, not and at most?",
    paper="Akoju et al. 2023, https://aclanthology.org/2023.nlrse-1.12",
    shuffled=(
        "The four-way label of the pair in the original order. Shuffling keeps modifiers such as not and every, "
        "but hides what they modify. The control measures how much their presence reveals."
    ),
    metrics=("natural_logic",),
    package=__name__,
    builder="unbag.scripts.dataset_scripts.sicck.sicck:Sicck",
    columns=("pair", "reverse", "four_way"),
    optional_columns=("source_id", "modifier_type", "part", "modifier", "position", "relation"),
    metric_definitions=(
        _of_paper("f1", "macro F1", "F1", "compared", "beside_papers"),
        _of_paper("precision", "macro precision", "precision"),
        _of_paper("recall", "macro recall", "recall"),
        _of_paper("accuracy", "accuracy", "accuracy", "compared"),
    ),
    scores_type=NaturalLogicScores,
    find_contradiction=_find_contradiction,
    sample=100,  # seeds; the authors' pairs have fifteen, so that all of them are used
    evaluation_order=4,
    report_order=8,
)
