"""AddAmod: an adjective on one noun of a premise, and on another (Nie et al. 2019, section 3.1).

"A man walks a dog." becomes the premise "A young man walks a dog." and the hypothesis "A man walks a young dog.":
neither follows from the other, and neither rules the other out, so the label is neutral.

The adjective is one that the corpus has as a modifier of both nouns (`AdjectiveCounts`), directly before them. It moves
freely. That is, it tells a property: it is of a class that English orders (size, age, colour;
`unbag.data.text.grammar`), or the corpus has it as a predicate too ("is homeless"), which relational adjectives
hardly are (a live band, military men). And with neither noun it is a name or a collocation ("American flag", "martial
arts"), which is what occurs `COLLOCATION` times as often as the two would by chance (pointwise mutual information,
Church and Hanks 1990). Adjectives of origin go with people and animals only, for of things they tell a kind (Chinese
food).

It goes before the noun, or before the noun's compounds ("a red fire truck"), and after determiners and numbers; a or an
follows its sound. Beside adjectives that are already there it goes where English has its class (size before age before
colour), and not at all if a class is unknown, or one that the noun has already: a big dog is not also a small one. Nor
does it go where the noun says it already (a young child) or denies it (an old boy), where the sentence denies it (a
blond man with black hair), or where no scene has it though parsers find it: people are not blue, and only people are
elderly.

Which nouns: heads of two noun phrases with different lemmas, common, with a determiner, possessor or number, or plural.
Left out are nouns that come twice, nouns that name no thing (front, pair, game, dancing), plurals without a singular
(jeans), nouns whose adjective could belong to a neighbour ("young men and women"), and both nouns of "a group of
people" or "dressed as a clown", whose adjectives say the same of either. A premise with a negation is left out:
"without a red hat" follows from "without a hat".
"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in
from unbag.data.text.grammar import (
    AGE,
    ANIMALS,
    BODY_PARTS,
    COLOUR,
    HAPPENINGS,
    MISREAD,
    NEGATIONS,
    ORIGIN,
    PEOPLE,
    adapt_article,
    adjective_rank,
    capitalize,
    capitalize_demonym,
    decapitalize,
    determiners_fit,
)
from unbag.data.text.parses import Parse
from unbag.utils import rng

DEFAULT_SEED: Final = 13
DEFAULT_MIN_COUNT: Final = 2
"""How often the corpus must have an adjective with each of the nouns: once may be a slip of the parser."""


class Refusal(StrEnum):
    """Why a premise has no adjective to add."""

    DETERMINER = "a determiner that does not fit its noun"
    NEGATED = "a negation"
    ONE_NOUN = "fewer than two nouns that take an adjective"
    NOT_SHARED = "no adjective that is attested with two of its nouns"
    NOT_FREE = "no such adjective that moves freely (American flag, live band)"
    NOT_TAKEN = "no such adjective that both nouns take as they stand"


ADJECTIVE: Final = "JJ"
"""The fine tag of a plain adjective, neither comparative nor superlative."""

COLLOCATION: Final = 64.0
"""How many times as often as by chance an adjective and a noun occur together that are a name or a collocation."""

_MOST_SHARED: Final = 100_000  # pairs of nouns whose adjectives are remembered: some MB


class Addition(NamedTuple):
    """A pair that differs in the place of one adjective.

    Attributes:
        premise: the sentence with the adjective on the one noun.
        hypothesis: likewise on the other.
        adjective: the adjective.
        premise_noun: the noun it modifies in the premise, as it stands there.
        hypothesis_noun: likewise in the hypothesis.
    """

    premise: str
    hypothesis: str
    adjective: str
    premise_noun: str
    hypothesis_noun: str


class AdjectiveCounts:
    """Which adjectives a corpus has as modifiers of which nouns, and how often; nouns by lemma."""

    def __init__(self, parses: Iterable[Parse] = ()) -> None:
        """Count the modifiers in some parses."""
        self._counts: dict[str, dict[str, int]] = {}  # of a noun, by adjective
        self._modifiers: Counter[str] = Counter()  # adjectives before any noun
        self._modified: Counter[str] = Counter()  # nouns after any adjective
        self._total = 0
        self._predicates: Counter[str] = Counter()  # adjectives that are said of a subject
        self._shared: dict[tuple[str, str], dict[str, int]] = {}  # what was asked for since the last count
        for parse in parses:
            self.add(parse)

    def add(self, parse: Parse) -> None:
        """Count the adjectives in one more parse."""
        for i in [i for i, tag in enumerate(parse.tags) if tag == ADJECTIVE]:
            adjective = parse.lower_words[i]
            # Beside a hyphen it is a piece of an adjective (blond-haired).
            whole = parse.spaces[i] and (i == 0 or parse.spaces[i - 1])
            if parse.deps[i] == "acomp":
                self._predicates[adjective] += 1
            elif whole and adjective.isalpha() and adjective not in _NOT_ADDED and _modifies(parse, i):
                self._shared.clear()
                noun = parse.lemmas[parse.heads[i]].lower()
                counts = self._counts.setdefault(noun, {})
                counts[adjective] = counts.get(adjective, 0) + 1
                self._modifiers[adjective] += 1
                self._modified[noun] += 1
                self._total += 1

    def shared(self, first: str, second: str, min_count: int) -> dict[str, int]:
        """Return the adjectives that both nouns have at least so often, with the smaller of their two counts."""
        if (counts := self._shared.get((first, second))) is None:
            one, other = self._counts.get(first, {}), self._counts.get(second, {})
            # Sorted: a set has another order in each process, and the draw goes by this one.
            counts = {
                adjective: min(one[adjective], other[adjective]) for adjective in sorted(one.keys() & other.keys())
            }
            if len(self._shared) < _MOST_SHARED:
                self._shared[first, second] = counts
        return {adjective: n for adjective, n in counts.items() if n >= min_count}

    def is_property(self, adjective: str, min_count: int) -> bool:
        """Tell whether an adjective is of a class that English orders, or at least so often a predicate."""
        return adjective_rank(adjective) is not None or self._predicates[adjective] >= min_count

    def association(self, adjective: str, noun: str) -> float:
        """Return how many times as often as by chance an adjective modifies a noun: 2 to the mutual information.

        c(a, n) · c / (c(a) · c(n)), where c counts adjectives before nouns; 0 if it never does.
        """
        together = self._counts.get(noun, {}).get(adjective, 0)
        return together * self._total / (self._modifiers[adjective] * self._modified[noun]) if together else 0.0


def _modifies(parse: Parse, i: int) -> bool:
    """Tell whether an adjective is directly before its noun, and itself what modifies it.

    In "a short sleeve shirt" the sleeves are short; in "a dark blue shirt" the blue is dark; in "white water rafting"
    the water is a part of a name.
    """
    noun = parse.heads[i]
    if parse.deps[i] != "amod" or parse.pos[noun] != "NOUN" or i > noun or parse.deps[noun] == "compound":
        return False
    between = range(i + 1, noun)
    if any(parse.tags[j] != ADJECTIVE and parse.words[j] != "," for j in between):
        return False
    following = parse.lower_words[i + 1]
    if adjective_rank(following) is None:  # short sleeved, dark haired
        return i + 1 == noun or not following.endswith("ed")
    return parse.lower_words[i] not in _OF_COLOURS or adjective_rank(following) != COLOUR


def addamod(
    parse: Parse,
    adjectives: AdjectiveCounts,
    *,
    seed: int = DEFAULT_SEED,
    min_count: int = DEFAULT_MIN_COUNT,
    words: str = ALL,
) -> Addition | Refusal:
    """Add an adjective to a sentence, in two places, or say why not.

    The two nouns are the first pair that shares a fitting adjective, from a pair on that is drawn among all; which of
    the two comes first is drawn too. The adjective is drawn from those that fit both, by the smaller of its two counts.
    The draw depends on the seed, the sentence and the counted adjectives alone. With `words`
    (`challenge_sets.perturbations.vocabulary_split`) the adjective and the nouns are of one half of the vocabulary.
    """
    if not determiners_fit(parse):
        return Refusal.DETERMINER
    present = parse.lower_words
    if not _DENYING.isdisjoint(present):
        return Refusal.NEGATED
    nouns = [noun for noun in _nouns(parse) if are_in(words, [_lemma(parse, noun)])]
    pairs = [pair for pair in combinations(nouns, 2) if _differ(parse, pair[0].head, pair[1].head)]
    if not pairs:
        return Refusal.ONE_NOUN
    fitting = []
    refusal = Refusal.NOT_SHARED
    for one, other in pairs:
        shared = adjectives.shared(_lemma(parse, one), _lemma(parse, other), min_count)
        shared = {a: n for a, n in shared.items() if a not in present and are_in(words, [a])}
        free = {a: n for a, n in shared.items() if _is_free(parse, adjectives, a, one, other, min_count)}
        fit = {a: n for a, n in free.items() if one.takes(parse, a) and other.takes(parse, a)}
        if fit:
            fitting.append(((one, other), fit))
        elif free:
            refusal = Refusal.NOT_TAKEN
        elif shared and refusal is Refusal.NOT_SHARED:
            refusal = Refusal.NOT_FREE
    if not fitting:
        return refusal
    choice, weight, direction = rng.numbers(rng.key(seed, "addamod", str(parse)), np.arange(3)).tolist()
    begin = choice % len(pairs)
    # The first that fits, from a pair on that is drawn among all.
    (one, other), fit = min(fitting, key=lambda candidate: (pairs.index(candidate[0]) - begin) % len(pairs))
    adjective = _weighted(fit, weight)
    one_way = [(_with(parse, adjective, noun.position(parse, adjective)), noun) for noun in (one, other)]
    (premise, noun), (hypothesis, other_noun) = one_way if direction % 2 else one_way[::-1]
    return Addition(premise, hypothesis, adjective, parse.words[noun.head], parse.words[other_noun.head])


def _lemma(parse: Parse, noun: "_Noun") -> str:
    return parse.lemmas[noun.head].lower()


def _is_free(
    parse: Parse, adjectives: AdjectiveCounts, adjective: str, one: "_Noun", other: "_Noun", min_count: int
) -> bool:
    """Tell whether an adjective tells a property, and is no part of a name with either noun."""
    if not adjectives.is_property(adjective, min_count):
        return False
    nouns = [_lemma(parse, noun) for noun in (one, other)]
    if adjective_rank(adjective) == ORIGIN and not _LIVING.issuperset(nouns):
        return False
    return all(adjectives.association(adjective, noun) < COLLOCATION for noun in nouns)


class _Noun(NamedTuple):
    """A noun that takes an adjective: its head, where its adjectives and compounds begin, and its adjectives."""

    head: int
    start: int
    adjectives: tuple[int, ...]

    def takes(self, parse: Parse, adjective: str) -> bool:
        """Tell whether an adjective goes with the noun and with the adjectives that it has."""
        noun = _lemma(parse, self)
        if adjective in _INHERENT.get(noun, ()) or (adjective in _NOT_OF_PEOPLE and noun in PEOPLE):
            return False
        if noun in ANIMALS and adjective in _NOT_OF_ANIMALS:
            return False
        if adjective in _OF_AGE and noun in _YOUNG:
            return False
        if adjective_rank(adjective) == AGE and not _TOLD_AGE.isdisjoint(parse.lower_words):
            return False
        if adjective in _OF_HAIR and not _HAIR.isdisjoint(parse.lower_words):
            return False
        if (adjective in _OF_PEOPLE and noun not in PEOPLE) or (adjective in _OF_THE_LIVING and noun not in _LIVING):
            return False
        ranks = [adjective_rank(parse.words[i]) for i in self.adjectives]
        new_rank = adjective_rank(adjective)
        if {COLOUR, ORIGIN} <= {new_rank, *ranks}:
            return False  # "a black Asian man": the colour may be meant as an origin
        return not ranks or (
            adjective_rank(adjective) is not None and None not in ranks and adjective_rank(adjective) not in ranks
        )

    def position(self, parse: Parse, adjective: str) -> int:
        """Return the index of the token before which an adjective goes that the noun takes."""
        if not self.adjectives:
            return self.start
        new = adjective_rank(adjective)
        after = [i for i in self.adjectives if (adjective_rank(parse.words[i]) or 0) > (new or 0)]
        return after[0] if after else self.adjectives[-1] + 1


def _nouns(parse: Parse) -> list[_Noun]:
    common = [i for i, tag in enumerate(parse.tags) if tag in ("NN", "NNS")]
    lemmas = [parse.lemmas[i].lower() for i in common]
    # A noun that comes twice may mean one thing twice.
    once = [i for i, lemma in zip(common, lemmas, strict=True) if lemmas.count(lemma) == 1]
    return [noun for i in once if (noun := _noun(parse, i)) is not None]


def _noun(parse: Parse, head: int) -> _Noun | None:
    """Return a token as a noun that takes an adjective, if it is one."""
    word = parse.lower_words[head]
    lemma = parse.lemmas[head].lower()
    if parse.pos[head] != "NOUN" or not word.isalpha() or word in MISREAD or word in _WITHOUT or lemma in _NO_THING:
        return None
    if word.endswith("ing") and word not in _THINGS_IN_ING:
        return None
    if not _stands_alone(parse, head) or _may_be_a_verb(parse, head):
        return None
    if parse.words[head + 1 : head + 2] == (",",) and parse.tags[head + 2 : head + 3] == ("CD",):
        return None  # three children, two boys and a girl: what the children are, the boys are
    lefts = [i for i in parse.children(head) if i < head]
    outer = [
        i for i in lefts if parse.deps[i] in ("det", "predet", "poss", "nummod") or parse.lower_words[i] in _QUANTITIES
    ]
    inner = [i for i in lefts if i not in outer]
    if (not outer and parse.tags[head] == "NN") or any(parse.lower_words[i] in _REFERRING for i in lefts):
        return None
    if outer and inner and max(outer) > min(inner):
        return None
    if any(parse.deps[i] == "poss" and parse.pos[i] != "PRON" for i in outer):
        return None  # "a fisherman's hat": the adjective would go before the fisherman
    start = head
    for i in reversed(inner):
        inside = parse.subtree(i)
        if inside != list(range(inside[0], start)) or not _premodifies(parse, i):
            return None
        start = inside[0]
    if start and not parse.spaces[start - 1]:
        return None
    if start > 1 and parse.deps[start - 1] == "pcomp" and parse.heads[start - 1] == start - 2:
        return None  # in folding chairs, where the chairs are read as what is folded
    if " ".join(parse.words[start : head + 1]).lower().endswith(_FIXED):
        return None
    # An adjective's name in a compound counts too: an orange jumpsuit, a red brick wall.
    adjectives = [
        i for i in range(start, head) if parse.tags[i] == ADJECTIVE or adjective_rank(parse.words[i]) is not None
    ]
    return _Noun(head, start, tuple(adjectives))


def _may_be_a_verb(parse: Parse, head: int) -> bool:
    """Tell whether a plural without a determiner goes on as a verb does: "and waves a flag", "joy lights up"."""
    if parse.tags[head] != "NNS" or _determined(parse, head) or head + 1 == len(parse.words):
        return False
    return parse.pos[head + 1] in ("DET", "NOUN", "PRON") or parse.tags[head + 1] == "RP"


def _premodifies(parse: Parse, i: int) -> bool:
    """Tell whether a token is a plain adjective, a compound, or the hyphen of a compound (t-shirt)."""
    if parse.deps[i] == "amod":
        return not parse.children(i) and parse.tags[i] == ADJECTIVE
    return parse.deps[i] == "compound" or (parse.words[i] == "-" and not parse.spaces[i])


def _stands_alone(parse: Parse, head: int) -> bool:
    """Tell whether an adjective before a noun would modify it alone, and say something of it."""
    dep, above = parse.deps[head], parse.heads[head]
    if dep not in ("nsubj", "nsubjpass", "dobj", "dative", "pobj", "conj", "ROOT", "attr"):
        return False
    if dep == "attr" and not any(parse.deps[i] == "expl" for i in parse.children(above)):
        return False  # "is a man", unlike "there is a man", says who somebody is
    if dep == "pobj" and parse.lower_words[above] == "as":
        return False
    nouns = [i for i in parse.children(head) if parse.deps[i] in ("conj", "appos")]
    return all(parse.deps[i] == "conj" and _determined(parse, i) for i in nouns)


def _determined(parse: Parse, noun: int) -> bool:
    return any(parse.deps[i] in ("det", "poss", "nummod") for i in parse.children(noun))


def _differ(parse: Parse, one: int, other: int) -> bool:
    """Tell whether two nouns are two things: with other lemmas, and neither the other's `of`."""
    if parse.lemmas[one].lower() == parse.lemmas[other].lower():
        return False
    return _of(parse, one) != other and _of(parse, other) != one


def _of(parse: Parse, noun: int) -> int | None:
    """Return the token that a noun, or the list that it is in, hangs on by an `of`."""
    above = parse.heads[_first_of_list(parse, noun)]
    return parse.heads[above] if parse.lower_words[above] == "of" else None


def _first_of_list(parse: Parse, noun: int) -> int:
    """Return the first of the nouns that one is coordinated with: men, of "a group of men and women"."""
    while parse.deps[noun] == "conj" and parse.heads[noun] != noun:
        noun = parse.heads[noun]
    return noun


def _weighted(weights: dict[str, int], number: int) -> str:
    """Return the name that a random number falls on."""
    remaining = number % sum(weights.values())
    for name, weight in weights.items():
        remaining -= weight
        if remaining < 0:
            return name
    raise AssertionError("weights are positive")


def _with(parse: Parse, adjective: str, position: int) -> str:
    """Return the sentence with an adjective before one of its tokens."""
    words, adjective = list(parse.words), capitalize_demonym(adjective)
    if position == 0 and words[0][:1].isupper():
        adjective, words[0] = capitalize(adjective), decapitalize(words[0], parse.pos[0])
    elif position:
        words[position - 1] = adapt_article(words[position - 1], adjective)
    pieces = [word + " " * space for word, space in zip(words, parse.spaces, strict=True)]
    return "".join([*pieces[:position], adjective, " ", *pieces[position:]])


_DENYING: Final = NEGATIONS | {"without", "except"}
_QUANTITIES: Final = frozenset("many several few various numerous more most multiple countless".split())
_REFERRING: Final = frozenset("another other others each every both either own same no".split())

_NOT_ADDED: Final = (
    _QUANTITIES
    | _REFERRING
    | frozenset(
        """abandoned aged apparent assorted available average away back bare barefoot certain clear close colored
        common complete dead deserted different distant double down due empty entire extra fake female final
        first former front future general haired half impromptu individual inner intent last late latter least
        left less lone main male mid middle much naked nearby nearest necessary new next nice nude only open
        opposite original outer outside overhead past possible present previous prior real recent respective
        right seated second separate shirtless similar single sleeping sleeved sole solo soon special specific
        such surrounding third top topless total toy twin typical unique unknown upcoming upper usual whole""".split()
    )
)
"""Modifiers that tell no property of the thing itself (quantity, place, order, identity), or one that what else is in
the scene denies (an empty room with people in it, a naked woman in a dress)."""

_OF_COLOURS: Final = frozenset("bright dark deep light pale".split())
_TOLD_AGE: Final = frozenset("couple little".split())
"""Where somebody's age is told, if only by another noun: a young couple, a little girl."""
_NOT_OF_ANIMALS: Final = frozenset("blue colorful green multicolored orange pink purple".split())
_OF_HAIR: Final = frozenset("bald blond blonde brunette redheaded".split())
_HAIR: Final = _OF_HAIR | {"hair", "haired", "redhead"}
_OF_AGE: Final = frozenset("adult aged ancient elderly middle-aged old older".split())
_YOUNG: Final = frozenset(
    """baby boy child daughter girl grandchild granddaughter grandson infant kid kitten puppy son student teen teenager
    toddler youngster youth""".split()
)

_NOT_OF_PEOPLE: Final = frozenset(
    """beige blue colorful gold golden gray green grey multicolored orange pink purple red silver striped
    yellow""".split()
)
"""Colours that people have in no ordinary scene; parsers find them, for they take a shirt's for its wearer's."""

_OF_PEOPLE: Final = frozenset("blond blonde elderly middle-aged teenage".split())
_OF_THE_LIVING: Final = frozenset("adult baby young younger".split())
_LIVING: Final = PEOPLE | ANIMALS

_FIXED: Final = (
    "hard hat", "hard hats", "high school", "high chair", "high heels", "hot dog", "hot dogs", "hot tub", "light rail",
    "orange juice", "polar bear", "red carpet", "teddy bear", "white board",
)  # fmt: skip
"""Adjectives and nouns that are one name, within which no other adjective goes."""

_INHERENT: Final = {
    **dict.fromkeys(
        "baby boy child girl infant kid puppy toddler teenager youth".split(), ("young", "little", "small")
    ),
    **{
        "elder": ("old", "elderly"),
        "grass": ("green",),
        "sky": ("blue",),
        "snow": ("white", "cold"),
        "water": ("wet", "white"),
    },
}
"""What the noun says already, so that it would follow from the noun alone."""

_WITHOUT: Final = frozenset(
    """afternoon amount area background base bottom bunch center centre copy corner couple distance end fashion
    floor foreground form front gear half hour inside kind left length level lot manner meter minute month name noon
    outside pace pair peace picture piece pile portion process purpose right row season section series set source
    spot stage step summer surface unison version width winter
    binoculars clothes clothing glasses goggles headphones jeans overalls pajamas pants scissors shorts stairs
    sunglasses surroundings tights trousers""".split()
)
"""Nouns that measure or locate rather than name a thing, and plurals without a singular, as they stand or as lemmas."""

_NO_THING: Final = _WITHOUT | BODY_PARTS | HAPPENINGS
"""Beside these parts of a body, of which an adjective tells as much as of the whole (bald, dirty), and what happens."""
_THINGS_IN_ING: Final = frozenset(
    """awning being building buildings ceiling clothing covering earring icing king lightning painting railing ring
    sibling string swing wing""".split()
)
"""Nouns like these are things; others name what somebody does (dancing), or are verbs that the parser misread."""
