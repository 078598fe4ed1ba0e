"""English finite verbs and the subject they agree with; the case of personal pronouns."""

from enum import Enum
from typing import Final


class Person(Enum):
    """What a finite verb can tell of its subject."""

    I = "I"  # noqa: E741 - the word it stands for
    SINGULAR = "singular"
    PLURAL = "plural"  # and `you`, whose verbs are the plural's


_BE_PRESENT: Final = {Person.I: "am", Person.SINGULAR: "is", Person.PLURAL: "are"}
_BE_PAST: Final = {Person.I: "was", Person.SINGULAR: "was", Person.PLURAL: "were"}
_BE: Final = {form: forms for forms in (_BE_PRESENT, _BE_PAST) for form in forms.values()}
_IRREGULAR: Final = {"have": "has", "do": "does", "go": "goes"}  # and their kin, `undergo`; `be` has forms of its own
_BASES: Final = {singular: base for base, singular in _IRREGULAR.items()}

OBJECTIVE: Final = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "it": "it", "you": "you"}
"""Personal pronouns as subjects, and what they are as objects."""
SUBJECTIVE: Final = {objective: subjective for subjective, objective in OBJECTIVE.items()}


def agreeing(verb: str, lemma: str, person: Person, *, third: bool) -> str:
    """Return a finite verb as it agrees with another subject.

    Args:
        verb: the verb as it stands: a form of the present, or was or were. Other forms of the past agree with any
            subject and are none of this function's.
        lemma: its dictionary form, which tells `lies` (lie) from `flies` (fly); one that cannot be it is not believed.
        person: of the new subject.
        third: whether it is a third person singular as it stands, which tells `passes` from `pass`.

    >>> agreeing("is", "be", Person.PLURAL, third=True), agreeing("carry", "carry", Person.SINGULAR, third=False)
    ('are', 'carries')
    >>> [agreeing(verb, lemma, Person.PLURAL, third=True) for verb, lemma in (("lies", "lie"), ("rides", "rid"))]
    ['lie', 'ride']
    """
    lower = verb.lower()
    if lower in _BE:
        form = _BE[lower][person]
    else:
        candidates = (lemma, *_bases(lower)) if third else ()
        base = next((base for base in candidates if third_singular(base) == lower), lower)
        form = third_singular(base) if person is Person.SINGULAR else base
    return form.capitalize() if verb[:1].isupper() else form


def _bases(singular: str) -> list[str]:
    """Return what may be the base form of a third person singular, the likelier first."""
    shorter = [singular[:-1], singular[:-2]]
    if singular.endswith(("sses", "shes", "ches", "xes", "zzes")):
        shorter.reverse()
    return [*_BASES.get(singular, "").split(), singular[:-3] + "y", *shorter]


def third_singular(base: str) -> str:
    """Return the third person singular of the present.

    >>> [third_singular(base) for base in ("pull", "watch", "carry", "play", "go", "have", "fix", "undo")]
    ['pulls', 'watches', 'carries', 'plays', 'goes', 'has', 'fixes', 'undoes']
    """
    if base in _IRREGULAR:
        return _IRREGULAR[base]
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    return base + "s"
