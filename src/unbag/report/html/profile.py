"""The profile of models: the numbers of all sets that have counterparts in the papers, and whether words do as well."""

from typing import Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import Quantity
from unbag.papers.counterparts import Published, published
from unbag.report.html.gathered import Gathered
from unbag.scoring.bootstrap import Estimate
from unbag.views.group import Group, Scored

BAG_OF_WORDS: Final = "lexical"


class Profiled(NamedTuple):
    """A number of a group: each model's value, and the papers' own.

    Attributes:
        group: of a set and its data.
        label: set and number, for people.
        quantity: the number.
        values: by model.
        published: its counterparts.
    """

    group: Group
    label: str
    quantity: Quantity
    values: dict[str, Estimate]
    published: list[Published]


def profiled(gathered: Gathered) -> list[Profiled]:
    """Return the numbers of all groups, in their order."""
    rows = []
    for group in gathered.groups:
        described = challenge_sets.get(group.set)
        several = sum(each.set == group.set for each in gathered.groups) > 1
        for quantity in described.of_role("profile"):
            estimates = {scored.model.name: quantity.value(scored.result.scores) for scored in group.scored}
            values = {
                name: estimate
                for name, estimate in estimates.items()
                if estimate is not None and estimate.value is not None
            }
            if values:
                direction = "" if quantity.higher_is_better else ", less is better"
                label = f"{described.short}: {quantity.label}{direction}" + (f", {group.title}" if several else "")
                theirs = published(quantity.counterparts, group.corpus)
                rows.append(Profiled(group, label, quantity, values, theirs))
    return rows


def beats_words(rows: list[Profiled], model: str) -> tuple[int, int] | None:
    """Return on how many of how many numbers a model's interval lies on the better side of the bag of words' interval.

    None where the report has no bag of words, or the model is it.
    """
    both = [each for each in rows if model in each.values and BAG_OF_WORDS in each.values]
    if not both or model == BAG_OF_WORDS:
        return None
    return sum(_better(each.values[model], each.values[BAG_OF_WORDS], each.quantity) for each in both), len(both)


def _better(ours: Estimate, theirs: Estimate, quantity: Quantity) -> bool:
    one, other = (ours, theirs) if quantity.higher_is_better else (theirs, ours)
    return one.low is not None and other.high is not None and one.low > other.high


def subject_of(group: Group, gathered: Gathered) -> Scored:
    """Return the result of the report's subject in a group, or of the first model there."""
    own = [scored for scored in group.scored if scored.model == gathered.subject]
    return (own or list(group.scored))[0]
