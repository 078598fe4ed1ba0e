"""What a run says of a model: on which sets it does better than what needs no word order, and where it cannot say."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import BEYOND_WORDS, LAST
from unbag.challenge_sets.results import Result
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.significance import t_quantile
from unbag.scoring.skill import LEAST_ROWS

Standing = Literal["better", "no better", "worse", "inconclusive"]

LEVEL: Final = 0.05
"""The chance that any interval of a model's challenge sets misses its true value."""

MARGIN: Final = 0.1
"""Of the score beyond words: what less than that is worth no mention of, where a whole interval lies below it."""

POWER: Final = 0.9
"""The chance with which a set shows the least score that it is said to be able to show, were its error known.

The error is estimated too: of simulated models of that score two in three are shown where there are 15 sources, four in
five where there are 2,000 (`benchmarks/verdict_power.py`)."""

LEAST_SOURCES: Final = 10
"""Sources below which nothing is said: draws of so few tell neither a difference nor that there is none."""

MARKS: Final[dict[Standing, str]] = {"better": "+", "no better": "=", "worse": "−", "inconclusive": "?"}
"""A character for each, where there is no room for words."""

TOO_FEW_ROWS: Final = f"fewer than two labels have the {LEAST_ROWS} rows each that it takes"
"""Why a set has no score beyond words."""

_NOTHING: Final = Estimate(None, None, None, 0)


class SetVerdict(NamedTuple):
    """How a model stands on one set.

    Attributes:
        result: the set's.
        standing: against the baseline: the best of chance, a constant prediction, the lexical baseline, and the model's
            own answers to shuffled words.
        score: beyond words, 0 being the baseline and 1 a perfect reader, with the interval that decides the standing:
            all intervals of the model's challenge sets hold together with a probability of 95 %. Without value where
            the set cannot say.
        model: the model on the scale of which 0 is chance and 1 a perfect reader; None without a score.
        lexical: the lexical baseline there; None where it was not asked.
        shuffled: the model's answers to shuffled words there; None where these were not asked.
        least: the least score that a set of this size shows with a probability of `POWER`; None without an interval.
    """

    result: Result
    standing: Standing
    score: Estimate
    model: float | None
    lexical: float | None
    shuffled: float | None
    least: float | None

    def __str__(self) -> str:
        """Return the standing as a phrase."""
        return self.standing if self.standing == "inconclusive" else f"{self.standing} than the baseline"

    @property
    def is_control(self) -> bool:
        """Whether it is the corpus itself, which words can solve in part."""
        return _is_control(self.result)

    @property
    def needs_control(self) -> bool:
        """Whether the set's rows are in order, so that the model can be asked them with shuffled words."""
        described = challenge_sets.find(self.result.set)
        return described is None or described.has_shuffled_control


def of_model(results: Sequence[Result]) -> list[SetVerdict]:
    """Return how one model stands on each set, in the order of the results.

    The intervals of its challenge sets are widened so that all of them hold together (Bonferroni); that of the corpus
    itself stands alone. Better and worse are said where the interval lies above or below 0, no better where it lies
    below `MARGIN`; all else, and what rests on fewer than `LEAST_SOURCES` sources, is inconclusive.

    >>> of_model([])
    []
    """
    beyond: list[Any] = [result.scores.get(BEYOND_WORDS) for result in results]
    together = sum(
        bool(each) and each["score"].low is not None and not _is_control(result)
        for result, each in zip(results, beyond, strict=True)
    )
    verdicts = []
    for result, each in zip(results, beyond, strict=True):
        if not each:
            verdicts.append(SetVerdict(result, "inconclusive", _NOTHING, None, None, None, None))
            continue
        sources = each["sources"]
        score, least = _simultaneous(each["score"], sources, 1 if _is_control(result) else together)
        standing = _standing(score) if sources >= LEAST_SOURCES else "inconclusive"
        verdicts.append(SetVerdict(result, standing, score, each["model"], each["words"], each.get("shuffled"), least))
    return verdicts


def _simultaneous(score: Estimate, sources: int, together: int) -> tuple[Estimate, float | None]:
    """Widen a 95 % interval to hold with others, and compute the least score that a set of this size shows.

    Both sides are stretched by the ratio of the quantiles of Student's t, so that an interval of draws keeps its
    lopsidedness, and that any number of sets can be told without more draws.
    """
    if score.value is None or score.low is None or score.high is None or sources < 2:
        return score, None
    alone, wider = (t_quantile(1 - LEVEL / 2 / n, sources - 1) for n in (1, max(together, 1)))
    below, above = ((end - score.value) * wider / alone for end in (score.low, score.high))
    error = (score.high - score.low) / 2 / alone
    least = error * (wider + t_quantile(POWER, sources - 1))
    return Estimate(score.value, score.value + below, min(1.0, score.value + above), score.n).of(score.sample), least


def sentence(verdicts: Sequence[SetVerdict]) -> str:
    """Return the verdict on a model in some sentences: over its challenge sets, the corpus itself left aside.

    The last says of which sets, and of the corpus, pairs were truncated, and what share of each.
    """
    asked = sorted((each for each in verdicts if not each.is_control), key=lambda each: _place(each.result))
    cut = [each for each in sorted(verdicts, key=lambda each: _place(each.result)) if each.result.truncated_share]
    listed = ", ".join(f"{_title(each.result, verdicts)} ({percentage(each.result.truncated_share)})" for each in cut)
    truncated = [f"Truncated pairs: {listed}."] if cut else []
    if not asked:
        return " ".join(["No challenge set was evaluated.", *truncated])
    better, same, worse, unknown = ([each for each in asked if each.standing == standing] for standing in MARKS)
    sets = f"{len(asked)} challenge set{'' if len(asked) == 1 else 's'}"
    named = f" ({_listed(better, asked)})" if better else ""
    parts = [f"Better than the baseline on {len(better)} of {sets}{named}."]
    parts += [f"No better: {_listed(same, asked)}."] if same else []
    parts += [f"Worse: {_listed(worse, asked)}."] if worse else []
    parts += [f"Inconclusive: {_listed(unknown, asked, least=True)}."] if unknown else []
    return " ".join(parts + truncated)


def percentage(share: float) -> str:
    """Return a share above 0 in per cent, never as none or all where it is neither.

    >>> [percentage(share) for share in (1.0, 0.5, 0.0001, 0.9999)]
    ['100 %', '50.0 %', 'under 0.1 %', 'over 99.9 %']
    """
    if share == 1:
        return "100 %"
    return "under 0.1 %" if share < 0.001 else "over 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"


def scale(verdicts: Sequence[SetVerdict]) -> str:
    """Return what the ends of the scale are."""
    scored = [each for each in verdicts if each.score.value is not None]
    parts = ["chance", "a constant prediction"]
    lexical = {each.lexical is not None for each in scored}
    shuffled = {each.shuffled is not None for each in scored if each.needs_control}
    for asked, name in ((lexical, "the lexical baseline"), (shuffled, "the model's own answers to shuffled words")):
        if True in asked:
            parts.append(name if len(asked) == 1 else f"{name} (where asked)")
    several = sum(not each.is_control for each in scored) > 1
    together = " The intervals of the challenge sets hold together (95 %)." if several else ""
    return f"0 is the best of {', '.join(parts[:-1])} and {parts[-1]}; 1 is a perfect reader.{together}"


def _standing(score: Estimate) -> Standing:
    if score.value is None or score.low is None or score.high is None:
        return "inconclusive"
    if score.low > 0 or score.high < 0:
        return "better" if score.value > 0 else "worse"
    return "no better" if score.high <= MARGIN else "inconclusive"


def _is_control(result: Result) -> bool:
    described = challenge_sets.find(result.set)
    return described is not None and described.is_control


def _place(result: Result) -> int:
    described = challenge_sets.find(result.set)
    return described.report_order if described else LAST


def _listed(some: Sequence[SetVerdict], asked: Sequence[SetVerdict], *, least: bool = False) -> str:
    """Return the titles of some sets; with `least`, the least score that each can show in brackets."""
    return ", ".join(_title(each.result, asked) + (f" ({_ability(each)})" if least else "") for each in some)


def _ability(verdict: SetVerdict) -> str:
    """Return what a set can show of this model."""
    if verdict.score.value is None or verdict.least is None:
        return "too few rows"
    shown = math.ceil(verdict.least * 100) / 100
    return f"can show {shown:.2f} or more" if shown < 1 else "too few sources"


def _title(result: Result, asked: Sequence[SetVerdict]) -> str:
    """Return what a set is called, with its corpus where it was made from several."""
    title = challenge_sets.display_name(result.set)
    several = len({each.result.corpus for each in asked if each.result.set == result.set}) > 1
    return f"{title} of {result.corpus}" if several else title
