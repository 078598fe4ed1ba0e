"""What a run says of a model: on which sets it does better than counting words, and where that cannot be told."""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import BEYOND_WORDS, LAST
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.multiplicity import holm

Standing = Literal["better", "no better", "worse", "cannot be told"]

LEVEL: Final = 0.05
"""Of the tests of all sets of a run together: the chance of any false alarm."""

MARGIN: Final = 0.1
"""Of the score beyond words: what less than that is worth no mention of, where a whole interval lies below it."""

LEAST_SOURCES: Final = 10
"""Sources below which nothing is said: draws of so few tell neither a difference nor that there is none."""

MARKS: Final[dict[Standing, str]] = {"better": "+", "no better": "=", "worse": "−", "cannot be told": "?"}
"""A character for each, where there is no room for words."""

_NOTHING: Final = Estimate(None, None, None, 0)


class SetVerdict(NamedTuple):
    """How a model stands on one set.

    Attributes:
        result: the set's.
        standing: against the best of guessing, one constant answer, and a lexical model.
        score: beyond words, 0 being these and 1 a perfect reader; without value where the set cannot say.
        p: that the score is 0, corrected for all challenge sets of the run (Holm); None where it was not tested.
        lexical: whether a lexical model was asked on the same rows.
    """

    result: Result
    standing: Standing
    score: Estimate
    p: float | None
    lexical: bool

    @property
    def is_control(self) -> bool:
        """Whether it is the corpus itself, which words can solve in part."""
        described = challenge_sets.find(self.result.set)
        return described is not None and described.is_control


def of_model(results: Sequence[Result]) -> list[SetVerdict]:
    """Return how one model stands on each set, in the order of the results.

    Better and worse are said where a test says so after Holm's correction over the sets; no better where the whole
    95 % interval lies below `MARGIN`; of all else it cannot be told.

    >>> of_model([])
    []
    """
    beyond: list[Any] = [result.scores.get(BEYOND_WORDS) for result in results]
    tested = [number for number, each in enumerate(beyond) if each and each["p"] is not None]
    corrected = dict(zip(tested, holm([beyond[number]["p"] for number in tested]).tolist(), strict=True))
    verdicts = []
    for number, (result, each) in enumerate(zip(results, beyond, strict=True)):
        score: Estimate = each["score"] if each else _NOTHING
        p = corrected.get(number)
        enough = bool(each) and each["sources"] >= LEAST_SOURCES
        standing = _standing(score, p) if enough else "cannot be told"
        verdicts.append(SetVerdict(result, standing, score, p, bool(each) and each["words"] is not None))
    return verdicts


def sentence(verdicts: Sequence[SetVerdict]) -> str:
    """Return the verdict on a model in a sentence: over its challenge sets, the corpus itself left aside."""
    asked = sorted((each for each in verdicts if not each.is_control), key=lambda each: _place(each.result))
    if not asked:
        return "none; no challenge set was asked."
    by_standing: dict[Standing, list[str]] = {standing: [] for standing in MARKS}
    for each in asked:
        by_standing[each.standing].append(_title(each.result))
    better = by_standing.pop("better")
    of = f"{len(better)} of {len(asked)} challenge sets" if len(asked) > 1 else "its one challenge set"
    if better:
        head = f"better than guessing and counting words on {of}" + (f" ({_listed(better)})" if len(asked) > 1 else "")
    else:
        head = "on no set is it seen to do better than guessing and counting words"
    rest = [f"{standing} on {_listed(names)}" for standing, names in by_standing.items() if names and standing in _DONE]
    if unknown := by_standing["cannot be told"]:
        rest.append(f"of {_listed(unknown)} it cannot be told")
    return "; ".join([head, *rest]) + "."


_DONE: Final = ("no better", "worse")


def _standing(score: Estimate, p: float | None) -> Standing:
    if score.value is None or score.high is None or p is None:
        return "cannot be told"
    if p <= LEVEL and score.value:
        return "better" if score.value > 0 else "worse"
    return "no better" if score.high <= MARGIN else "cannot be told"


def _place(result: Result) -> int:
    described = challenge_sets.find(result.set)
    return described.report_order if described else LAST


def _title(result: Result) -> str:
    described = challenge_sets.find(result.set)
    return described.short if described else result.set


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
