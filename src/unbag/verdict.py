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
        p: that the score is 0, corrected for all sets of the model (Holm); None where it was not tested.
        lexical: whether a lexical model was asked on the same rows.
        floor: what 0 is on these rows, `words` or `guess`; "" without a score.
    """

    result: Result
    standing: Standing
    score: Estimate
    p: float | None
    lexical: bool
    floor: str

    def __str__(self) -> str:
        """Say the standing: who does better beats all that was asked, who does not stands beside the best of that.

        A guess among more labels than a set has is worse than one answer for all, but never worse than a guess.
        """
        if self.standing == "cannot be told":
            return self.standing
        words = self.lexical if self.standing == "better" else self.floor == "words"
        guess = "one answer" if self.standing == "worse" else "a guess"
        return f"{self.standing} than {'words' if words else guess}"

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
        lexical = bool(each) and each["words"] is not None
        verdicts.append(SetVerdict(result, standing, score, p, lexical, each["floor"] if each else ""))
    return verdicts


def sentence(verdicts: Sequence[SetVerdict]) -> str:
    """Return the verdict on a model in a sentence: over its challenge sets, the corpus itself left aside."""
    asked = sorted((each for each in verdicts if not each.is_control), key=lambda each: _place(each.result))
    if not asked:
        return "no challenge set was asked."
    better, same, worse, unknown = (
        [_title(each.result, asked) for each in asked if each.standing == standing] for standing in MARKS
    )
    than = _than(asked)
    if not better:
        parts = [f"on no set is it seen to do better than {than}"]
    elif len(asked) == 1:
        parts = [f"better than {than} on its one challenge set"]
    else:
        parts = [f"better than {than} on {len(better)} of {len(asked)} challenge sets ({_listed(better)})"]
    parts += [f"no better on {_listed(same)}"] if same else []
    parts += [f"worse than {_floor(asked)} on {_listed(worse)}"] if worse else []
    parts += [f"of {_listed(unknown)} it cannot be told"] if unknown else []
    return "; ".join(parts) + "."


def scale(verdicts: Sequence[SetVerdict]) -> str:
    """Return what the ends of the scale are."""
    ends = {
        True: "the best of a guess, one answer for all, and a lexical model's answers",
        None: "the best of a guess, one answer for all, and a lexical model's answers where one was asked",
        False: "the better of a guess and one answer for all",
    }
    return f"0 is {ends[_lexical(verdicts)]}; 1 a perfect reader."


def _than(asked: Sequence[SetVerdict]) -> str:
    """Return what the sets are held against: who was not asked was not beaten."""
    against = {
        True: "guessing and counting words",
        None: "guessing (and counting words, where a lexical model was asked)",
        False: "guessing",
    }
    return against[_lexical(asked)]


def _floor(asked: Sequence[SetVerdict]) -> str:
    """Return what whoever is worse is worse than."""
    if _lexical(asked) is False:
        return "one answer for all"
    return "the better of one answer for all and counting words"


def _lexical(verdicts: Sequence[SetVerdict]) -> bool | None:
    """Return whether a lexical model was asked on all sets that have a score; None if on some."""
    asked = {each.lexical for each in verdicts if each.score.value is not None}
    return asked.pop() if len(asked) == 1 else None if asked else False


def _standing(score: Estimate, p: float | None) -> Standing:
    if score.value is None or score.high is None or p is None:
        return "cannot be told"
    if p <= LEVEL and score.value:
        return "better" if score.value > 0 else "worse"
    return "no better" if score.high <= MARGIN else "cannot be told"


def _place(result: Result) -> int:
    described = challenge_sets.find(result.set)
    return described.report_order if described else LAST


def _title(result: Result, asked: Sequence[SetVerdict]) -> str:
    """Return what a set is called, with its corpus where it was made from several."""
    described = challenge_sets.find(result.set)
    title = described.short if described else result.set
    several = len({each.result.corpus for each in asked if each.result.set == result.set}) > 1
    return f"{title} of {result.corpus}" if several else title


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
