"""Gates: bounds that a model's numbers must not miss, for a build that shall fail when a model stops reading.

A gate is held against an interval, never against a point: a value is what a sample came to, and half of all samples of
a model that is exactly at the bound come out below it. So there are three verdicts:

    fails            the whole 95 % interval is on the wrong side of the bound: the model misses it
    passes           the whole interval is on the right side: the model reaches it
    cannot be told   the bound is inside, or the sources are too few to say

By default the last lets a build go on: what it was stopped by would be chance. A strict gate stops it, since not being
seen to miss a bound is not reaching it: with few examples nothing ever is.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE
from unbag.challenge_sets.results import Result
from unbag.evaluation import comparison, quantities
from unbag.evaluation.systems import one_asked
from unbag.evaluation.verdict import LEAST_SOURCES, MARGIN, TOO_FEW_ROWS
from unbag.scoring.bootstrap import Estimate, to_json

Side = Literal["min", "max"]
Outcome = Literal["passes", "fails", "cannot be told"]

_BOUND: Final = re.compile(r"(?P<set>[^:=]+):(?P<number>[^:=]+)=(?P<bound>[^:=]+)")

_DECIMALS: Final = 9  # of an interval's end when it is compared with a bound


class GateBound(NamedTuple):
    """A bound on one number of a set: the least it may be, or the most."""

    set: str
    number: str
    side: Side
    value: float

    def __str__(self) -> str:
        return f"{'≥' if self.side == 'min' else '≤'} {self.value:g}"


@dataclass(frozen=True)
class GateResult:
    """A gate with what it was held against.

    Attributes:
        set: the challenge set.
        data: what it is made from.
        label: of the number, for people.
        number: its name.
        asked: the bound in words, or `no worse`.
        estimate: the number, or the difference to that run's, with its interval.
        outcome: the verdict.
        why: why it cannot be told, where the interval does not show that; else nothing.
        against: whose number it is held against; nothing for a bound.
        p: of there being no difference to that, corrected for all such gates (Holm); None without a test.
    """

    set: str
    data: str
    number: str
    label: str
    asked: str
    estimate: Estimate
    outcome: Outcome
    why: str = ""
    against: str = ""
    p: float | None = None

    def stops(self, *, strict: bool) -> bool:
        """Tell whether a build ends here."""
        return self.outcome == "fails" or (strict and self.outcome != "passes")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return to_json(vars(self))  # type: ignore[no-any-return]


def bound(text: str, side: Side) -> GateBound:
    """Return a bound from text: `permuted:score=.2`.

    Raises:
        ValueError: if it is none, there is no such set or number, the number cannot have such a value, or the bound is
            on the number's good side, where it would reward what is worse.

    >>> bound("swapped:accuracy_after=.6", "min")
    GateBound(set='swapped', number='accuracy_after', side='min', value=0.6)
    """
    parts = _BOUND.fullmatch(text)
    try:
        value = float(parts["bound"]) if parts else None
    except ValueError:
        value = None
    if parts is None or value is None or not -1e9 < value < 1e9:
        raise ValueError(f"expected SET:SCORE=BOUND, such as permuted:score=.2, found {text!r}")
    set_name, name = parts["set"].strip(), parts["number"].strip()
    known = quantities.quantities(set_name)
    if name not in known:
        alike = get_close_matches(name, known, n=1)
        raise ValueError(
            f"{set_name} has no number {name!r}{f', did you mean {alike[0]}?' if alike else ';'} it has "
            f"{', '.join(known)}"
        )
    least, most = known[name].limits
    if not least <= value <= most:
        between = f"from {least:g} to {most:g}" if math.isfinite(least) else f"of at most {most:g}"
        as_share = f"; of percent, write {value / 100:g}" if 1 < value <= 100 and most == 1 else ""
        raise ValueError(f"--{side} {text}: expected a bound {between}, got {value:g}{as_share}")
    if known[name].higher_is_better != (side == "min"):
        right = "--min" if side == "max" else "--max"
        better = "higher" if side == "max" else "lower"
        raise ValueError(f"of {set_name}:{name} {better} is better: bound it by {right}, found --{side}")
    return GateBound(set_name, name, side, value)


def of_one_model(results: Sequence[Result], where: str) -> list[Result]:
    """Return the results of the one model that is no baseline, or else of the one baseline.

    Raises:
        ValueError: if there are several.
    """
    return one_asked([(name, of_one[0], of_one) for name, of_one in quantities.by_model(results).items()], where)


def check(results: Sequence[Result], bounds: Iterable[GateBound]) -> list[GateResult]:
    """Hold one model's results against bounds: each bound against every result of its set.

    Raises:
        ValueError: if a set of a bound has no result, so that nothing would be checked.
    """
    checked = []
    for each in bounds:
        found = [result for result in results if result.set == each.set]
        if not found:
            there = ", ".join(dict.fromkeys(result.set for result in results)) or "none"
            raise ValueError(f"expected results of {each.set}, which a gate is on, found results of {there}")
        checked += [_against_bound(result, each) for result in found]
    return checked


def no_worse_than(run: Path, before: Path, names: Sequence[str] = ()) -> tuple[list[GateResult], list[str]]:
    """Hold a run against an earlier one, on the same examples, by the paired tests of `comparison`.

    It fails where a number is significantly worse (Holm's correction over these gates), and passes where the interval
    of the difference shows that it is at most `evaluation.verdict.MARGIN` worse. Of fewer than
    `evaluation.verdict.LEAST_SOURCES` source examples it cannot be told.

    Args:
        run: a folder with results, or the file.
        before: that of the model to be no worse than.
        names: numbers by their paths in results.json, as in `evaluation.comparison.compare`; by default the score
            skill score of every set, since the papers' numbers alone would call a guess better.

    Returns:
        A gate for each number of each set, and what could not be compared.

    Raises:
        ValueError: if the runs cannot be compared, or a number has no direction.
    """
    compared = comparison.compare_two(before, run, quantities=names or (SCORE.path,))
    checked = []
    for each in compared.differences:
        if each.higher_is_better is None:
            raise ValueError(f"expected a number whose direction is known, found {each.quantity} of {each.set}")
        worse = compared.better(each) == each.first
        gap = each.difference
        # How much worse it may be for all that the interval tells; none where there is no interval.
        most = None if gap.low is None or gap.high is None else -gap.low if each.higher_is_better else gap.high
        why = ""
        if each.p_holm is None:
            why = "not tested, since a run kept no examples"
        elif each.test != "seeds" and each.sources < LEAST_SOURCES:
            why = _too_few(each.sources)
        outcome: Outcome = "cannot be told"
        if not why and (worse or (most is not None and round(most, _DECIMALS) <= MARGIN)):
            outcome = "fails" if worse else "passes"
        name = quantities.SCORE_NAME if each.quantity == SCORE.path else each.quantity
        about = (each.set, each.data, name, _label(each.set, each.quantity), "no worse")
        checked.append(GateResult(*about, gap, outcome, why, compared.name(each.first), each.p_holm))
    asked = {run.result.set for system in compared.systems for run in system.runs}
    unchecked = asked - {each.set for each in checked} - compared.untold  # of these the notes tell
    return checked, [
        *compared.notes,
        *(f"{challenge_sets.display_name(name)}: not checked, no such number in both" for name in sorted(unchecked)),
    ]


def _too_few(sources: int) -> str:
    return f"{sources} source examples are too few"


def _label(set_name: str, path: str) -> str:
    described = challenge_sets.find(set_name)
    known = {} if described is None else described.quantities_by_path()
    return known[path].label if path in known else path


def _against_bound(result: Result, asked: GateBound) -> GateResult:
    data = result.corpus
    number = quantities.of_result(result).get(asked.number)
    label = quantities.quantities(asked.set)[asked.number].label
    if number is None or number.estimate.value is None:
        nothing = Estimate(None, None, None, 0) if number is None else number.estimate
        why = TOO_FEW_ROWS if asked.number == quantities.SCORE_NAME else "no example to tell it by"
        return GateResult(asked.set, data, asked.number, label, str(asked), nothing, "cannot be told", why)
    estimate, why = number.estimate, ""
    outcome: Outcome = "cannot be told"
    if estimate.low is None or estimate.high is None:
        why = "no interval"
    elif number.sources < LEAST_SOURCES:
        why = _too_few(number.sources)
    else:
        at_least = asked.side == "min"
        # Rounded, so that the last digits of a sum, which processors differ in, decide nothing.
        low, high = (round(end, _DECIMALS) for end in (estimate.low, estimate.high))
        missed = high < asked.value if at_least else low > asked.value
        reached = low >= asked.value if at_least else high <= asked.value
        outcome = "fails" if missed else "passes" if reached else "cannot be told"
    return GateResult(asked.set, data, asked.number, label, str(asked), estimate, outcome, why)
