"""Verdict on a model: on which challenge sets it is better than its baseline, and which are inconclusive."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import LAST, SKILL
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.verifier import summarize_verifier
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.skill import MIN_LABEL_ROWS

Standing = Literal["better", "no better", "worse", "inconclusive"]

LEVEL: Final = 0.05
"""Probability that at least one interval over a model's challenge sets misses the true value."""

MARGIN: Final = 0.1
"""Smallest skill score of practical interest. An interval below it means "no better"."""

POWER: Final = 0.9
"""Statistical power for the smallest detectable score of a set, assuming a known standard error.

In practice, the standard error is estimated. In simulations, models with exactly this score get "better" in two of
three cases with 15 sources, and in four of five cases with 2,000 sources (`benchmarks/verdict_power.py`)."""

LEAST_SOURCES: Final = 10
"""Minimum number of sources for a conclusive set: a bootstrap over fewer sources is not reliable."""

MARKS: Final[dict[Standing, str]] = {"better": "+", "no better": "=", "worse": "−", "inconclusive": "?"}
"""One character per verdict, for narrow tables."""

TOO_FEW_ROWS: Final = f"fewer than two labels have {MIN_LABEL_ROWS} rows or more"
"""Reason for a missing skill score."""

TOO_FEW_SOURCES: Final = f"fewer than {LEAST_SOURCES} sources"
"""Reason for an inconclusive set, regardless of its interval."""

_NOTHING: Final = Estimate(None, None, None, 0)


class SetVerdict(NamedTuple):
    """Verdict on a model for one challenge set."""

    result: Result
    # Relative to the baseline, which is the best of chance, a constant prediction, the lexical baseline, and the
    # model's own predictions for shuffled words.
    standing: Standing
    # Skill score (0 is the baseline, 1 is perfect) with the interval that determines the standing. The 95 % intervals
    # hold jointly for all challenge sets of the model. The value is None if the set has no skill score.
    score: Estimate
    model: float | None  # score of the model on a scale from 0 (chance) to 1 (perfect)
    lexical: float | None  # score of the lexical baseline on this scale; None if it was not evaluated
    shuffled: float | None  # score of the model on shuffled words on this scale; None if it was not evaluated
    # Smallest skill score that a set of this size detects with power `POWER`. None without an interval or with fewer
    # than `LEAST_SOURCES` sources.
    min_detectable: float | None

    def __str__(self) -> str:
        """Format the standing as text, such as "better than the baseline"."""
        return self.standing if self.standing == "inconclusive" else f"{self.standing} than the baseline"

    @property
    def is_control(self) -> bool:
        """Whether the set is the unperturbed corpus instead of a challenge set."""
        return _is_control(self.result)

    @property
    def reason(self) -> str:
        """Reason for an inconclusive verdict on a set with too few source examples. Otherwise, an empty string."""
        has_few_sources = self.score.low is not None and self.min_detectable is None
        return TOO_FEW_SOURCES if self.standing == "inconclusive" and has_few_sources else ""

    @property
    def needs_control(self) -> bool:
        """Whether the baseline of this set includes the model's predictions for shuffled words."""
        described = challenge_sets.find_challenge_set(self.result.set)
        return described is None or described.has_shuffled_control


def compute_model_verdict(results: Sequence[Result]) -> list[SetVerdict]:
    """Compute the verdict on one model for each challenge set, in the order of the results (one per set).

    The intervals of the challenge sets are simultaneous (Bonferroni); that of the corpus itself is not widened. A set
    is "better" or "worse" if its interval lies above or below 0, and "no better" if its interval lies below `MARGIN`.
    All other sets, and sets with fewer than `LEAST_SOURCES` sources, are inconclusive.

    >>> compute_model_verdict([])
    []
    """
    skills: list[Any] = [result.scores.get(SKILL) for result in results]
    together = sum(
        bool(each) and each["score"].low is not None and not _is_control(result)
        for result, each in zip(results, skills, strict=True)
    )
    verdicts = []
    for result, each in zip(results, skills, strict=True):
        if not each:
            verdicts.append(SetVerdict(result, "inconclusive", _NOTHING, None, None, None, None))
            continue
        sources = each["n_sources"]
        score, min_detectable = _simultaneous(each["score"], sources, 1 if _is_control(result) else together)
        standing: Standing = _standing(score)
        if sources < LEAST_SOURCES:
            standing, min_detectable = "inconclusive", None
        verdicts.append(
            SetVerdict(result, standing, score, each["model"], each["baseline"], each.get("shuffled"), min_detectable)
        )
    return verdicts


def _simultaneous(score: Estimate, sources: int, together: int) -> tuple[Estimate, float | None]:
    """Widen a 95 % interval to hold jointly with other intervals, and compute the smallest detectable score."""
    if score.value is None or score.low is None or score.high is None or sources < 2:
        return score, None
    from scipy.special import stdtrit  # slow to import

    alone, wider, power = stdtrit(sources - 1, [1 - LEVEL / 2, 1 - LEVEL / 2 / max(together, 1), POWER]).tolist()
    # Both sides are multiplied by the ratio of the quantiles of Student's t. This preserves the asymmetry of a
    # bootstrap interval, and needs no additional resamples for any number of sets.
    below, above = ((end - score.value) * wider / alone for end in (score.low, score.high))
    # standard error, from half the width of the interval
    error = (score.high - score.low) / 2 / alone
    min_detectable = error * (wider + power)
    return Estimate(score.value, score.value + below, min(1.0, score.value + above), score.n).copy_with_sample(
        score.sample
    ), min_detectable


def format_verdict(verdicts: Sequence[SetVerdict]) -> str:
    """Format the verdicts on a model as text. The unperturbed corpus is not counted as a challenge set.

    The last sentences list the sets with truncated pairs and those with unanswered pairs.
    """
    verdicts = sorted(verdicts, key=lambda each: get_report_position(each.result))
    evaluated = [each for each in verdicts if not each.is_control]
    cut = [each for each in verdicts if each.result.truncated_share]
    listed = ", ".join(
        f"{_title(each.result, verdicts)} ({format_percentage(each.result.truncated_share)})" for each in cut
    )
    truncated = [f"Truncated pairs: {listed}."] if cut else []
    if open_rows := [each for each in verdicts if each.result.unanswered]:
        listed = "; ".join(f"{_title(each.result, verdicts)}, {each.result.unanswered}" for each in open_rows)
        truncated.append(f"Unanswered, counted as wrong: {listed}.")
    if not evaluated:
        verifiers = [sentence for each in verdicts if (sentence := summarize_verifier(each.result))]
        return " ".join([*(verifiers or ["No challenge set was evaluated."]), *truncated])
    better, same, worse, unknown = ([each for each in evaluated if each.standing == standing] for standing in MARKS)
    sets = f"{len(evaluated)} challenge set{'' if len(evaluated) == 1 else 's'}"
    named = f" ({_listed(better, evaluated)})" if better else ""
    parts = [f"Better than the baseline on {len(better)} of {sets}{named}."]
    parts += [f"No better: {_listed(same, evaluated)}."] if same else []
    parts += [f"Worse: {_listed(worse, evaluated)}."] if worse else []
    parts += [f"Inconclusive: {_listed(unknown, evaluated, with_detectable=True)}."] if unknown else []
    return " ".join(parts + truncated)


def format_percentage(fraction: float) -> str:
    """Format a positive fraction as a percentage. Fractions just below 1 are not rounded up to 100 %.

    >>> [format_percentage(share) for share in (1.0, 0.5, 0.0001, 0.9999)]
    ['100 %', '50.0 %', 'under 0.1 %', 'over 99.9 %']
    """
    if fraction == 1:
        return "100 %"
    return "under 0.1 %" if fraction < 0.001 else "over 99.9 %" if fraction > 0.999 else f"{100 * fraction:.1f} %"


def describe_skill_scale(verdicts: Sequence[SetVerdict]) -> str:
    """Describe what skill scores of 0 and 1 mean for the given verdicts."""
    scored = [each for each in verdicts if each.score.value is not None]
    parts = ["chance", "a constant prediction"]
    lexical = {each.lexical is not None for each in scored}
    shuffled = {each.shuffled is not None for each in scored if each.needs_control}
    # A set of Booleans: {True} if all scored sets have the baseline, {True, False} if only some have it.
    for present, name in (
        (lexical, "the lexical baseline"),
        (shuffled, "the model's own predictions for shuffled words"),
    ):
        if True in present:
            parts.append(name if len(present) == 1 else f"{name} (where evaluated)")
    several = sum(not each.is_control for each in scored) > 1
    together = " The 95 % intervals hold jointly for all challenge sets." if several else ""
    return f"0 is the best of {', '.join(parts[:-1])} and {parts[-1]}; 1 is a perfect model.{together}"


def _standing(score: Estimate) -> Standing:
    if score.value is None or score.low is None or score.high is None:
        return "inconclusive"
    if score.low > 0 or score.high < 0:
        return "better" if score.value > 0 else "worse"
    return "no better" if score.high <= MARGIN else "inconclusive"


def _is_control(result: Result) -> bool:
    described = challenge_sets.find_challenge_set(result.set)
    return described is not None and described.is_control


def get_report_position(result: Result) -> tuple[bool, int]:
    """Get the sort key of a result in tables, reports and verdicts. The unperturbed corpus comes last."""
    described = challenge_sets.find_challenge_set(result.set)
    return (described.is_control, described.report_order) if described else (False, LAST)


def _listed(some: Sequence[SetVerdict], every: Sequence[SetVerdict], *, with_detectable: bool = False) -> str:
    """Join the titles of sets. `with_detectable` adds the smallest detectable score of each set in parentheses."""
    return ", ".join(_title(each.result, every) + (f" ({_ability(each)})" if with_detectable else "") for each in some)


def _ability(verdict: SetVerdict) -> str:
    """Describe the smallest score that a set can detect."""
    if verdict.score.value is None:
        return "too few rows"
    # Rounded up, so that the set detects the stated score.
    rounded = 1.0 if verdict.min_detectable is None else math.ceil(verdict.min_detectable * 100) / 100
    return f"detects {rounded:.2f} or more" if rounded < 1 else "too few sources"


def _title(result: Result, every: Sequence[SetVerdict]) -> str:
    """Format the title of a set, including its corpus if the set was evaluated on several corpora."""
    title = challenge_sets.get_display_name(result.set)
    several = len({each.result.corpus for each in every if each.result.set == result.set}) > 1
    return f"{title} of {result.corpus}" if several else title
