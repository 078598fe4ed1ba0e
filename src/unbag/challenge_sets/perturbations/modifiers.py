"""SICCK's operator: quantifiers, negations, adjectives and adverbs put to the subject, verb or object of a pair.

Akoju et al. (2023), section 3.2 and Table 2: each modifier is put to the premise, to the hypothesis, and to both. Which
of them goes to which part is as in the authors' file (Table 2 does not say): all quantifiers and the adjectives but
"abnormal" and "elegant" to subjects; "every", "some", "exactly one", "all but one", "no" and all adjectives to objects.

The English is mended where the authors' is broken: "at least one man" (at least man), "every one of the men" (everyone
of man), "a green man" (green man), "an abnormal fence" (a an abnormal fence), "is not full" (not is full).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple

from unbag.baselines.natlog.labeller import prove, relate
from unbag.baselines.natlog.parsing import ALWAYS, NEVER, NOT, Clause, NounPhrase, Quantifier, Shape
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.natlog.seeds import INFLECTED, NUMBERS, Noun, Parts, clauses, lexicon, parts
from unbag.data.text.grammar import adapt_article, plural_phrase
from unbag.data.text.parses import Person, conjugate

SUBJECT: Final = "subject"
VERB: Final = "verb"
OBJECT: Final = "object"
NONE: Final = "none"
PARTS: Final = (SUBJECT, VERB, OBJECT)
COMBINATIONS: Final = (f"{SUBJECT}+{OBJECT}", f"{VERB}+{OBJECT}")
"""The combinations that section 3.2 names; the authors' file has none of them."""

PREMISE: Final = "premise"
HYPOTHESIS: Final = "hypothesis"
BOTH: Final = "both"
POSITIONS: Final = (PREMISE, HYPOTHESIS, BOTH)

UNIVERSAL: Final = "universal"
EXISTENTIAL: Final = "existential"
NEGATION: Final = "negation"
ADJECTIVE_ADVERB: Final = "adjective/adverb"
TYPES: Final = (UNIVERSAL, EXISTENTIAL, NEGATION, ADJECTIVE_ADVERB)


class Modifier(NamedTuple):
    """A row of Table 2: its name, its type, the parts it is put to, and what it does to one of them."""

    name: str
    type: str
    parts: tuple[str, ...]
    quantifier: Quantifier | None = None


MODIFIERS: Final = (
    Modifier("every", UNIVERSAL, (SUBJECT, OBJECT), Quantifier.EVERY),
    Modifier("every one of", UNIVERSAL, (SUBJECT,), Quantifier.EVERY),
    Modifier(ALWAYS, UNIVERSAL, (VERB,)),
    Modifier(NEVER, UNIVERSAL, (VERB,)),
    Modifier("some", EXISTENTIAL, (SUBJECT, OBJECT), Quantifier.SOME),
    Modifier("at least", EXISTENTIAL, (SUBJECT,), Quantifier.AT_LEAST),
    Modifier("exactly one", EXISTENTIAL, (SUBJECT, OBJECT), Quantifier.EXACTLY),
    Modifier("all but one", EXISTENTIAL, (SUBJECT, OBJECT), Quantifier.ALL_BUT),
    Modifier("not every", NEGATION, (SUBJECT,), Quantifier.NOT_EVERY),
    Modifier("no", NEGATION, (SUBJECT, OBJECT), Quantifier.NO),
    Modifier(NOT, NEGATION, (VERB,)),
    *(Modifier(name, ADJECTIVE_ADVERB, (SUBJECT, OBJECT)) for name in ("green", "happy", "sad", "good", "bad")),
    *(Modifier(name, ADJECTIVE_ADVERB, (OBJECT,)) for name in ("abnormal", "elegant")),
    *(Modifier(name, ADJECTIVE_ADVERB, (VERB,)) for name in ("abnormally", "elegantly")),
)
"""Table 2. "Never" is a universal there."""
BY_NAME: Final = {modifier.name: modifier for modifier in MODIFIERS}

Change = tuple[tuple[str, Modifier], ...]
"""The parts of a sentence that are modified, each with its modifier."""


class Modified(NamedTuple):
    """A pair made from a seed.

    Attributes:
        premise: the sentence.
        hypothesis: the sentence.
        modifier: the modifier's name; two, joined by `+`, where two parts are modified; `none` in the seed itself.
        type: one of `TYPES`, or `none`.
        position: one of `POSITIONS`, or `none`.
        part: one of `PARTS` or of `COMBINATIONS`, or `none`.
        relation: of the premise to the hypothesis, by the labeller.
    """

    premise: str
    hypothesis: str
    modifier: str
    type: str
    position: str
    part: str
    relation: Relation


@dataclass(frozen=True)
class Seed:
    """A pair that can be modified: its sentences' parts and what its label tells of its words (`natlog/seeds.py`)."""

    premise: Parts
    hypothesis: Parts
    shape: Shape

    @classmethod
    def of(
        cls,
        premise: str,
        hypothesis: str,
        label: str,
        *,
        tags: Sequence[Sequence[tuple[str, str]]] | None = None,
    ) -> "Seed | None":
        """Return a seed.

        Args:
            premise: a sentence.
            hypothesis: a sentence.
            label: one of `labels.LABELS`.
            tags: the two sentences' tokens with their tags, for sentences whose verb has no auxiliary.

        Returns:
            None if a sentence is of another form, or the label does not come out of what is said.
        """
        first, second = (
            parts(sentence, None if tags is None else tags[side]) for side, sentence in enumerate((premise, hypothesis))
        )
        if first is None or second is None:
            return None
        words = lexicon(first, second, label)
        return None if words is None else cls(first, second, Shape(*clauses(first, second), words))


def modify(seed: Seed, *, combinations: bool = False) -> Iterator[Modified]:
    """Yield a seed as it is, and with every modifier at every position and part that takes it.

    Args:
        seed: the seed.
        combinations: also modify two parts at a time: the same modifier on subject and object, or modifiers of one
            type on verb and object.
    """
    yield _pair(seed, (), NONE)
    changes: list[Change] = [((part, modifier),) for part in PARTS for modifier in MODIFIERS if part in modifier.parts]
    if combinations:
        both = [modifier for modifier in MODIFIERS if {SUBJECT, OBJECT} <= set(modifier.parts)]
        changes += [((SUBJECT, modifier), (OBJECT, modifier)) for modifier in both]
        verbs, objects = ([modifier for modifier in MODIFIERS if part in modifier.parts] for part in (VERB, OBJECT))
        changes += [((VERB, one), (OBJECT, two)) for one, two in product(verbs, objects) if one.type == two.type]
    for change, position in product(changes, POSITIONS):
        sides = [seed.premise] * (position != HYPOTHESIS) + [seed.hypothesis] * (position != PREMISE)
        if all(_takes(side, part, modifier) for side in sides for part, modifier in change):
            yield _pair(seed, change, position)


def proof(seed: Seed, pair: Modified) -> str:
    """Return the proof of the relation of a pair made from a seed, in words (`labeller.prove`).

    >>> seed = Seed.of("a poodle is chasing a cat", "a dog is chasing a cat", "entailment")
    >>> print(proof(seed, next(pair for pair in modify(seed) if pair.modifier == "no")).splitlines()[2])
    premise true, hypothesis false: s1 is poodle and dog, o1 is cat; now nothing is done. Not equivalence or \
forward_entailment.
    """
    placed = pair.part.split("+") if pair.part != NONE else []
    names = pair.modifier.split("+")
    change = tuple((part, BY_NAME[name]) for part, name in zip(placed, names * len(placed), strict=False))
    premise, hypothesis = seed.premise, seed.hypothesis
    others = (hypothesis.subject, hypothesis.object)
    subject, object_ = reversed(others) if seed.shape.lexicon.exchanged else others
    return prove(
        modified_shape(seed.shape, *sides(change, pair.position)),
        (premise.subject.words, subject.words if subject else ""),
        (premise.verb, hypothesis.verb),
        (premise.object.words if premise.object else "", object_.words if object_ else ""),
    )


def sides(change: Change, position: str) -> tuple[Change, Change]:
    """Return what is done to the premise and what to the hypothesis."""
    return (change if position in (PREMISE, BOTH) else (), change if position in (HYPOTHESIS, BOTH) else ())


def _pair(seed: Seed, change: Change, position: str) -> Modified:
    first, second = sides(change, position)
    names = dict.fromkeys(modifier.name for _, modifier in change)
    return Modified(
        premise=sentence(seed.premise, first),
        hypothesis=sentence(seed.hypothesis, second),
        modifier="+".join(names) or NONE,
        type=change[0][1].type if change else NONE,
        position=position,
        part="+".join(part for part, _ in change) or NONE,
        relation=relate(modified_shape(seed.shape, first, second)),
    )


def modified_shape(shape: Shape, premise: Change, hypothesis: Change) -> Shape:
    """Return what natural logic sees of a seed's pair with modifiers put to its sentences."""
    return Shape(_clause(shape.premise, premise), _clause(shape.hypothesis, hypothesis), shape.lexicon)


def _clause(clause: Clause, change: Change) -> Clause:
    for part, modifier in change:
        if part == VERB:
            if modifier.type == ADJECTIVE_ADVERB:
                clause = replace(clause, adverb=modifier.name)
            else:
                clause = replace(clause, modifiers=(*clause.modifiers, modifier.name))
        elif part == SUBJECT:
            clause = replace(clause, subject=_phrase(clause.subject, modifier))
        elif clause.object is not None:
            clause = replace(clause, object=_phrase(clause.object, modifier))
    return clause


def _phrase(phrase: NounPhrase, modifier: Modifier) -> NounPhrase:
    if modifier.quantifier is None:
        return replace(phrase, adjective=modifier.name)
    return replace(phrase, quantifier=modifier.quantifier)


def _takes(parts: Parts, part: str, modifier: Modifier) -> bool:
    """Tell whether a sentence can be modified like that in good English."""
    if part == VERB:
        # "isn't not" and "isn't never" are not.
        return not (parts.negated and modifier.name in (NOT, NEVER))
    noun = parts.subject if part == SUBJECT else parts.object
    if noun is None:
        return False
    # A plural without a number has no singular here that "exactly one" and the like could go with.
    counted = not noun.plural or noun.determiner in NUMBERS
    return counted or modifier.name not in ("at least", "exactly one", "all but one")


def sentence(parts: Parts, change: Change = ()) -> str:
    """Return a sentence, modified.

    >>> from unbag.baselines.natlog.seeds import parts
    >>> dogs = parts("two dogs are playing by an old tree")
    >>> sentence(dogs, (("subject", BY_NAME["every one of"]),))
    'every one of the two dogs is playing by an old tree'
    >>> sentence(dogs, (("verb", BY_NAME["never"]), ("object", BY_NAME["green"])))
    'two dogs are never playing by a green old tree'
    """
    by_part = dict(change)
    words = [_noun(parts.subject, by_part.get(SUBJECT))]
    singular = parts.subject.plural and SUBJECT in by_part and by_part[SUBJECT].name == "every one of"
    words += _verb(parts, by_part.get(VERB), singular=singular)
    if parts.object is not None:
        words.append(_noun(parts.object, by_part.get(OBJECT)))
    return " ".join(words)


def _noun(noun: Noun, modifier: Modifier | None) -> str:
    if modifier is None:
        return " ".join(filter(None, [noun.determiner, noun.words]))
    if modifier.quantifier is None:
        return " ".join(filter(None, [adapt_article(noun.determiner, modifier.name), modifier.name, noun.words]))
    number = noun.determiner if noun.determiner in NUMBERS else ""
    head = " ".join(filter(None, [number, noun.words]))
    match modifier.name:
        case "every one of":
            return f"every one of the {head if noun.plural else plural_phrase(noun.words)}"
        case "at least":
            return f"at least {head if number else f'one {head}'}"
        case "exactly one":
            return f"exactly {head if number else f'one {head}'}"
        case "all but one":
            return f"all but {head if number else f'one {head}'}"
        case "every" | "not every" if noun.plural and not number:
            return modifier.name.replace("every", "all") + f" {head}"
        case name:
            return f"{name} {head}"


def _verb(parts: Parts, modifier: Modifier | None, *, singular: bool) -> list[str]:
    put = [] if modifier is None else [modifier.name]
    person = Person.PLURAL if parts.subject.plural and not singular else Person.SINGULAR
    if parts.auxiliary:
        auxiliary = _agreeing(parts.auxiliary, parts, person) if parts.auxiliary in INFLECTED else parts.auxiliary
        negated = _contracted(auxiliary) if parts.negation == "n't" else f"{auxiliary} {parts.negation}".rstrip()
        return [negated, *put, parts.verb]
    verb, _, rest = parts.verb.partition(" ")
    if put == [NOT]:
        does = "do" if person is Person.PLURAL else "does"
        return list(filter(None, [does, NOT, _agreeing(verb, parts, Person.PLURAL), rest]))
    return list(filter(None, [*put, _agreeing(verb, parts, person), rest]))


def _contracted(auxiliary: str) -> str:
    return {"can": "can't", "will": "won't"}.get(auxiliary, f"{auxiliary}n't")


def _agreeing(verb: str, parts: Parts, person: Person) -> str:
    # Of the verbs in -ies only the shortest have a base form in -ie: dies, lies, ties.
    lemma = verb[:-1] if verb.endswith("ies") and len(verb) == len("dies") else ""
    return conjugate(verb, lemma, person, third=not parts.subject.plural)
