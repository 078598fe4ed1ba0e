r"""Determiners as conditions on two counts, and what follows from them: how two are related, what each does inside.

A determiner Q puts a set X (its noun phrase, the restrictor) to a set Y (the rest of its clause, the scope). Whether
Q(X, Y) holds is a matter of n = |X ∩ Y| and m = |X \ Y|, for all that are read here:

| kind | holds if | |
|---|---|---|
| some | n ≥ k | a, the, some, two, at least two, several (k = 2), many (k = 3), names and bare plurals |
| exactly | n = k | about, around and between too: no more is known of them than that they are not monotone |
| every | m = 0 and n ≥ 1 | all, each, every; what is spoken of is not empty (Akoju et al. 2023, section 3.3, 1) |
| not every | m > 0 | |
| all but | m = k | |
| at most | n ≤ k | no (k = 0), few (k = 2), fewer than three |
| most | n > m | more than half of |
| half | n = m | |
| share | n ≥ k % of n + m | |
| other | not known | every other, both, enough: no relation is promised |

Neither the relations of determiners to each other nor what becomes of a relation inside one ("projectivity", MacCartney
& Manning 2009, section 4.2) is written down: both are found by going through small worlds, as many things in each part
as a determiner can tell apart. Vague words (many, several, few) have a number that stands for whatever number is meant;
`vague` keeps it from being compared with another number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from itertools import product
from typing import Final

from unbag.natlog.relations import Context, Part, Relation, project, relation_of


class Kind(Enum):
    """The conditions of the table above."""

    SOME = "some"
    EXACTLY = "exactly"
    EVERY = "every"
    NOT_EVERY = "not every"
    ALL_BUT = "all but"
    AT_MOST = "at most"
    MOST = "most"
    HALF = "half"
    SHARE = "share"
    OTHER = "other"


@dataclass(frozen=True)
class Determiner:
    """A determiner as it is read.

    Attributes:
        kind: its condition.
        number: k.
        vague: whether k stands for a number that the words leave open.
        named: whether it names individuals that the other sentence may name too: a, the, two, no determiner at all.
            Captions speak of what there is, and two sentences contradict each other only about one event (de Marneffe,
            Rafferty & Manning 2008, section 3).
        free: whether it is `any`, which is some under a negation and every elsewhere.
        words: the words of one of which no condition is known; empty for all others.
    """

    kind: Kind
    number: int = 1
    vague: bool = False
    named: bool = False
    free: bool = False
    words: str = ""

    def holds(self, n: int, m: int) -> bool:
        """Tell whether it holds of n members that do and m that do not."""
        k = self.number
        match self.kind:
            case Kind.SOME:
                return n >= k
            case Kind.EXACTLY:
                return n == k
            case Kind.EVERY:
                return m == 0 and n >= 1
            case Kind.NOT_EVERY:
                return m > 0
            case Kind.ALL_BUT:
                return m == k
            case Kind.AT_MOST:
                return n <= k
            case Kind.MOST:
                return n > m
            case Kind.HALF:
                return n == m
            case Kind.SHARE:
                return 100 * n >= k * (n + m)
            case Kind.OTHER:
                raise ValueError(f"expected a determiner with a condition, got {self.words!r}")

    @property
    def is_existential(self) -> bool:
        """Whether it holds only where there are members that do: then "he sang in Q cities" says that he sang."""
        return self.kind is not Kind.OTHER and not any(self.holds(0, m) for m in range(1, self.number + 2))


A: Final = Determiner(Kind.SOME, named=True)
NO: Final = Determiner(Kind.AT_MOST, 0)
EVERY: Final = Determiner(Kind.EVERY)
ANY: Final = Determiner(Kind.EVERY, free=True)
FEW: Final = Determiner(Kind.AT_MOST, 2, vague=True)

Projection = Callable[[Relation], Relation]
"""From the relation of what is put into a context to the one that is sure of what comes out."""

_MOST_TOLD_APART: Final = 3
_HALF: Final = 50
"""The share that stands for all: small worlds have no member too few or too many for a smaller or a larger one."""


def between(first: Determiner, second: Determiner) -> Relation | None:
    """Return the relation of Q(X, Y) to R(X, Y); None where it is not known, such as for a vague number.

    >>> between(EVERY, A).value, between(NO, A).value, between(EVERY, NO).value
    ('forward_entailment', 'negation', 'alternation')
    """
    if first == second:
        return Relation.EQUIVALENCE
    if Kind.OTHER in (first.kind, second.kind):
        return None
    if first.vague != second.vague and _counts(first) and _counts(second):
        return None
    most = max(first.number, second.number) + 2
    worlds = [(n, m) for n, m in product(range(most + 1), repeat=2) if n + m]
    return relation_of((first.holds(n, m), second.holds(n, m)) for n, m in worlds) or Relation.INDEPENDENCE


def _counts(determiner: Determiner) -> bool:
    """Tell whether a number is part of what it says: not so of a, every and no."""
    plain = {Kind.SOME: 1, Kind.AT_MOST: 0}
    return determiner.kind not in (Kind.EVERY, Kind.NOT_EVERY, Kind.MOST, Kind.HALF, Kind.SHARE) and (
        determiner.number != plain.get(determiner.kind)
    )


def restrictor(determiner: Determiner) -> Projection:
    """Return what becomes of a relation of X to X': that of Q(X, Y) to Q(X', Y).

    >>> restrictor(EVERY)(Relation.FORWARD_ENTAILMENT).value
    'reverse_entailment'
    """
    if determiner.named:
        return _of_one_thing
    inside = _inside(determiner, first=True)
    return partial(_weak, inside, _of_one_thing) if determiner.kind in _WEAK else inside


def scope(determiner: Determiner) -> Projection:
    """Return what becomes of a relation of Y to Y': that of Q(X, Y) to Q(X, Y').

    >>> scope(EVERY)(Relation.NEGATION).value, scope(NO)(Relation.FORWARD_ENTAILMENT).value
    ('alternation', 'reverse_entailment')
    """
    if determiner.named:
        return same
    inside = _inside(determiner, first=False)
    return partial(_weak, inside, same) if determiner.kind in _WEAK else inside


_WEAK: Final = (Kind.SOME, Kind.EXACTLY)
"""Those that speak of the same individuals in both sentences where these exclude each other (`clauses`)."""


def _weak(inside: Projection, named: Projection, relation: Relation) -> Relation:
    return named(relation) if relation in (Relation.NEGATION, Relation.ALTERNATION) else inside(relation)


def same(relation: Relation) -> Relation:
    """Project through what changes nothing, such as what is said of a thing that is named."""
    return relation


def negated(relation: Relation) -> Relation:
    """Project through a negation."""
    return relation.negated


def _of_one_thing(relation: Relation) -> Relation:
    """Project through a noun phrase that names one thing in both sentences: an empty pool is no full pool."""
    if relation is Relation.NEGATION:
        return Relation.ALTERNATION
    return Relation.INDEPENDENCE if relation is Relation.COVER else relation


def _inside(determiner: Determiner, *, first: bool) -> Projection:
    if determiner.kind is Kind.OTHER:
        return partial(project, context=Context.NON_MONOTONE)
    number = _HALF if determiner.kind is Kind.SHARE else min(determiner.number, 1)
    return partial(_projected, determiner.kind, number, first)


@cache
def _projected(kind: Kind, number: int, first: bool, relation: Relation) -> Relation:
    """Return the relation of two sentences that differ in X (first), or in Y.

    X and X' have members, and what is the same in both sentences is neither empty nor all there is, as MacCartney &
    Manning have it.
    """
    determiner = Determiner(kind, number)
    # In X and in X' (or in Y and in Y'), and in what stays as it is.
    parts = [part for part in product((True, False), repeat=3) if part[:2] not in relation.empty]
    outcomes: set[Part] = set()
    for sizes in product(range(_MOST_TOLD_APART), repeat=len(parts)):
        world = [(part, size) for part, size in zip(parts, sizes, strict=True) if size]
        if {part[2] for part, _ in world} != {True, False}:
            continue
        truths = []
        for side in (0, 1):
            counted = {True: 0, False: 0}
            for part, size in world:
                restricted, does = (part[side], part[2]) if first else (part[2], part[side])
                if restricted:
                    counted[does] += size
            truths.append(determiner.holds(counted[True], counted[False]) if any(counted.values()) else None)
        premise, hypothesis = truths
        if premise is not None and hypothesis is not None:
            outcomes.add((premise, hypothesis))
    return relation_of(outcomes) or Relation.INDEPENDENCE
