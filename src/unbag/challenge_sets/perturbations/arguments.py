"""Arguments of a parsed sentence (subject, object, number) that can be exchanged with another sentence's arguments.

An argument is a plain noun phrase: determiner or number, adjectives, compound, noun. A claim's argument is replaced as
a whole by another one with the same grammatical number, so that no other word changes. The new claim does not follow
from the evidence of the old one, because the two nouns exclude each other, or the new number is larger. The card of the
recombined set describes the rules.
"""

import re
from collections.abc import Iterator, Sequence, Set
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from unbag.challenge_sets.perturbations.clauses import (
    DETERMINER,
    DISAGREES,
    ExcludedSentence,
    exclude_if,
    find_clause,
    find_finite_verb,
    find_object_span,
    has_number_agreement,
)
from unbag.challenge_sets.perturbations.content_words import NUMBERS, collect_content_stems, expand_stems
from unbag.challenge_sets.perturbations.vocabulary_split import stem_phrase
from unbag.data.text.grammar import (
    ANIMALS,
    ARTICLES,
    BODY_PARTS,
    CLOTHES,
    HAPPENINGS,
    IDIOMS,
    NEGATIONS,
    PEOPLE,
    SPORTS,
    capitalize,
    decapitalize,
    has_matching_determiners,
)
from unbag.data.text.parses import Parse
from unbag.data.text.tokens import tokenize_words


class ArgumentRole(StrEnum):
    """Role of an argument that can be replaced in a claim.

    The order of the members is the order in which a claim's arguments are replaced.
    """

    SUBJECT = "subject"
    OBJECT = "object"
    NUMBER = "number"


GENERIC: Final = frozenset(
    """person people human individual someone somebody anyone anybody everyone everybody one other another group crowd
    couple pair bunch lot number family team band audience adult adolescent teen teenager youth youngster friend member
    participant spectator onlooker bystander passenger pedestrian citizen parent sibling employee worker performer
    athlete player musician artist entertainer professional student fan figure character guest customer patron
    visitor tourist local resident folk twin animal pet creature mammal
    thing something anything everything object item stuff equipment gear material device machine tool instrument
    vehicle toy food meal drink beverage clothes clothing outfit attire uniform apparel garment costume accessory
    structure building area place space ground floor air outside outdoors inside indoors background foreground scene
    view surface side front back top bottom end edge middle center day night time sun sky light weather picture photo
    photograph image camera way direction part piece kind type set row line circle position distance surroundings
    environment location setting spot world city town street road sidewalk pavement water park field grass
    dirt damn""".split()
)
"""Nouns that apply to almost any person, thing or place: a sentence may have the same meaning without the noun."""

_SORTS: Final = (
    frozenset("man guy gentleman dude fellow father dad husband grandfather groom king boyfriend".split()),
    frozenset("woman lady mother mom wife grandmother bride queen girlfriend".split()),
    frozenset({"boy"}),
    frozenset({"girl"}),
    frozenset("child kid toddler baby infant".split()),
)
_EXCLUSIVE: Final = frozenset(map(frozenset, ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3))))
"""Numbers of sorts that exclude each other. A young woman may be called a girl, and a boy is a child."""
_ROLES: Final = frozenset(
    """actor ballerina bicyclist biker boxer bride chef clown coach cook cowboy cyclist dancer diver driver farmer
    firefighter fireman fisherman golfer guard guitarist gymnast hiker jogger judge juggler lawyer mechanic nurse
    officer painter photographer pilot pitcher policeman priest reporter sailor seller server shopper singer
    skateboarder skater skier snowboarder soldier surfer surgeon swimmer teacher vendor waiter waitress welder
    wrestler""".split()
)
_ALIKE: Final = (
    frozenset("bicyclist biker cyclist driver".split()),
    frozenset("chef cook server waiter waitress".split()),
    frozenset("firefighter fireman guard officer policeman soldier".split()),
    frozenset("actor ballerina dancer gymnast singer guitarist clown juggler".split()),
    frozenset("hiker jogger shopper".split()),
    frozenset("seller vendor shopper".split()),
    frozenset("fisherman sailor".split()),
    frozenset("skateboarder skater skier snowboarder surfer swimmer diver".split()),
)
"""Roles that one person may have at the same time."""

PERSON: Final = "person"
ANIMAL: Final = "animal"
VEHICLE: Final = "vehicle"
THING: Final = "thing"
_KINDS: Final = {
    PERSON: PEOPLE.union(_ROLES, *_SORTS),
    ANIMAL: ANIMALS.union(
        """pup pony calf rooster chicken lamb rabbit pig lion tiger bear fish deer seagull pigeon goose swan poodle
        greyhound retriever terrier bulldog""".split()
    ),
    VEHICLE: frozenset(
        """car truck van bus taxi train tractor boat sailboat canoe kayak ship helicopter airplane plane bicycle bike
        motorcycle motorbike scooter wagon cart jeep suv ambulance bulldozer raft""".split()
    ),
    "clothes": CLOTHES.union("sunglasses pajamas sock sandal bandanna bathrobe mask".split()),
    "instrument": frozenset(
        """guitar piano violin cello trumpet saxophone flute clarinet accordion banjo harmonica tuba harp drum keyboard
        fiddle trombone bagpipe horn""".split()
    ),
    "food": frozenset(
        """sandwich cake pizza apple banana bread noodle soup cream burger hamburger hotdog cookie candy fruit vegetable
        watermelon orange lollipop cupcake pie popcorn rice pasta spaghetti bagel""".split()
    ),
    "drink": frozenset("beer coffee wine tea juice milk soda lemonade".split()),
}
_INTERCHANGEABLE: Final = frozenset(
    {("wear", "clothes"), ("play", "instrument"), ("eat", "food"), ("drink", "drink"), ("drive", VEHICLE)}
)
"""Verbs that take any noun of a class as object, so an exchange needs no attestation."""
_SUBJECT_KINDS: Final = (PERSON, ANIMAL)  # what acts: of vehicles, a bicycle drives no more than an airplane
_WORN_BY_MOST: Final = frozenset("shirt pant pants trouser trousers short shorts shoe sock jean jeans clothe".split())
"""Clothes that most people wear, even if no sentence mentions them, unless an adjective specifies them."""
_UNACTED: Final = frozenset("have be see contain hear observe watch".split())
"""Verbs whose object may hold for the subject anyway (a car has wheels), or is itself an agent (watch a ball fly)."""

_BOUND_BEFORE: Final = re.compile(
    r"(?:^| )(?:(?:less|more|fewer|greater|later|earlier|longer|better) than|at (?:the )?(?:least|most|minimum|maximum)"
    r"|(?:minimum|maximum) of|as (?:many|few|much|little) as|up to|over|under|above|below|beyond|within|between|until"
    r"|about|around|nearly|almost|approximately|roughly|some)$"
)
"""What stands before a number that is a bound or an approximation. Some of these words are prepositions too (leaps over
two hurdles); the few such claims are left out with the rest."""
_BOUND_AFTER: Final = re.compile(r"^(?:or (?:more|less|fewer)|and (?:more|up|over)|at (?:least|most)|plus)\b")
_PERIOD_BEFORE: Final = frozenset("coming last next past previous".split())
"""Words before the number of a period. What happens in the last ten years also happens in the last eleven."""
_MORE: Final = frozenset({"another", "others"})
_OF_MANY: Final = frozenset({"several", "some"})
_DETERMINERS: Final = ARTICLES | _OF_MANY | {"the"}
_SUBJECTS: Final = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
_REFERRING: Final = frozenset(
    """he she him her his hers they them their theirs it its himself herself itself themselves each both another other
    others together alone own same who which that different various similar such single only certain more most many
    first second third next last half""".split()
)
_MODIFIERS: Final = ("amod", "compound", "nummod", "nmod")
_AFTER_PHRASE: Final = ("NOUN", "PROPN", "NUM", "PART")  # the noun would not be the phrase's last


class Argument(NamedTuple):
    """An argument of a sentence: a subject, an object or a number."""

    role: ArgumentRole
    text: str  # the phrase as it stands within a sentence; of a number, the numeral
    noun: str  # lemma of its noun; of a number, of the noun that is counted
    verb: str  # lemma of the verb whose object it is; empty for another role
    is_plural: bool
    span: range  # tokens of the phrase


def find_claim_arguments(parse: Parse) -> list[Argument] | str:
    """Find the arguments of a claim that can be replaced, ordered by role, or the reason why there are none."""
    try:
        verb, subject = _find_single_clause(parse)
    except ExcludedSentence as reason:
        return str(reason)
    words = parse.lower_words
    numbers = (each for each in _numbers(parse) if not {*words[: each.span.start][-1:]} & _PERIOD_BEFORE)
    found = (*_subject(parse, subject), *_object(parse, verb), *numbers)
    # Reversed, so that the first argument of each role remains.
    arguments = {each.role: each for each in reversed(found) if not is_generic_noun(each.noun)}
    fit = [
        arguments[role]
        for role in ArgumentRole
        if role in arguments and _is_specific_beside(parse, verb, subject, arguments[role])
    ]
    if arguments:
        return fit or "nothing specific besides subject and verb (sits, is outside, does a trick)"
    return "no argument that is a plain noun phrase with a specific noun"


def iter_replacement_arguments(parse: Parse) -> Iterator[Argument]:
    """Yield the subjects, objects and numbers of a sentence that can replace an argument of a claim."""
    if not has_matching_determiners(parse) or not NEGATIONS.isdisjoint(parse.lower_words):
        return
    for i, dep in enumerate(parse.deps):
        above = parse.heads[i]
        is_caption = dep == "ROOT" and any(parse.deps[j] == "acl" and parse.tags[j] == "VBG" for j in parse.children(i))
        if is_caption or (dep == "nsubj" and parse.pos[above] == "VERB" and parse.deps[above] != "relcl"):
            yield from _plain(parse, ArgumentRole.SUBJECT, i)
        elif dep == "dobj" and _is_thing(parse, above, i):
            yield from _plain(parse, ArgumentRole.OBJECT, i)
    yield from _numbers(parse)


@lru_cache(maxsize=1 << 14)
def is_generic_noun(noun: str) -> bool:
    """Check whether a noun is in `GENERIC`, the list of nouns for almost any person, thing or place."""
    return stem_phrase(noun) in _stems_of(GENERIC)


def is_counted_noun_unique(sentence: str, number: Argument) -> bool:
    """Check whether the noun that a number refers to occurs only once in a sentence.

    Otherwise, the total is unclear: if a sentence mentions "two men" and "a man", there may be three men.

    >>> two = Argument(ArgumentRole.NUMBER, "two", "man", "", True, range(1))
    >>> is_counted_noun_unique("Two men ride.", two), is_counted_noun_unique("Two men ride, and a man walks.", two)
    (True, False)
    """
    tokens = [word.text.lower() for word in tokenize_words(sentence)]
    return _MORE.isdisjoint(tokens) and sum(stem_phrase(token) == stem_phrase(number.noun) for token in tokens) == 1


def is_valid_replacement(old: Argument, new: Argument, verb_object_pairs: Set[tuple[str, str]] = frozenset()) -> bool:
    """Check whether replacing `old` with `new` in a claim yields a claim that does not follow from the evidence.

    An object replaces another object of a verb that takes both according to `verb_object_pairs`, the pairs of the
    corpus, or one of its kind (wears clothes, plays an instrument).

    >>> def subject(noun): return Argument(ArgumentRole.SUBJECT, noun, noun, "", False, range(1))
    >>> is_valid_replacement(subject("man"), subject("girl")), is_valid_replacement(subject("boy"), subject("child"))
    (True, False)
    """
    if old.role is not new.role:
        return False
    if old.role is ArgumentRole.NUMBER:
        return NUMBERS[new.text.lower()] > NUMBERS[old.text.lower()] and old.noun != new.noun
    if old.is_plural != new.is_plural or old.noun == new.noun or is_generic_noun(old.noun) or is_generic_noun(new.noun):
        return False
    kinds = _kind(old.noun), _kind(new.noun)
    if kinds[0] != kinds[1] or (old.role is ArgumentRole.SUBJECT and kinds[0] not in _SUBJECT_KINDS):
        return False
    is_taken = (old.verb, kinds[0]) in _INTERCHANGEABLE or (old.verb, new.noun) in verb_object_pairs
    if old.role is ArgumentRole.OBJECT and not is_taken:
        return False
    if kinds[0] == PERSON:
        return _are_exclusive_people(old.noun, new.noun)
    if old.noun.endswith(new.noun) or new.noun.endswith(old.noun):
        return False  # ball and football
    # A dog and a cat are both animals; that excludes neither.
    stems = stem_phrase(old.noun), stem_phrase(new.noun)
    is_implied = stems[1] in expand_stems(stems[:1]) or stems[0] in expand_stems(stems[1:])
    is_worn = new.noun in _WORN_BY_MOST and len(collect_content_stems(new.text)) < 2
    return not is_worn and not is_implied


def replace_argument(parse: Parse, old: Argument, new: Argument) -> str:
    """Build the sentence in which a new argument replaces an old one."""
    start, stop = old.span.start, old.span.stop
    is_first = start == parse.first_word and not parse.words[start][:1].islower()
    tokens = (*range(start), *range(stop - 1, len(parse.words)))
    return parse.join(tokens, {stop - 1: capitalize(new.text) if is_first else new.text}).rstrip()


_CLAUSES: Final = "several clauses, or no verb with a subject"


def _find_single_clause(parse: Parse) -> tuple[int, int]:
    """Find the verb of a claim of one clause and its subject."""
    lower = parse.lower_words
    is_negated = not NEGATIONS.isdisjoint(lower) or lower[-1:] == ("?",) or "MD" in parse.tags
    exclude_if(is_negated, "a negation, a question or a modal verb")
    exclude_if(not has_matching_determiners(parse), DETERMINER)
    subjects = [i for i, dep in enumerate(parse.deps) if dep in _SUBJECTS]
    exclude_if(len(subjects) != 1, _CLAUSES)
    [subject] = subjects
    verb = parse.heads[subject]
    is_copula = parse.deps[subject] == "expl" or parse.has_child(verb, "attr", "acomp", "oprd")
    exclude_if(is_copula, "a copula, an expletive or an imperative")
    exclude_if(parse.deps[verb] != "ROOT" or parse.pos[verb] not in ("VERB", "AUX"), _CLAUSES)
    exclude_if(parse.has_child(verb, "conj", "ccomp", "advcl"), _CLAUSES)
    finite = find_finite_verb(parse, verb)
    if finite is None:  # forms of the past have no number
        auxiliary = parse.child(verb, "aux", "auxpass")
        agrees = parse.tags[verb if auxiliary is None or auxiliary > verb else auxiliary] == "VBD"
    else:
        agrees = has_number_agreement(parse, finite, subject)
    exclude_if(not agrees, DISAGREES)
    return verb, subject


def _subject(parse: Parse, subject: int) -> Iterator[Argument]:
    """Yield a claim's subject if it is a plain phrase at the start that no other word refers to."""
    if _REFERRING.isdisjoint(parse.lower_words):
        for phrase in _plain(parse, ArgumentRole.SUBJECT, subject):
            if phrase.span.start == parse.first_word and parse.subtree(subject) == [*phrase.span]:
                yield phrase


def _object(parse: Parse, verb: int) -> Iterator[Argument]:
    """Yield a claim's direct object if it is a plain phrase that is acted on."""
    try:
        clause = find_clause(parse)
        span = find_object_span(parse, clause)
    except ExcludedSentence:
        return
    if clause.verb == verb and _is_thing(parse, verb, clause.object):
        yield from (each for each in _plain(parse, ArgumentRole.OBJECT, clause.object) if each.span == span)


def _numbers(parse: Parse) -> Iterator[Argument]:
    """Yield the numbers of a sentence that count a plural noun."""
    for i, word in enumerate(parse.lower_words):
        noun = parse.heads[i]
        if word not in NUMBERS or parse.deps[i] != "nummod" or parse.tags[noun] != "NNS" or i > noun:
            continue
        before, after = " ".join(parse.lower_words[:i]), " ".join(parse.lower_words[noun + 1 :])
        if _BOUND_BEFORE.search(before) or _BOUND_AFTER.search(after):
            continue
        # "two of the men", "two-man", "between two and three" count otherwise.
        is_plain = all(parse.pos[j] in ("ADJ", "NOUN") for j in range(i + 1, noun)) and parse.words[:i][-1:] != ("-",)
        if is_plain and not any(parse.lower_words[j] == "of" for j in parse.children(noun)):
            yield Argument(ArgumentRole.NUMBER, word, parse.lemmas[noun].lower(), "", True, range(i, i + 1))


def _plain(parse: Parse, role: ArgumentRole, head: int) -> Iterator[Argument]:
    """Yield the phrase of a noun if it is plain: determiner or number, adjectives, compound, noun."""
    if parse.tags[head] not in ("NN", "NNS"):
        return
    children = parse.children(head)
    left = [i for i in children if i < head]
    if parse.has_child(head, "conj", "cc", "poss", "appos", "predet", "neg"):
        return
    if role is ArgumentRole.OBJECT and parse.has_child(head, "relcl"):
        return
    if any(parse.lower_words[i] == "of" for i in children if i > head):
        return
    start = min(left, default=head)
    if left != [*range(start, head)] or not all(word.isalpha() for word in parse.words[start : head + 1]):
        return
    is_plural = parse.tags[head] == "NNS"
    if not _modifiers_fit(parse, left, is_plural=is_plural):
        return
    if head + 1 < len(parse.words) and (parse.pos[head + 1] in _AFTER_PHRASE or parse.words[head + 1] in "-/'"):
        return
    first = parse.words[start]
    text = parse.text(start, head + 1)
    if start == parse.first_word:
        text = decapitalize(first, parse.pos[start]) + text[len(first) :]
    verb = parse.lemmas[parse.heads[head]].lower() if role is ArgumentRole.OBJECT else ""
    yield Argument(role, text, parse.lemmas[head].lower(), verb, is_plural, range(start, head + 1))


def _modifiers_fit(parse: Parse, modifiers: Sequence[int], *, is_plural: bool) -> bool:
    """Check whether the words before a noun are at most one determiner or number, then adjectives and compounds."""
    deps = [parse.deps[i] for i in modifiers]
    lower = [parse.lower_words[i] for i in modifiers]
    if any(dep not in (*_MODIFIERS, "det") for dep in deps) or {"det", "nummod"} & set(deps[1:]):
        return False
    if any(parse.pos[i] == "PROPN" for i in modifiers) or not _REFERRING.isdisjoint(lower):
        return False
    if deps[:1] == ["det"]:
        return lower[0] in _DETERMINERS and (is_plural or lower[0] not in _OF_MANY)
    return is_plural  # a noun in the singular lacks its determiner


def _is_thing(parse: Parse, verb: int, head: int) -> bool:
    """Check whether an object is something that is acted on, not an activity, a part of the body or an idiom."""
    noun, action = parse.lemmas[head].lower(), parse.lemmas[verb].lower()
    unfit = BODY_PARTS | HAPPENINGS | SPORTS
    return noun not in unfit and action not in _UNACTED and noun not in IDIOMS.get(action, ())


def _is_specific_beside(parse: Parse, verb: int, subject: int, argument: Argument) -> bool:
    """Check whether a claim has a specific noun beside the argument that is exchanged, its subject and its verb."""
    vague = _stems_of(GENERIC | BODY_PARTS | HAPPENINGS)
    nouns = [
        i
        for i, pos in enumerate(parse.pos)
        if pos in ("NOUN", "PROPN") and parse.deps[i] not in ("compound", "nmod") and i not in argument.span
    ]
    if argument.role is not ArgumentRole.OBJECT:
        nouns = [i for i in nouns if i != subject]
    return any(stem_phrase(parse.lemmas[i]) not in vague for i in nouns)


@cache
def _stems_of(nouns: frozenset[str]) -> frozenset[str]:
    return frozenset(map(stem_phrase, nouns))


@lru_cache(maxsize=1 << 12)
def _kind(noun: str) -> str:
    """Find the kind of a noun; nouns of different kinds seldom fit the same place."""
    known = next((kind for kind, nouns in _KINDS.items() if stem_phrase(noun) in _stems_of(nouns)), None)
    return known or (PERSON if noun.endswith(("man", "woman")) else THING)


def _are_exclusive_people(old: str, new: str) -> bool:
    sorts = [number for noun in (old, new) for number, sort in enumerate(_SORTS) if noun in sort]
    if len(sorts) == 2:
        return frozenset(sorts) in _EXCLUSIVE
    return {old, new} <= _ROLES and not any({old, new} <= alike for alike in _ALIKE)
