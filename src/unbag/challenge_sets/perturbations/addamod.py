"""AddAmod: an adjective modifies one noun in the premise and another in the hypothesis (Nie et al. 2019, section 3.1).

"A man walks a dog." becomes the premise "A young man walks a dog." and the hypothesis "A man walks a young dog.".
Neither sentence entails the other, and neither contradicts the other, so the label is neutral.

The corpus must contain the adjective directly before both nouns, as their modifier (`AdjectiveCounts`). The adjective
must also be able to move: it expresses a property, forms no name or collocation with either noun, and fits both nouns
in the sentence. The card of the set describes the criteria for adjectives, nouns and positions. In written text,
adjectives are added only if English orders them and they express no opinion. Others denote a relation more often than
in captions ("local families in our community" are families in our local community).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations, islice
from typing import Final, NamedTuple

import numpy as np

from unbag.challenge_sets.perturbations.clauses import DETERMINER
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_vocabulary_half
from unbag.data.text.grammar import (
    AGE,
    ANIMALS,
    BODY_PARTS,
    COLOUR,
    HAPPENINGS,
    MISREAD,
    NEGATIONS,
    OPINION,
    ORIGIN,
    PEOPLE,
    adapt_article,
    capitalize,
    capitalize_demonym,
    decapitalize,
    get_adjective_rank,
    has_matching_determiners,
)
from unbag.data.text.parses import Parse
from unbag.utils import rng

DEFAULT_SEED: Final = 13
DEFAULT_MIN_COUNT: Final = 2
"""Minimum count of an adjective with each of the two nouns. A single occurrence may be a parsing error."""


ADJECTIVE: Final = "JJ"
"""Fine tag of an adjective in its base form, neither comparative nor superlative."""

COLLOCATION: Final = 64.0
"""Association from which an adjective and a noun count as a name or a collocation: observed over expected count."""

_MAX_CACHED_PAIRS: Final = 100_000  # pairs of nouns whose shared adjectives are cached: some MB


class AddAmodPair(NamedTuple):
    """A pair whose sentences differ in the position of one adjective."""

    premise: str  # sentence with the adjective on one noun
    hypothesis: str  # sentence with the adjective on the other noun
    adjective: str
    premise_noun: str  # noun that the adjective modifies in the premise, as written
    hypothesis_noun: str  # noun that the adjective modifies in the hypothesis, as written


class AdjectiveCounts:
    """Counts of the adjectives that modify each noun of a corpus. Nouns are grouped by lemma."""

    def __init__(self, parses: Iterable[Parse] = ()) -> None:
        """Count the modifiers in some parses (default: none)."""
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)  # noun → adjective → count
        self._modifiers: Counter[str] = Counter()  # counts of adjectives, over all nouns
        self._modified: Counter[str] = Counter()  # counts of modified nouns, over all adjectives
        self._total = 0
        self._predicates: Counter[str] = Counter()  # counts of adjectives as predicates
        self._shared: dict[tuple[str, str], dict[str, int]] = {}  # results of `shared`, valid until the next count
        for parse in parses:
            self.add(parse)

    def add(self, parse: Parse) -> None:
        """Add the adjectives of a parsed sentence to the counts."""
        for i in [i for i, tag in enumerate(parse.tags) if tag == ADJECTIVE]:
            adjective = parse.lower_words[i]
            # Next to a hyphen, the token is a part of an adjective (blond-haired).
            is_whole = parse.spaces[i] and (i == 0 or parse.spaces[i - 1])
            if parse.deps[i] == "acomp":
                self._predicates[adjective] += 1
            elif is_whole and adjective.isalpha() and adjective not in _NOT_ADDED and _modifies(parse, i):
                self._shared.clear()
                noun = parse.lemmas[parse.heads[i]].lower()
                self._counts[noun][adjective] += 1
                self._modifiers[adjective] += 1
                self._modified[noun] += 1
                self._total += 1

    def find_shared(self, first: str, second: str, min_count: int) -> dict[str, int]:
        """Look up the adjectives that occur at least `min_count` times with each of two nouns.

        The result maps each adjective to the smaller of its two counts.
        """
        if (counts := self._shared.get((first, second))) is None:
            one, other = self._counts[first], self._counts[second]
            # Sorted, because the draw depends on the order. `one & other` would read every adjective of `one`.
            shared = sorted(one.keys() & other.keys())
            counts = {adjective: min(one[adjective], other[adjective]) for adjective in shared}
            if len(self._shared) < _MAX_CACHED_PAIRS:
                self._shared[first, second] = counts
        return {adjective: n for adjective, n in counts.items() if n >= min_count}

    def is_property(self, adjective: str, min_count: int) -> bool:
        """Check whether an adjective denotes a property such as size or color.

        This holds if the adjective has a rank in English adjective order, or occurs as a predicate at least `min_count`
        times.
        """
        return get_adjective_rank(adjective) is not None or self._predicates[adjective] >= min_count

    def compute_association(self, adjective: str, noun: str) -> float:
        """Compute the ratio of the observed to the expected count of an adjective-noun pair (2 to the power of PMI).

        c(a, n) · c / (c(a) · c(n)), where c counts adjectives before nouns. The ratio is 0 if c(a, n) is 0.
        """
        together = self._counts[noun][adjective]
        return together * self._total / (self._modifiers[adjective] * self._modified[noun]) if together else 0.0


def _modifies(parse: Parse, i: int) -> bool:
    """Check whether an adjective stands directly before its noun and modifies the noun itself."""
    noun = parse.heads[i]
    # Counterexamples: in "a short sleeve shirt" the sleeves are short, in "a dark blue shirt" the blue is dark, and in
    # "white water rafting" the water is part of a name.
    if parse.deps[i] != "amod" or parse.pos[noun] != "NOUN" or i > noun or parse.deps[noun] == "compound":
        return False
    between = range(i + 1, noun)
    if any(parse.tags[j] != ADJECTIVE and parse.words[j] != "," for j in between):
        return False
    following = parse.lower_words[i + 1]
    if get_adjective_rank(following) is None:  # short sleeved, dark haired
        return i + 1 == noun or not following.endswith("ed")
    return parse.lower_words[i] not in _OF_COLOURS or get_adjective_rank(following) != COLOUR


def build_addamod_pair(
    parse: Parse,
    adjectives: AdjectiveCounts,
    *,
    seed: int = DEFAULT_SEED,
    min_count: int = DEFAULT_MIN_COUNT,
    words: str = ALL,
    is_written_text: bool = False,
) -> AddAmodPair | str:
    """Build a pair by adding an adjective to one noun in the premise and to another noun in the hypothesis.

    A random draw selects a start among all pairs of nouns. The operator takes the first pair from there, in cyclic
    order, that shares a fitting adjective. Which noun is modified in the premise is random too. The adjective is drawn
    from those that fit both nouns, weighted by the smaller of the two counts. The result depends only on the seed, the
    sentence and the counts. Return the reason if there is no pair.

    Args:
        min_count: Minimum count of the adjective with each noun.
        words: Vocabulary of the adjective and the nouns: `all`, or one half
            (`challenge_sets.perturbations.vocabulary_split`).
        is_written_text: Whether the sentence is written text, for which fewer adjectives are used (default: a caption).
    """
    present = parse.lower_words
    if not has_matching_determiners(parse):
        return DETERMINER
    if not _DENYING.isdisjoint(present):
        return "a negation"  # "without a hat" entails "without a red hat"
    if is_written_text and "including" in present:
        return "a group and its members (people including a man)"
    nouns = [noun for noun in _nouns(parse) if are_in_vocabulary_half(words, [noun.lemma])]
    pairs = [pair for pair in combinations(nouns, 2) if _differ(parse, *pair)]
    if not pairs:
        return "fewer than two nouns that take an adjective"
    fitting = []
    reason = 0  # number of conditions that the adjectives of some pair of nouns fulfil
    for one, other in pairs:
        shared = {
            adjective: n
            for adjective, n in adjectives.find_shared(one.lemma, other.lemma, min_count).items()
            if adjective not in present
            and are_in_vocabulary_half(words, [adjective])
            and not (is_written_text and get_adjective_rank(adjective) in (None, OPINION))
        }
        free = {a: n for a, n in shared.items() if _is_free(adjectives, a, (one.lemma, other.lemma), min_count)}
        fit = {a: n for a, n in free.items() if one.takes(parse, a) and other.takes(parse, a)}
        reason = max(reason, bool(shared) + bool(free))
        if fit:
            fitting.append(((one, other), fit))
    if not fitting:
        return _NO_ADJECTIVE[reason]
    choice, weight, direction = rng.generate_random_numbers(
        rng.compute_key(seed, "addamod", str(parse)), np.arange(3)
    ).tolist()
    begin = choice % len(pairs)
    # The first fitting pair at or after the drawn start, in cyclic order.
    (one, other), fit = min(fitting, key=lambda candidate: (pairs.index(candidate[0]) - begin) % len(pairs))
    # Each adjective occurs as often as its weight, so that the number selects in proportion to the weights.
    adjective = next(islice(Counter(fit).elements(), weight % sum(fit.values()), None))
    changed = [_insert(parse, adjective, noun) for noun in (one, other)]
    sides = [(each.join(range(len(each.words))), noun) for each, noun in zip(changed, (one, other), strict=True)]
    (premise, noun), (hypothesis, other_noun) = sides if direction % 2 else sides[::-1]
    return AddAmodPair(premise, hypothesis, adjective, parse.words[noun.head], parse.words[other_noun.head])


_NO_ADJECTIVE: Final = (
    "no adjective that is attested with two of its nouns",
    "no such adjective outside fixed phrases (American flag, live band)",
    "no such adjective that fits both nouns in this sentence",
)


def _is_free(adjectives: AdjectiveCounts, adjective: str, nouns: tuple[str, str], min_count: int) -> bool:
    """Check whether an adjective expresses a property and forms no name with either noun."""
    if not adjectives.is_property(adjective, min_count):
        return False
    if get_adjective_rank(adjective) == ORIGIN and not _LIVING.issuperset(nouns):
        return False  # with things, an origin denotes a kind (Chinese food)
    return all(adjectives.compute_association(adjective, noun) < COLLOCATION for noun in nouns)


class _Noun(NamedTuple):
    """A noun that can take an adjective."""

    head: int  # position of the noun itself
    lemma: str
    start: int  # position of the first adjective or compound before the noun; `head` if there is none
    adjectives: tuple[int, ...]  # positions of the adjectives before the noun

    def takes(self, parse: Parse, adjective: str) -> bool:
        """Check whether an adjective can modify the noun, given the adjectives that the noun already has."""
        noun, rank = self.lemma, get_adjective_rank(adjective)
        ranks = [get_adjective_rank(parse.words[i]) for i in self.adjectives]
        if ranks and (None in (rank, *ranks) or rank in ranks):
            return False
        return not (
            adjective in _INHERENT.get(noun, ())
            or (adjective in _NOT_OF_PEOPLE and noun in PEOPLE)
            or (adjective in _NOT_OF_ANIMALS and noun in ANIMALS)
            or (adjective in _OF_AGE and noun in _YOUNG)
            or (adjective in _OF_PEOPLE and noun not in PEOPLE)
            or (adjective in _OF_THE_LIVING and noun not in _LIVING)
            or (rank == AGE and not _IMPLIES_AGE.isdisjoint(parse.lower_words))
            or (adjective in _OF_HAIR and not _HAIR.isdisjoint(parse.lower_words))
            or {COLOUR, ORIGIN} <= {rank, *ranks}  # "a black Asian man": the colour may be meant as an origin
        )

    def find_position(self, parse: Parse, adjective: str) -> int:
        """Find the index of the token before which the adjective is inserted."""
        if not self.adjectives:
            return self.start
        rank = get_adjective_rank(adjective) or 0
        after = (i for i in self.adjectives if (get_adjective_rank(parse.words[i]) or 0) > rank)
        return next(after, self.adjectives[-1] + 1)


def _nouns(parse: Parse) -> list[_Noun]:
    """List the nouns of a sentence that can take an adjective. Their lemmas differ."""
    lemmas = {i: parse.lemmas[i].lower() for i, tag in enumerate(parse.tags) if tag in ("NN", "NNS")}
    # Two occurrences of a noun may refer to the same object.
    counts = Counter(lemmas.values())
    return [noun for i, lemma in lemmas.items() if counts[lemma] == 1 and (noun := _noun(parse, i, lemma)) is not None]


def _noun(parse: Parse, head: int, lemma: str) -> _Noun | None:
    """Analyse a token as a noun that can take an adjective. Return None if it cannot."""
    word, lefts = parse.lower_words[head], [i for i in parse.children(head) if i < head]
    if parse.pos[head] != "NOUN" or not word.isalpha() or word in MISREAD or word in _WITHOUT or lemma in _NO_OBJECT:
        return None
    if (word.endswith("ing") and word not in _THINGS_IN_ING) or any(parse.lower_words[i] in _REFERRING for i in lefts):
        return None
    if not _stands_alone(parse, head) or _may_be_a_verb(parse, head):
        return None
    if parse.words[head + 1 : head + 2] == (",",) and parse.tags[head + 2 : head + 3] == ("CD",):
        return None  # "three children, two boys and a girl": an adjective of the children holds for the boys
    outer_deps = ("det", "predet", "poss", "nummod")
    outer = [i for i in lefts if parse.deps[i] in outer_deps or parse.lower_words[i] in _QUANTITIES]
    inner = [i for i in lefts if i not in outer]
    if (not outer and parse.tags[head] == "NN") or (outer and inner and outer[-1] > inner[0]):
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
        return None  # "in folding chairs", where the parser reads the chairs as the object of folding
    if " ".join(parse.words[start : head + 1]).lower().endswith(_FIXED):
        return None
    # Compounds that are also adjectives count: an orange jumpsuit, a red brick wall.
    before = range(start, head)
    adjectives = (i for i in before if parse.tags[i] == ADJECTIVE or get_adjective_rank(parse.words[i]) is not None)
    return _Noun(head, lemma, start, tuple(adjectives))


def _may_be_a_verb(parse: Parse, head: int) -> bool:
    """Check whether the context of a bare plural is that of a verb: "and waves a flag", "joy lights up"."""
    if parse.tags[head] != "NNS" or parse.has_child(head, *_DETERMINING) or head + 1 == len(parse.words):
        return False
    return parse.pos[head + 1] in ("DET", "NOUN", "PRON") or parse.tags[head + 1] == "RP"


def _premodifies(parse: Parse, i: int) -> bool:
    """Check whether a token is a plain adjective, a compound, or the hyphen of a compound (t-shirt)."""
    if parse.deps[i] == "amod":
        return not parse.children(i) and parse.tags[i] == ADJECTIVE
    return parse.deps[i] == "compound" or (parse.words[i] == "-" and not parse.spaces[i])


_DETERMINING: Final = ("det", "poss", "nummod")


def _stands_alone(parse: Parse, head: int) -> bool:
    """Check whether an adjective before a noun would modify only this noun, and describe it."""
    dep, above = parse.deps[head], parse.heads[head]
    if dep not in ("nsubj", "nsubjpass", "dobj", "dative", "pobj", "conj", "ROOT", "attr"):
        return False
    if dep == "attr" and not parse.has_child(above, "expl"):
        return False  # "is a man" identifies a person; "there is a man" introduces one
    if (dep == "pobj" and parse.lower_words[above] == "as") or parse.has_child(head, "appos"):
        return False
    return all(parse.has_child(i, *_DETERMINING) for i in parse.children(head) if parse.deps[i] == "conj")


def _differ(parse: Parse, one: _Noun, other: _Noun) -> bool:
    """Check whether two nouns denote two objects: neither is the `of` complement of the other."""
    return _of_head(parse, one.head) != other.head and _of_head(parse, other.head) != one.head


def _of_head(parse: Parse, noun: int) -> int | None:
    """Find the token whose `of` complement is the noun, or the coordination that contains the noun."""
    while parse.deps[noun] == "conj" and parse.heads[noun] != noun:  # men, in "a group of men and women"
        noun = parse.heads[noun]
    above = parse.heads[noun]
    return parse.heads[above] if parse.lower_words[above] == "of" else None


def _insert(parse: Parse, adjective: str, noun: _Noun) -> Parse:
    """Build the parse of the sentence with an adjective inserted before a noun."""
    position = noun.find_position(parse, adjective)
    words, adjective = list(parse.words), capitalize_demonym(adjective)
    if position == 0 and words[0][:1].isupper():
        adjective, words[0] = capitalize(adjective), decapitalize(words[0], parse.pos[0])
    elif position:
        words[position - 1] = adapt_article(words[position - 1], adjective)
    changed = replace(parse, words=tuple(words))
    return changed.splice(position, position, (adjective, True, adjective.lower(), "ADJ", ADJECTIVE, noun.head, "amod"))


def modify_noun(parse: Parse, noun: str, adjective: str) -> Parse | None:
    """Insert an adjective in lower case before a noun of a parsed sentence, which is given as written.

    Return None if the noun cannot take this adjective (an old boy, a small big dog).
    """
    found = next((each for each in _nouns(parse) if parse.words[each.head] == noun), None)
    return _insert(parse, adjective, found) if found is not None and found.takes(parse, adjective) else None


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
"""Modifiers that are never added. Most express no property of the object itself (quantity, place, order, identity).
The others often contradict the rest of the scene (an empty room with people in it, a naked woman in a dress)."""

_OF_COLOURS: Final = frozenset("bright dark deep light pale".split())
_IMPLIES_AGE: Final = frozenset("couple little".split())
"""Words of sentences that already imply an age: a young couple, a little girl."""
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
"""Colours that people do not have. The counts contain them because parsers attach a shirt's colour to its wearer."""

_OF_PEOPLE: Final = frozenset("blond blonde elderly middle-aged teenage".split())
_OF_THE_LIVING: Final = frozenset("adult baby young younger".split())
_LIVING: Final = PEOPLE | ANIMALS

_FIXED: Final = (
    "hard hat", "hard hats", "high school", "high chair", "high heels", "hot dog", "hot dogs", "hot tub", "light rail",
    "orange juice", "polar bear", "red carpet", "teddy bear", "white board",
)  # fmt: skip
"""Adjectives and nouns that form one name, so that no other adjective can stand between them."""

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
"""Adjectives that a noun implies. Such an adjective would be entailed by the noun alone."""

_WITHOUT: Final = frozenset(
    """afternoon amount area background base bottom bunch center centre copy corner couple distance end fashion
    floor foreground form front gear half hour inside kind left length level lot manner meter minute month name noon
    outside pace pair peace picture piece pile portion process purpose right row season section series set source
    spot stage step summer surface unison version width winter
    binoculars clothes clothing glasses goggles headphones jeans overalls pajamas pants scissors shorts stairs
    sunglasses surroundings tights trousers""".split()
)
"""Nouns that measure or locate instead of naming an object, and plurals without a singular, as forms or lemmas."""

_NO_OBJECT: Final = _WITHOUT | BODY_PARTS | HAPPENINGS
"""Nouns that take no adjective. An adjective of a body part (bald, dirty) says as much about the whole person."""
_THINGS_IN_ING: Final = frozenset(
    """awning being building buildings ceiling clothing covering earring icing king lightning painting railing ring
    sibling string swing wing""".split()
)
"""Nouns in -ing that name an object. Others name an activity (dancing), or are verbs that the parser misread."""
