r"""What natural logic sees of a sentence: quantifier(subject), modifier(verb), quantifier(object).

The readings, all those of section 3.3 of Akoju et al. (2023) where it gives one, and the standard one elsewhere. X is
the set that the noun phrase names (its adjective taken in), Y what the rest of the clause says of its members; n is
|X ∩ Y|, m is |X \ Y|, and k the number in the phrase (1 in "a man", "every man"; 2 in "two dogs", "every two dogs").

| quantifier | holds if | |
|---|---|---|
| a, some, at least | n ≥ k | "at least" without a number is "at least one" |
| exactly | n = k | |
| every | m = 0 and n ≥ k | section 3.3, 1: the set behind *all* is not empty, |X| > 0 |
| not every | m > 0 or n < k | 3.3, 3: |X| ≥ 0; zero men may be among those who do. The contrary of "every" |
| all but | m = k | 3.3, 2: N - k of N, which may be none |
| no | n < k | |
| the | the one spoken of is an X and does | a definite names one thing in both sentences |

The third sentence of 3.3, 3 ("there exists zero or one or more men that would not be included") taken by the letter
would make "not every man" true of every man as well, and so empty; it is not read like that.

- The subject has scope over the verb's modifiers, those over the object: "a deer isn't jumping over every fence" is
  a deer, not, every fence.
- *not* negates what follows. *always* is at all times, *never* at none, and a plain verb speaks of now, which is one
  of the times.
- Adjectives and adverbs are intersective, those of Table 2 that depend on their noun (good, bad, abnormal, elegant)
  too: "good" picks out the same things wherever it stands in a pair. So "a good old man" is a good man, as upward
  monotone restrictive modifiers are in MacCartney (2009). An adverb picks out some of the doings of a verb, the same
  ones in both sentences.
- Nothing is empty that the seed's nouns name: captions speak of what there is. Modified nouns (green fences) may be.
- **Coreference.** Read by the letter, "a man" is some man, in each sentence another one if need be. Captions of one
  scene speak of the same man: where that is assumed, weak noun phrases (a, some, at least, exactly) name the scene's
  individuals as *the* does, and claim n as well; strong ones (every, not every, all but, no) never name anybody. The
  individual is one that the noun of one of the two sentences fits. It is assumed where the seed is a contradiction,
  which two sentences can only be if they are about the same event (de Marneffe, Rafferty & Manning 2008, section 3).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from unbag.natlog.relations import Relation


class Quantifier(Enum):
    """A determiner as the table above reads it."""

    A = "a"
    THE = "the"
    SOME = "some"
    AT_LEAST = "at least"
    EXACTLY = "exactly"
    EVERY = "every"
    NOT_EVERY = "not every"
    ALL_BUT = "all but"
    NO = "no"


WEAK: Final = (Quantifier.A, Quantifier.SOME, Quantifier.AT_LEAST, Quantifier.EXACTLY)
"""Those whose noun phrases can name individuals."""


@dataclass(frozen=True)
class NounPhrase:
    """A quantifier, its number k, and an adjective that was put to the seed's noun."""

    quantifier: Quantifier = Quantifier.A
    number: int = 1
    adjective: str | None = None

    def names(self, coreferent: bool) -> bool:
        """Tell whether the phrase names individuals that the other sentence may name too."""
        return self.quantifier is Quantifier.THE or (coreferent and self.quantifier in WEAK)

    def holds(self, n: int, m: int) -> bool:
        """Tell whether its quantifier holds of n members that do and m that do not."""
        k = self.number
        match self.quantifier:
            case Quantifier.EXACTLY:
                return n == k
            case Quantifier.EVERY:
                return m == 0 and n >= k
            case Quantifier.NOT_EVERY:
                return m > 0 or n < k
            case Quantifier.ALL_BUT:
                return m == k
            case Quantifier.NO:
                return n < k
            case _:
                return n >= k


NOT: Final = "not"
ALWAYS: Final = "always"
NEVER: Final = "never"


@dataclass(frozen=True)
class Clause:
    """A sentence as natural logic sees it.

    Attributes:
        subject: the subject's phrase.
        object: the object's, or None for a verb without one.
        modifiers: `NOT`, `ALWAYS` and `NEVER` on the verb, the outermost first.
        adverb: one that says how.
    """

    subject: NounPhrase = field(default_factory=NounPhrase)
    object: NounPhrase | None = None
    modifiers: tuple[str, ...] = ()
    adverb: str | None = None

    def __post_init__(self) -> None:
        if unread := [modifier for modifier in self.modifiers[:-1] if modifier != NOT]:
            raise ValueError(f"expected {NOT!r} before the last of the modifiers, found {unread} in {self.modifiers}")

    def modified(self, now_and_then: Sequence[bool]) -> bool:
        """Tell whether the modified verb holds of one subject, from whether the plain one does: now, then elsewhen."""
        value: bool | None = None
        for modifier in reversed(self.modifiers):
            if modifier == ALWAYS:
                value = all(now_and_then)
            elif modifier == NEVER:
                value = not any(now_and_then)
            else:
                value = not (now_and_then[0] if value is None else value)
        return now_and_then[0] if value is None else value


@dataclass(frozen=True)
class Lexicon:
    """What is known of the words of a pair before any modifier: how premise and hypothesis are related part by part.

    Attributes:
        subject: the relation of the premise's subject noun to the hypothesis's.
        verb: the relation of the premise's verb to the hypothesis's. Alternation is of doers (nobody sits and runs at
            a time), every other relation of doings (who hits something hits it or misses it).
        object: that of the object nouns.
        coreferent: whether weak noun phrases name the same individuals in both sentences.
        exchanged: the hypothesis has the premise's subject as object and its object as subject ("the turtle is
            following the fish", "the fish is following the turtle"). `subject` is then the relation of the premise's
            subject to the hypothesis's object; `verb` that of x doing it to y to y doing it to x.
    """

    subject: Relation = Relation.EQUIVALENCE
    verb: Relation = Relation.EQUIVALENCE
    object: Relation = Relation.EQUIVALENCE
    coreferent: bool = False
    exchanged: bool = False


@dataclass(frozen=True)
class Shape:
    """All that decides the relation between two sentences: what is left of them without their words."""

    premise: Clause
    hypothesis: Clause
    lexicon: Lexicon
