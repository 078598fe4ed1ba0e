"""The seven relations of natural logic, and their algebra.

MacCartney & Manning (2009), "An extended model of natural logic", section 2; as in Table 3 of Akoju et al. (2023).
Two sets X and Y cut a universe into four parts: what is in both, in X only, in Y only, in neither. Which of the parts
are empty is the relation. The seven are those of sets that are neither empty nor the whole universe.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cache
from itertools import product
from typing import Final

from unbag.data.labels import CONTRADICTION, ENTAILMENT, FORWARD_ENTAILMENT, NEUTRAL, REVERSE_ENTAILMENT

Part = tuple[bool, bool]
"""A part of the universe: whether it is in X, and whether it is in Y."""

PARTS: Final[tuple[Part, ...]] = ((True, True), (True, False), (False, True), (False, False))


class Relation(Enum):
    """A relation of a set X to a set Y, or of what a premise says to what a hypothesis says."""

    EQUIVALENCE = "equivalence"
    """X = Y."""
    FORWARD_ENTAILMENT = FORWARD_ENTAILMENT
    """X ⊂ Y: crow, bird."""
    REVERSE_ENTAILMENT = REVERSE_ENTAILMENT
    """X ⊃ Y: Asian, Thai."""
    NEGATION = "negation"
    """X ∩ Y = ∅ and X ∪ Y = U: able, unable."""
    ALTERNATION = "alternation"
    """X ∩ Y = ∅ and X ∪ Y ≠ U: cat, dog."""
    COVER = "cover"
    """X ∩ Y ≠ ∅ and X ∪ Y = U: animal, non-ape."""
    INDEPENDENCE = "independence"
    """All other cases: hungry, hippo."""

    @property
    def empty(self) -> frozenset[Part]:
        """The parts of the universe that are empty."""
        return _EMPTY[self]

    @property
    def converse(self) -> "Relation":
        """The relation of Y to X.

        >>> Relation.FORWARD_ENTAILMENT.converse.value
        'reverse_entailment'
        """
        return _BY_EMPTY[frozenset((y, x) for x, y in self.empty)]

    @property
    def negated(self) -> "Relation":
        """The relation of not-X to not-Y.

        >>> Relation.FORWARD_ENTAILMENT.negated.value, Relation.ALTERNATION.negated.value
        ('reverse_entailment', 'cover')
        """
        return _BY_EMPTY[frozenset((not x, not y) for x, y in self.empty)]


_EMPTY: Final = {
    Relation.EQUIVALENCE: frozenset({(True, False), (False, True)}),
    Relation.FORWARD_ENTAILMENT: frozenset({(True, False)}),
    Relation.REVERSE_ENTAILMENT: frozenset({(False, True)}),
    Relation.NEGATION: frozenset({(True, True), (False, False)}),
    Relation.ALTERNATION: frozenset({(True, True)}),
    Relation.COVER: frozenset({(False, False)}),
    Relation.INDEPENDENCE: frozenset[Part](),
}
_BY_EMPTY: Final = {empty: relation for relation, empty in _EMPTY.items()}


def relation_of(parts: Iterable[Part]) -> Relation | None:
    """Return the relation of two sets from the parts of the universe that are not empty.

    Returns:
        None if X or Y is empty or the whole universe: more than one relation would hold.

    >>> relation_of([(True, True), (False, True), (False, False)]).value
    'forward_entailment'
    """
    return _BY_EMPTY.get(frozenset(PARTS) - frozenset(parts))


@cache
def join(first: Relation, second: Relation) -> frozenset[Relation]:
    """Return every relation that X can have to Z where X has the first to Y and Y the second to Z.

    MacCartney & Manning 2009, section 2.3, where more than one is possible for 17 of the 49 joins. Found by going
    through all universes: X, Y and Z cut one into eight parts, each of which is empty or not.

    >>> sorted(relation.value for relation in join(Relation.FORWARD_ENTAILMENT, Relation.ALTERNATION))
    ['alternation']
    """
    parts = list(product((False, True), repeat=3))
    relations = set()
    for present in product((False, True), repeat=len(parts)):
        universe = [part for part, there in zip(parts, present, strict=True) if there]
        if (
            relation_of((x, y) for x, y, _ in universe) is first
            and relation_of((y, z) for _, y, z in universe) is second
            and (outer := relation_of((x, z) for x, _, z in universe))
        ):
            relations.add(outer)
    return frozenset(relations)


class Context(Enum):
    """What a context does to the sets put into it: keeps inclusions, turns them round, or neither."""

    UPWARD = "upward"
    DOWNWARD = "downward"
    NON_MONOTONE = "non_monotone"


def project(relation: Relation, context: Context) -> Relation:
    """Return what is sure of f(X) and f(Y), where X has a relation to Y and f is a context of that kind.

    Inclusion is weak here: that f(X) ⊂ f(Y) is all that an upward context promises, and f(X) = f(Y) is not ruled out.
    Negation, alternation and cover are lost: monotone contexts differ in what becomes of them (MacCartney & Manning
    2009, section 4.2), and independence says nothing. `Relation.negated` is the projection through "not", which is
    downward and loses nothing.
    """
    if relation is Relation.EQUIVALENCE:
        return relation
    if relation in (Relation.FORWARD_ENTAILMENT, Relation.REVERSE_ENTAILMENT):
        if context is Context.UPWARD:
            return relation
        if context is Context.DOWNWARD:
            return relation.converse
    return Relation.INDEPENDENCE


_CONTRADICTIONS: Final = (Relation.NEGATION, Relation.ALTERNATION)
_NEUTRALS: Final = (Relation.COVER, Relation.INDEPENDENCE)


def four_way(relation: Relation) -> str | None:
    """Return which of `labels.FOUR_WAY` a relation is (Akoju et al. 2023, section 4.1, 2); None for equivalence.

    >>> four_way(Relation.ALTERNATION), four_way(Relation.COVER)
    ('contradiction', 'neutral')
    """
    if relation is Relation.EQUIVALENCE:
        return None
    if relation in _CONTRADICTIONS:
        return CONTRADICTION
    return NEUTRAL if relation in _NEUTRALS else relation.value


def three_way(relation: Relation) -> str:
    """Return the label of NLI: whether the hypothesis follows from the premise, is ruled out by it, or neither.

    >>> three_way(Relation.EQUIVALENCE), three_way(Relation.REVERSE_ENTAILMENT)
    ('entailment', 'neutral')
    """
    if relation in (Relation.EQUIVALENCE, Relation.FORWARD_ENTAILMENT):
        return ENTAILMENT
    return CONTRADICTION if relation in _CONTRADICTIONS else NEUTRAL
