"""Words of the negation set: distractor sentences, frames, quantifiers, relative clauses, hypernyms and opposites.

Every phrase belongs to one half of the vocabulary (`vocabulary_split`), so that a set of held-out words shares no
distractor, frame and quantifier with the pairs that `unbag train mend` trains on.
"""

from typing import Final, NamedTuple

from unbag.data.text.grammar import pluralize_noun


def inflect_be(*, is_past: bool, is_plural: bool) -> str:
    """Inflect the verb *be* for the third person."""
    return ("were" if is_past else "are") if is_plural else ("was" if is_past else "is")


class DistractorSentence(NamedTuple):
    """A sentence about the location of a thing. It is added to a premise and is unrelated to the claim."""

    noun: str  # a countable noun
    place: str  # phrase of place, e.g. "in the garage"

    def predicate(self, *, is_past: bool, is_plural: bool = False, is_negated: bool = False) -> str:
        """Build the predicate, e.g. "is not on the table."."""
        return f"{inflect_be(is_past=is_past, is_plural=is_plural)}{' not' * is_negated} {self.place}."

    def text(self, *, is_past: bool, is_negated: bool = False) -> str:
        """Build the sentence, e.g. "The lamp is not on the table."."""
        return f"The {self.noun} {self.predicate(is_past=is_past, is_negated=is_negated)}"

    def quantified_text(self, *, is_past: bool, is_plural: bool) -> str:
        """Build the sentence without its determiner, e.g. "lamps are on the table."."""
        return f"{self.inflect_noun(is_plural=is_plural)} {self.predicate(is_past=is_past, is_plural=is_plural)}"

    def inflect_noun(self, *, is_plural: bool) -> str:
        """Inflect the noun for number: singular or plural."""
        return pluralize_noun(self.noun) if is_plural else self.noun


DISTRACTOR_SENTENCES: Final = tuple(
    DistractorSentence(*map(str.strip, line.split(":")))
    for line in """ladder: in the garage / kettle: on the stove / basket: under the bench / envelope: in the drawer
    / lantern: behind the door / blanket: on the sofa / suitcase: in the attic / hammer: on the workbench
    / candle: on the windowsill / mirror: in the hallway / carpet: in the basement / parcel: on the counter
    / teapot: in the cupboard / wheelbarrow: behind the shed / globe: on the desk / umbrella: near the entrance
    / violin: in the closet / bucket: under the sink / tractor: in the barn / trumpet: on the shelf
    / helmet: on the hook / bottle: in the refrigerator / cushion: on the armchair / scarf: in the wardrobe""".split(
        "/"
    )
)

NOT: Final = "not"

FRAMES: Final = (
    ("It is not true that", "It is true that"),
    ("It is not the case that", "It is the case that"),
)
"""Clauses that negate the sentence after them, and the same clauses without *not*."""
RESTATEMENTS: Final = (
    ("It is false that", "It is a fact that"),
    ("It is untrue that", "It is correct that"),
)
"""Clauses in other words, which negate or assert the sentence after them."""


class QuantifierPair(NamedTuple):
    """Two determiners that exclude each other, and the determiners that each of them implies."""

    negative: str
    positive: str  # determiner that excludes the negative one
    # Determiner of a hypothesis that follows from the negative one only; "" for *some … not*, *at least one … not*.
    from_negative: str
    from_positive: str  # determiner of a hypothesis that follows from the positive one only
    is_plural: bool  # whether the subject is plural
    # Whether each determiner also excludes what follows from the other one. "More than three" allows four, so that
    # it does not exclude "at most four".
    is_exclusive: bool = True


QUANTIFIERS: Final = (
    QuantifierPair("No", "Some", "No", "Some", True),
    QuantifierPair("Not all", "All", "", "All", True),
    QuantifierPair("None of the", "All of the", "Not all of the", "Some of the", True),
    QuantifierPair("At most three", "More than three", "At most four", "More than two", True, is_exclusive=False),
    QuantifierPair("At most five", "More than five", "At most six", "More than four", True, is_exclusive=False),
    QuantifierPair("No", "Every", "Not every", "At least one", False),
    QuantifierPair("Not every", "Every", "", "Every", False),
)

DOWNWARD: Final = (
    QuantifierPair("No", "Some", "", "", True),
    QuantifierPair("At most three", "More than three", "", "", True),
    QuantifierPair("At most five", "More than five", "", "", True),
    QuantifierPair("No", "At least one", "", "", False),
    QuantifierPair("Not a single", "At least one", "", "", False),
)
"""Negative determiners under which a noun may be replaced by a narrower one, and determiners that exclude them."""

PERSON_PROPERTIES: Final = ("tall", "famous", "from Canada", "left-handed", "in a hurry", "rich")
THING_PROPERTIES: Final = ("well known", "expensive", "popular", "mentioned in the letter", "unusual", "familiar to us")
"""Contents of relative clauses about the subject, which no claim would contain."""
ADJECTIVES: Final = ("old", "local", "unusual")
"""Adjectives that fit people and things."""
PLACES: Final = tuple(
    "in the " + place for place in "garage attic hallway basement barn courtyard backyard driveway".split()
)
"""Places of people, animals and vehicles."""

THINGS: Final = frozenset(
    """account act agency airport album analysis animal apartment area argument arm article association award bag
    bank bar battle beach bed bill boat body book bottle box bridge building bus camp campaign canal car card case
    castle cathedral center chapel chapter church city clock club coast college colony color column committee
    community company concept condition contract contribution corner corporation cottage council country county
    course court cup decision department desert design device discovery district document donation door election
    empire engine event exhibition expedition experiment facility factory farm festival field film finding firm
    flag flight foundation fountain fund game garden gate gift goal guide hall harbor hill hole holiday home
    hospital hotel house idea image industry initiative institution instrument island issue job journal journey
    judgment kitchen lake language law lawsuit leg letter library license line list machine magazine map market
    match meeting memorial method mine mission model monastery monument mosque motel mountain mouth movement movie
    museum name nation network newspaper night novel object offer office operation order organization page
    painting palace panel paper parameter park path pattern peninsula performance period phone photograph picture
    plan plane plant platform play plot point policy pond port portrait position price prison problem process
    product program project proposal province question railway ranch record reef region regulation relationship
    report request requirement resort restaurant result review river road rock role room route rule scene scheme
    school season section seminar service session settlement shelter ship shop shrine sign signal site situation
    society solution song source speech square stadium stage state statement station statue store story strategy
    street structure study subject suburb suggestion surface survey system table tactic tank target task tax team
    temple term test text theater theory threat tool tour tower town track tradition trail train treaty tree trial
    trip truck tunnel university valley vehicle version villa village visit wall war weapon website wedding week
    window wing word world year zone""".split()
)
"""Nouns of things that can be counted: "the museum" may become "every museum", and takes the pronoun *which*."""


def _above(lines: str) -> dict[str, str]:
    """Map each noun to the noun above it."""
    sides = [line.split(">") for line in lines.split("/")]
    return {noun: above.strip() for nouns, above in sides for noun in nouns.split()}


HYPERNYMS: Final = _above(
    """man woman guy lady gentleman adult boy girl child teenager visitor tourist student teacher doctor nurse lawyer
    soldier officer worker farmer artist singer musician player actor reporter scientist customer passenger member
    leader expert writer priest king queen employee patient resident traveler merchant author director politician
    president professor judge engineer senator composer poet painter athlete driver pilot owner citizen villager
    pilgrim fisherman policeman fireman firefighter chef cook waiter waitress dancer surfer skateboarder cyclist
    runner swimmer guitarist drummer clown photographer performer skier snowboarder gymnast toddler biker hiker
    spectator client consumer taxpayer critic historian veteran volunteer donor executive manager investor voter
    juror attorney consultant auditor official tenant landlord guest host enemy hero thief prisoner refugee
    immigrant settler> person
    / dog cat horse cow sheep goat pig elephant monkey bird lion camel puppy kitten> animal
    / car truck bus motorcycle van taxi> vehicle / guitar piano violin trumpet> instrument
    / novel dictionary guidebook textbook> book"""
)
"""Noun above each noun, in the singular."""
PEOPLE: Final = frozenset(noun for noun, above in HYPERNYMS.items() if above == "person")
"""Nouns of people, in the singular."""


class OppositePhrases(NamedTuple):
    """Two predicates that cannot both be true of the same subject."""

    stated: str  # what a relative clause says
    opposite: str  # what is then false
    is_perfect: bool = False  # whether the phrases follow *has* rather than *is*


def _both_ways(lines: str, *, is_perfect: bool = False) -> tuple[OppositePhrases, ...]:
    pairs = [tuple(map(str.strip, line.split(":"))) for line in lines.split("/")]
    return tuple(
        OppositePhrases(old, new, is_perfect) for one, other in pairs for old, new in ((one, other), (other, one))
    )


def _prefixed(words: str) -> tuple[OppositePhrases, ...]:
    """Pair each word that has a prefix, marked by a hyphen, with the same word without it."""
    return tuple(OppositePhrases(word.replace("-", ""), word.partition("-")[2]) for word in words.split())


PERSON_PREFIXES: Final = _prefixed(
    "un-happy un-married un-friendly dis-honest im-patient im-polite un-lucky un-healthy in-experienced un-fair"
)
THING_PREFIXES: Final = _prefixed(
    "un-popular un-common un-important in-expensive un-usual un-reliable in-complete im-perfect un-familiar"
)
"""Adjectives with a negative prefix: what is unhappy is not happy, but what is not unhappy need not be."""
PERSON_ANTONYMS: Final = (
    *_both_ways(
        "accepted the offer: rejected the offer / passed the exam: failed the exam"
        "/ won the first game: lost the first game",
        is_perfect=True,
    ),
    *_both_ways("laughing: crying / winning the game: losing the game"),
)
THING_ANTONYMS: Final = (
    *_both_ways("been accepted in full: been rejected in full", is_perfect=True),
    *_both_ways(
        "gaining popularity: losing popularity / rising in price: falling in price"
        "/ increasing in value: decreasing in value / growing in size: shrinking in size"
    ),
)
"""Phrases that exclude each other; if the first is false, the second need not be true."""
