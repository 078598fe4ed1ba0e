"""One number a set: what the profile of a model shows, and whether a bag of words does as well."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from unbag.papers.beside import Published, beside
from unbag.report.html.gathered import Gathered, Group, Scored
from unbag.scoring.bootstrap import Estimate

BAG_OF_WORDS: Final = "lexical"


class Measure(NamedTuple):
    """A set's headline measure.

    Attributes:
        words: what it is, in a few words.
        of: takes it from the scores; None where the set was too small for it.
        published: its name for `papers.beside`.
        lower_is_better: as with P^c, which is 1 for a bag of words.
    """

    words: str
    of: Callable[[Any], Estimate | None]
    published: str
    lower_is_better: bool = False


def _at_lambda(scores: Any) -> Estimate | None:
    found: list[Estimate] = [subset["accuracy"] for subset in scores["subsets"] if subset["lambda"] == _LAMBDA]
    return found[0] if found else None


def _of_kind(kind: str) -> Callable[[Any], Estimate | None]:
    return lambda scores: scores["by_subset"][kind]["accuracy"] if kind in scores["by_subset"] else None


_LAMBDA: Final = 0.7  # the λ that the paper settles on
MEASURES: Final[dict[str, tuple[Measure, ...]]] = {
    "plain": (Measure("Corpus: accuracy", lambda scores: scores["accuracy"], "accuracy"),),
    "permuted": (Measure("Permuted: P^c, less is better", lambda s: s["p_c"], "p_c", lower_is_better=True),),
    "cs_lambda": (Measure(f"CS_λ: accuracy at λ = {_LAMBDA}", _at_lambda, f"{_LAMBDA:g}"),),
    "resnli": (Measure("ReSNLI: accuracy", lambda scores: scores["accuracy"], "accuracy"),),
    "swapped": (Measure("Swapped: accuracy after", lambda s: s["whole"]["accuracy_after"], "accuracy_after"),),
    "soswap_addamod": (
        Measure("SOSwap: accuracy", _of_kind("soswap"), "soswap"),
        Measure("AddAmod: accuracy", _of_kind("addamod"), "addamod"),
    ),
    "breaking_nli": (Measure("Breaking NLI: accuracy", lambda scores: scores["accuracy"], "accuracy"),),
    "sicck": (Measure("SICCK: macro F1", lambda scores: scores["f1"], "f1"),),
}


class Headline(NamedTuple):
    """A measure of a group: each model's value, and the papers' own."""

    group: Group
    words: str
    values: dict[str, Estimate]
    published: list[Published]
    lower_is_better: bool


def headlines(gathered: Gathered) -> list[Headline]:
    """Return the headline measures of all groups, in their order."""
    found = []
    for group in gathered.groups:
        for measure in MEASURES.get(group.set, ()):
            values = {scored.model.name: measure.of(scored.result.scores) for scored in group.scored}
            known = {name: value for name, value in values.items() if value is not None and value.value is not None}
            if known:
                several = sum(each.set == group.set for each in gathered.groups) > 1
                words = f"{measure.words}, {group.title}" if several else measure.words
                published = beside(group.set, measure.published, group.corpus)
                found.append(Headline(group, words, known, published, measure.lower_is_better))
    return found


def beats_words(found: list[Headline], model: str) -> tuple[int, int] | None:
    """Return on how many of how many measures a model's interval lies on the better side of the bag of words' interval.

    None where the report has no bag of words, or the model is it.
    """
    both = [each for each in found if model in each.values and BAG_OF_WORDS in each.values]
    if not both or model == BAG_OF_WORDS:
        return None
    return sum(_better(each.values[model], each.values[BAG_OF_WORDS], each.lower_is_better) for each in both), len(both)


def _better(ours: Estimate, theirs: Estimate, lower_is_better: bool) -> bool:
    one, other = (theirs, ours) if lower_is_better else (ours, theirs)
    return one.low is not None and other.high is not None and one.low > other.high


def subject_of(group: Group, gathered: Gathered) -> Scored:
    """Return the result of the report's subject in a group, or of the first model there."""
    own = [scored for scored in group.scored if scored.model == gathered.subject]
    return (own or list(group.scored))[0]
