"""One number a set: what the profile of a model shows, and whether a bag of words does as well."""

from typing import Final, NamedTuple

from unbag.headlines import Headline as Quoted
from unbag.headlines import headlines
from unbag.papers.counterparts import Published, beside
from unbag.report.html.gathered import Gathered, Group, Scored
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate

BAG_OF_WORDS: Final = "lexical"


class Measure(NamedTuple):
    """A measure that the profile shows of a set.

    Attributes:
        metric: its name in `unbag.headlines`.
        words: set and measure in a few words.
        published: its name for `papers.counterparts`.
    """

    metric: str
    words: str
    published: str


_WHOLE: Final = "accuracy_after_whole"
MEASURES: Final[dict[str, tuple[Measure, ...]]] = {
    "plain": (Measure("accuracy", "Corpus: accuracy", "accuracy"),),
    "permuted": (Measure("p_c", "Permuted: P^c, less is better", "p_c"),),
    "cs_lambda": (Measure("accuracy_cs_0.7", "CS_λ: accuracy at λ = 0.7", "0.7"),),
    "resnli": (Measure("accuracy", "ReSNLI: accuracy", "accuracy"),),
    "swapped": (Measure(_WHOLE, "Swapped: accuracy after, all pairs", "accuracy_after"),),
    "soswap_addamod": (
        Measure("accuracy_soswap", "SOSwap: accuracy", "soswap"),
        Measure("accuracy_addamod", "AddAmod: accuracy", "addamod"),
    ),
    "breaking_nli": (Measure("accuracy", "Breaking NLI: accuracy", "accuracy"),),
    "sicck": (Measure("f1", "SICCK: macro F1", "f1"),),
}
"""The measures that have counterparts in the papers: `headlines.SCORE`, which is higher the better always, has not."""


class Headline(NamedTuple):
    """A measure of a group: each model's value, and the papers' own."""

    group: Group
    words: str
    values: dict[str, Estimate]
    published: list[Published]
    lower_is_better: bool


def profiled(gathered: Gathered) -> list[Headline]:
    """Return the measures of all groups, in their order."""
    found = []
    for group in gathered.groups:
        quoted = {scored.model.name: _quoted(scored.result) for scored in group.scored}
        for measure in MEASURES.get(group.set, ()):
            values = {
                model: by_metric[measure.metric] for model, by_metric in quoted.items() if measure.metric in by_metric
            }
            if values:
                several = sum(each.set == group.set for each in gathered.groups) > 1
                found.append(
                    Headline(
                        group=group,
                        words=f"{measure.words}, {group.title}" if several else measure.words,
                        values={model: one.estimate for model, one in values.items()},
                        published=beside(group.set, measure.published, group.corpus),
                        lower_is_better=not next(iter(values.values())).higher_is_better,
                    )
                )
    return found


def _quoted(result: Result) -> dict[str, Quoted]:
    """Return a result's quoted numbers by metric, those that have a value."""
    found = {one.metric: one for one in headlines(result)}
    if result.set == "swapped":  # over all pairs, as in the paper's Table 1; `headlines` leaves entailments out
        after: Estimate = result.scores["whole"]["accuracy_after"]
        found[_WHOLE] = Quoted(_WHOLE, "accuracy after, all pairs", True, after)
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
