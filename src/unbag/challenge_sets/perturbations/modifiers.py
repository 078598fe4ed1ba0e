"""SICCK operator: adds quantifiers, negations, adjectives and adverbs to the subject, verb or object of a pair.

Akoju et al. (2023), section 3.2 and Table 2, add each modifier to the premise, to the hypothesis, and to both. Table 2
does not list the parts that take each modifier, so the parts follow the authors' file. Subjects take all quantifiers
and all adjectives except "abnormal" and "elegant". Objects take "every", "some", "exactly one", "all but one", "no" and
all adjectives.

The operator corrects the authors' English where it is ungrammatical (the authors' form in brackets): "at least one man"
(at least man), "every one of the men" (everyone of man), "a green man" (green man), "an abnormal fence" (a an abnormal
fence), "is not full" (not is full).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple

from unbag.baselines.natlog.labeller import compute_relation, format_proof
from unbag.baselines.natlog.parsing import ALWAYS, NEVER, NOT, Clause, NounPhrase, Quantifier, Shape
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.natlog.seeds import INFLECTED, NUMBERS, SeedConstituents, SeedNoun, clauses, lexicon, parts
from unbag.data.text.grammar import adapt_article, pluralize_phrase
from unbag.data.text.parses import GrammaticalPerson, conjugate_verb

SUBJECT: Final = "subject"
VERB: Final = "verb"
OBJECT: Final = "object"
NONE: Final = "none"
PARTS: Final = (SUBJECT, VERB, OBJECT)
COMBINATIONS: Final = (f"{SUBJECT}+{OBJECT}", f"{VERB}+{OBJECT}")
"""Combinations of parts that section 3.2 names. The authors' file contains none of them."""

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
    """Modifier from Table 2.

    Attributes:
        name: Modifier as written.
        type: One of `TYPES`.
        parts: Parts that take the modifier, of `PARTS`.
        quantifier: Quantifier that the modifier adds to a noun phrase; None for other modifiers.
    """

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
"""Modifiers of Table 2, which lists "never" as a universal."""
BY_NAME: Final = {modifier.name: modifier for modifier in MODIFIERS}

Change = tuple[tuple[str, Modifier], ...]
"""The modified parts of a sentence, each with its modifier."""


class ModifiedPair(NamedTuple):
    """Pair generated from a seed.

    Attributes:
        premise: Premise.
        hypothesis: Hypothesis.
        modifier: Name of the modifier; two different names are joined by `+`; `none` for the seed itself.
        type: Type of the modifier, one of `TYPES`, or `none`.
        position: Modified sentences, one of `POSITIONS`, or `none`.
        part: Modified part, one of `PARTS` or `COMBINATIONS`, or `none`.
        relation: Relation of the premise to the hypothesis, from the natural-logic labeller.
    """

    premise: str
    hypothesis: str
    modifier: str
    type: str
    position: str
    part: str
    relation: Relation


@dataclass(frozen=True)
class SeedPair:
    """A pair that can be modified (`natlog/seeds.py`).

    Attributes:
        premise: Parts of the premise.
        hypothesis: Parts of the hypothesis.
        shape: Logical form of the pair, with the lexical relations that follow from its label.
    """

    premise: SeedConstituents
    hypothesis: SeedConstituents
    shape: Shape

    @classmethod
    def from_pair(
        cls,
        premise: str,
        hypothesis: str,
        label: str,
        *,
        tags: Sequence[Sequence[tuple[str, str]]] | None = None,
    ) -> "SeedPair | None":
        """Parse a pair as a seed.

        Args:
            premise: Premise.
            hypothesis: Hypothesis.
            label: Label of the pair, one of `labels.LABELS`.
            tags: Tokens with universal tags of both sentences. Required for sentences whose verb has no auxiliary.

        Returns:
            The seed, or None if a sentence has an unsupported form or the label does not follow from the sentences.
        """
        first, second = (
            parts(sentence, None if tags is None else tags[side]) for side, sentence in enumerate((premise, hypothesis))
        )
        if first is None or second is None:
            return None
        words = lexicon(first, second, label)
        return None if words is None else cls(first, second, Shape(*clauses(first, second), words))


def modify_seed(seed: SeedPair, *, combinations: bool = False) -> Iterator[ModifiedPair]:
    """Generate the unmodified seed, then the seed with every modifier in every suitable position and part.

    Args:
        seed: Seed to modify.
        combinations: Whether two parts are modified together too: subject and object with the same modifier, verb and
            object with modifiers of one type (default: False).
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


def format_pair_proof(seed: SeedPair, pair: ModifiedPair) -> str:
    """Format the proof of the relation of a pair generated from a seed (`labeller.format_proof`).

    >>> seed = SeedPair.from_pair("a poodle is chasing a cat", "a dog is chasing a cat", "entailment")
    >>> pair = next(pair for pair in modify_seed(seed) if pair.modifier == "no")
    >>> print(format_pair_proof(seed, pair).splitlines()[2])
    premise true, hypothesis false: s1 is poodle and dog, o1 is cat; now nothing is done. Not equivalence or \
forward_entailment.
    """
    placed = pair.part.split("+") if pair.part != NONE else []
    names = pair.modifier.split("+")
    change = tuple((part, BY_NAME[name]) for part, name in zip(placed, names * len(placed), strict=False))
    premise, hypothesis = seed.premise, seed.hypothesis
    others = (hypothesis.subject, hypothesis.object)
    subject, object_ = reversed(others) if seed.shape.lexicon.exchanged else others
    return format_proof(
        build_modified_shape(seed.shape, *split_change(change, pair.position)),
        (premise.subject.words, subject.words if subject else ""),
        (premise.verb, hypothesis.verb),
        (premise.object.words if premise.object else "", object_.words if object_ else ""),
    )


def split_change(change: Change, position: str) -> tuple[Change, Change]:
    """Split a change into the changes of the premise and of the hypothesis."""
    return (change if position in (PREMISE, BOTH) else (), change if position in (HYPOTHESIS, BOTH) else ())


def _pair(seed: SeedPair, change: Change, position: str) -> ModifiedPair:
    first, second = split_change(change, position)
    names = dict.fromkeys(modifier.name for _, modifier in change)
    return ModifiedPair(
        premise=build_modified_sentence(seed.premise, first),
        hypothesis=build_modified_sentence(seed.hypothesis, second),
        modifier="+".join(names) or NONE,
        type=change[0][1].type if change else NONE,
        position=position,
        part="+".join(part for part, _ in change) or NONE,
        relation=compute_relation(build_modified_shape(seed.shape, first, second)),
    )


def build_modified_shape(shape: Shape, premise: Change, hypothesis: Change) -> Shape:
    """Build the logical form of a seed's pair with modified sentences."""
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


def _takes(parts: SeedConstituents, part: str, modifier: Modifier) -> bool:
    """Check whether a modification of a sentence is grammatical."""
    if part == VERB:
        # "isn't not" and "isn't never" are ungrammatical.
        return not (parts.negated and modifier.name in (NOT, NEVER))
    noun = parts.subject if part == SUBJECT else parts.object
    if noun is None:
        return False
    # "exactly one" and similar modifiers need a singular or a number. The parts of a sentence contain no singular form
    # of a plural noun.
    counted = not noun.plural or noun.determiner in NUMBERS
    return counted or modifier.name not in ("at least", "exactly one", "all but one")


def build_modified_sentence(parts: SeedConstituents, change: Change = ()) -> str:
    """Build a sentence from its parts, with modifiers.

    Args:
        parts: Parts of the sentence.
        change: Modified parts with their modifiers (default: none).

    >>> from unbag.baselines.natlog.seeds import parts
    >>> dogs = parts("two dogs are playing by an old tree")
    >>> build_modified_sentence(dogs, (("subject", BY_NAME["every one of"]),))
    'every one of the two dogs is playing by an old tree'
    >>> build_modified_sentence(dogs, (("verb", BY_NAME["never"]), ("object", BY_NAME["green"])))
    'two dogs are never playing by a green old tree'
    """
    by_part = dict(change)
    words = [_noun(parts.subject, by_part.get(SUBJECT))]
    singular = parts.subject.plural and SUBJECT in by_part and by_part[SUBJECT].name == "every one of"
    words += _verb(parts, by_part.get(VERB), singular=singular)
    if parts.object is not None:
        words.append(_noun(parts.object, by_part.get(OBJECT)))
    return " ".join(words)


def _noun(noun: SeedNoun, modifier: Modifier | None) -> str:
    if modifier is None:
        return " ".join(filter(None, [noun.determiner, noun.words]))
    if modifier.quantifier is None:
        return " ".join(filter(None, [adapt_article(noun.determiner, modifier.name), modifier.name, noun.words]))
    # A quantifier replaces an article, but a number stays: "every one of the two dogs".
    number = noun.determiner if noun.determiner in NUMBERS else ""
    head = " ".join(filter(None, [number, noun.words]))
    match modifier.name:
        case "every one of":
            return f"every one of the {head if noun.plural else pluralize_phrase(noun.words)}"
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


def _verb(parts: SeedConstituents, modifier: Modifier | None, *, singular: bool) -> list[str]:
    added = [] if modifier is None else [modifier.name]
    person = GrammaticalPerson.PLURAL if parts.subject.plural and not singular else GrammaticalPerson.SINGULAR
    if parts.auxiliary:
        auxiliary = _conjugate_verb(parts.auxiliary, parts, person) if parts.auxiliary in INFLECTED else parts.auxiliary
        negated = _contracted(auxiliary) if parts.negation == "n't" else f"{auxiliary} {parts.negation}".rstrip()
        return [negated, *added, parts.verb]
    verb, _, rest = parts.verb.partition(" ")
    if added == [NOT]:
        does = "do" if person is GrammaticalPerson.PLURAL else "does"
        return list(filter(None, [does, NOT, _conjugate_verb(verb, parts, GrammaticalPerson.PLURAL), rest]))
    return list(filter(None, [*added, _conjugate_verb(verb, parts, person), rest]))


def _contracted(auxiliary: str) -> str:
    return {"can": "can't", "will": "won't"}.get(auxiliary, f"{auxiliary}n't")


def _conjugate_verb(verb: str, parts: SeedConstituents, person: GrammaticalPerson) -> str:
    # Among verbs in -ies, only the shortest have a base form in -ie: dies, lies, ties.
    lemma = verb[:-1] if verb.endswith("ies") and len(verb) == len("dies") else ""
    return conjugate_verb(verb, lemma, person, third=not parts.subject.plural)
