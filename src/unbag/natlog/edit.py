"""An edit: one thing that is done to a premise on the way to a hypothesis."""

from dataclasses import dataclass
from enum import Enum

from unbag.natlog.relations import Relation


class CannotReadError(Exception):
    """A pair has something that is not known here; the message says what."""


class Sort(Enum):
    """What is done."""

    SUBSTITUTE = "substitute"
    DELETE = "delete"
    INSERT = "insert"
    DETERMINER = "change the determiner"
    NEGATION = "change the negation"


@dataclass(frozen=True)
class Edit:
    """A step from the premise to the hypothesis.

    Attributes:
        sort: what is done.
        premise: the words that it takes away, empty if none.
        hypothesis: those that it puts there.
        relation: of the one to the other, where they stand and for themselves.
        source: why.
        left: the premise's token that it is done at; for words that are put in, what they are put to; None if nothing.
        right: the hypothesis's; for words that are taken away, what they were put to.
        leaving: the tokens that it takes away, or puts in: their operators are not around it.
    """

    sort: Sort
    premise: str
    hypothesis: str
    relation: Relation
    source: str
    left: int | None
    right: int | None
    leaving: frozenset[int] = frozenset()
