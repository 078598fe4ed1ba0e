"""Lexicon of the demonstration corpus: meaning, selectional restrictions and spelling of each word.

A *concept* ("child") has a position in a taxonomy. The *words* of a concept ("child", "kid") are synonyms, and no word
belongs to two concepts with the same part of speech. All lexical information that affects labels is in this module.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple


class Taxonomy:
    """Finite set of concepts with two relations: `is_a` (a partial order) and `excludes` (symmetric).

    Exclusion is declared for groups of concepts and is inherited: if dog and cat exclude each other, so do puppy and
    kitten. By construction, no concept has two hypernyms that exclude each other, and no concept excludes a hypernym.

    Args:
        parents: Direct hypernyms of each concept. Every concept has an entry.
        exclusive: Groups of concepts that exclude each other pairwise.

    >>> animals = Taxonomy({"dog": (), "cat": (), "puppy": ("dog",)}, [("dog", "cat")])
    >>> animals.is_a("puppy", "dog"), animals.is_a("dog", "puppy"), animals.excludes("puppy", "cat")
    (True, False, True)
    """

    def __init__(self, parents: Mapping[str, Sequence[str]], exclusive: Iterable[Sequence[str]]) -> None:
        self._parents = {name: tuple(above) for name, above in parents.items()}
        self._ancestors: dict[str, frozenset[str]] = {}
        for name in self._parents:
            self._ancestors[name] = self._climb(name, ())
        self._excluded: dict[str, set[str]] = {name: set() for name in self._parents}
        for group in exclusive:
            if unknown := [name for name in group if name not in self._parents]:
                raise ValueError(f"exclusive: expected concepts with an entry, got {unknown}; add entries")
            below = [(name, self.list_descendants(name)) for name in group]
            for name, members in below:
                others = {other for theirs, others in below if theirs != name for other in others}
                if both := sorted(others.intersection(members)):
                    raise ValueError(
                        f"exclusive: expected disjoint concepts, got {both} below two of {group}; remove one"
                    )
                for member in members:
                    self._excluded[member] |= others

    def _climb(self, name: str, path: tuple[str, ...]) -> frozenset[str]:
        if name not in self._parents:
            raise ValueError(f"parents: expected an entry for {name!r}, the parent of {path[-1]!r}, got none; add it")
        if name in path:
            raise ValueError(f"parents: expected no cycle, got {' < '.join((*path, name))}; remove a parent")
        return frozenset({name}).union(*(self._climb(above, (*path, name)) for above in self._parents[name]))

    def is_a(self, narrow: str, wide: str) -> bool:
        """Check whether `wide` equals `narrow` or is a hypernym of `narrow`."""
        return wide in self._ancestors[narrow]

    def excludes(self, one: str, other: str) -> bool:
        """Check whether two concepts exclude each other."""
        return other in self._excluded[one]

    def are_related(self, one: str, other: str) -> bool:
        """Check whether one of two concepts is a hyponym of the other, or both are equal."""
        return self.is_a(one, other) or self.is_a(other, one)

    def list_ancestors(self, name: str) -> list[str]:
        """List the hypernyms of a concept, sorted by name."""
        return sorted(self._ancestors[name] - {name})

    def list_descendants(self, name: str) -> list[str]:
        """List a concept and its hyponyms, in the order of declaration."""
        return [other for other, above in self._ancestors.items() if name in above]

    def list_exclusive(self, name: str) -> list[str]:
        """List the concepts that exclude a concept, sorted by name."""
        return sorted(self._excluded[name])


AGE: Final = ("young", "old")
SIZE: Final = ("big", "small", "huge", "tiny")
HEIGHT: Final = ("tall", "short")
MOOD: Final = ("happy", "sad", "tired")
FUR: Final = ("black", "white", "brown")
COLOUR: Final = ("red", "blue", "green", "yellow", "black", "white")
STATE: Final = ("wet", "dirty")


class Noun(NamedTuple):
    """Noun of the lexicon."""

    concept: str  # name in `NOUNS`
    parents: tuple[str, ...] = ()  # direct hypernyms
    words: tuple[tuple[str, str], ...] = ()  # synonyms as (singular, plural); empty for abstract concepts
    adjectives: tuple[str, ...] = ()  # concepts in `ADJECTIVES` that may modify the noun
    implies: tuple[str, ...] = ()  # adjectives that the noun implies ("young" for a puppy)
    outdoor: bool = False  # whether the noun occurs only outdoors (a cow, a bus)
    mass: bool = False  # singular, without article ("coffee")


def _regular(words: str, parents: str = "", adjectives: tuple[str, ...] = (), outdoor: bool = False) -> list[Noun]:
    """Build nouns with regular plurals, named after their words."""
    return [
        Noun(
            word, tuple(parents.split()), ((word, word + ("es" if word[-1] in "xh" else "s")),), adjectives, (), outdoor
        )
        for word in words.split()
    ]


def _mass(words: str, parents: str = "") -> list[Noun]:
    return [Noun(word, tuple(parents.split()), ((word, word),), mass=True) for word in words.split()]


_ADULT: Final = AGE + HEIGHT + MOOD
_CHILD: Final = SIZE[:2] + MOOD
_ANIMAL: Final = AGE + SIZE[:2] + FUR + STATE
_PET: Final = AGE + SIZE + FUR + STATE
_INFANT: Final = SIZE + FUR + STATE  # The noun implies the age.
_THING: Final = SIZE[:2] + COLOUR

_NOUNS: Final = (
    # people
    Noun("person", (), (("person", "people"),), AGE + MOOD),
    Noun("adult", ("person",), (("adult", "adults"),), MOOD),
    Noun("child", ("person",), (("child", "children"), ("kid", "kids")), _CHILD, ("young",)),
    Noun("male"),
    Noun("female"),
    Noun("woman", ("adult", "female"), (("woman", "women"),), _ADULT),
    Noun("man", ("adult", "male"), (("man", "men"),), _ADULT),
    Noun("girl", ("child", "female"), (("girl", "girls"),), _CHILD),
    Noun("boy", ("child", "male"), (("boy", "boys"),), _CHILD),
    *_regular("toddler", "child", MOOD),
    *_regular("chef farmer nurse teacher", "adult", _ADULT),
    # animals
    *_regular("animal", "", AGE + FUR + STATE),
    *_regular("dog cat", "animal", _PET),
    *_regular("poodle terrier", "dog", _ANIMAL),
    Noun("puppy", ("dog",), (("puppy", "puppies"),), _INFANT, ("young",)),
    Noun("kitten", ("cat",), (("kitten", "kittens"),), _INFANT, ("young",)),
    *_regular("horse cow goat", "animal", _ANIMAL, outdoor=True),
    Noun("pony", ("horse",), (("pony", "ponies"),), FUR + STATE, outdoor=True),
    Noun("sheep", ("animal",), (("sheep", "sheep"),), AGE + SIZE[:2] + FUR[:2] + STATE, outdoor=True),
    # things
    Noun("thing"),
    *_regular("book newspaper magazine", "thing", AGE[1:] + SIZE[:2]),
    *_regular("novel", "book", AGE[1:]),
    *_mass("food", "thing"),
    *_mass("fruit bread soup", "food"),
    *_regular("apple", "fruit", ("red", "green", *SIZE[:2])),
    *_regular("banana pear", "fruit", SIZE[:2]),
    *_regular("sandwich cake", "food", SIZE[:2]),
    Noun("beverage", ("thing",), (("beverage", "beverages"),)),
    *_mass("coffee tea juice water", "beverage"),
    *_regular("instrument", "thing", AGE[1:]),
    *_regular("guitar violin piano flute drum", "instrument", ("old", "black", "white", "red")),
    *_regular("vehicle", "thing", AGE[1:] + COLOUR, outdoor=True),
    *_regular("car truck bus", "vehicle", AGE[1:] + COLOUR + STATE[1:], outdoor=True),
    *_regular("taxi", "car", ("old", "yellow", "black", "dirty"), outdoor=True),
    Noun("bicycle", ("vehicle",), (("bicycle", "bicycles"), ("bike", "bikes")), AGE[1:] + COLOUR, outdoor=True),
    *_regular("boat cart sled", "thing", AGE[1:] + _THING, outdoor=True),
    *_regular("ball", "thing", _THING),
    *_regular("football basketball", "ball", ("old", "dirty")),
    *_regular("box basket ladder", "thing", _THING),
    *_regular("fence wall", "thing", ("old", *COLOUR), outdoor=True),
    *_regular("door window table", "thing", ("old", *SIZE[:2], "white", "green", "dirty")),
    *_regular("plant", "thing", SIZE[:2]),
    *_regular("flower", "plant", ("big", "small", "red", "yellow", "white", "blue")),
    *_regular("rose tulip", "flower", ("red", "yellow", "white")),
    # clothes and carried objects of people and pets
    *_regular("coat", "thing", COLOUR),
    *_regular("raincoat", "coat", COLOUR),
    *_regular("hat", "thing", COLOUR),
    *_regular("cap", "hat", COLOUR),
    Noun("scarf", ("thing",), (("scarf", "scarves"),), COLOUR),
    *_regular("shirt", "thing", COLOUR),
    *_regular("umbrella", "thing", COLOUR),
    *_regular("bag", "thing", COLOUR),
    *_regular("backpack", "bag", COLOUR),
    *_regular("collar", "thing", COLOUR),
)

NOUN: Final = {noun.concept: noun for noun in _NOUNS}
NOUNS: Final = Taxonomy(
    {noun.concept: noun.parents for noun in _NOUNS},
    [
        ("person", "animal", "thing"),
        ("adult", "child"),
        ("male", "female"),
        (
            "chef",
            "farmer",
            "nurse",
            "teacher",
        ),  # A person may have two of these roles, but not in a caption and its paraphrase.
        ("dog", "cat", "horse", "cow", "goat", "sheep"),
        ("poodle", "terrier"),
        ("book", "newspaper", "magazine"),
        ("fruit", "bread", "soup", "sandwich", "cake"),
        ("apple", "banana", "pear"),
        ("coffee", "tea", "juice", "water"),
        ("food", "beverage", "instrument", "vehicle", "plant", "ball", "fence", "wall", "door", "window", "table"),
        ("guitar", "violin", "piano", "flute", "drum"),
        ("car", "truck", "bus", "bicycle"),
        ("vehicle", "boat", "cart", "sled"),
        ("football", "basketball"),
        ("box", "basket", "ladder", "bag"),
        ("rose", "tulip"),
    ],
)

WORN: Final = ("coat", "raincoat", "hat", "cap", "scarf", "shirt")
CARRIED: Final = ("umbrella", "bag", "backpack")
PET_GEAR: Final = ("collar",)


class Adjective(NamedTuple):
    """Adjective: concept, synonyms, direct hypernyms, and position before the noun."""

    concept: str
    words: tuple[str, ...]
    place: int
    parents: tuple[str, ...] = ()


_ADJECTIVES: Final = (
    *(Adjective(word, (word,), 0) for word in ("sad", "tired", "wet", "dirty")),
    Adjective("happy", ("happy", "cheerful"), 0),
    Adjective("big", ("big", "large"), 1),
    Adjective("small", ("small", "little"), 1),
    Adjective("huge", ("huge",), 1, ("big",)),
    Adjective("tiny", ("tiny",), 1, ("small",)),
    *(Adjective(word, (word,), 1) for word in HEIGHT),
    *(Adjective(word, (word,), 2) for word in AGE),
    *(Adjective(word, (word,), 3) for word in (*COLOUR, "brown")),
)
ADJECTIVE: Final = {adjective.concept: adjective for adjective in _ADJECTIVES}
ADJECTIVES: Final = Taxonomy(
    {adjective.concept: adjective.parents for adjective in _ADJECTIVES},
    [("young", "old"), ("big", "small"), ("tall", "short"), ("happy", "sad"), (*COLOUR, "brown")],
)
RELATIVE: Final = frozenset(SIZE + HEIGHT)
"""Adjectives that depend on the noun: a big puppy need not be a big animal."""


def get_implied_adjectives(noun: str) -> frozenset[str]:
    """Look up the adjectives that a noun implies, including those of its hypernyms.

    >>> sorted(get_implied_adjectives("girl"))
    ['young']
    """
    return _TRAITS[noun]


_TRAITS: Final = {
    name: frozenset(trait for above in (name, *NOUNS.list_ancestors(name)) for trait in NOUN[above].implies)
    for name in NOUN
}


class Verb(NamedTuple):
    """Verb of the lexicon."""

    concept: str  # name in `VERBS`
    parents: tuple[str, ...] = ()  # direct hypernyms
    # Synonyms as (present participle, past participle); without the latter, the verb has no passive.
    words: tuple[tuple[str, str], ...] = ()
    agents: tuple[str, ...] = ()  # hypernyms of possible agents
    patients: tuple[str, ...] = ()  # hypernyms of possible patients; empty for an intransitive verb
    optional: bool = False  # whether the object is optional ("is reading")
    where: tuple[str, ...] = ()  # hypernyms of possible places; empty for any place
    together: bool = False  # whether the verb needs two or more agents ("are chatting")
    joined: bool = True  # whether "A does it with B" means that both do it, which is false for "sleep"


_BEINGS: Final = ("person", "animal")
_SMALL_PETS: Final = ("puppy", "kitten", "cat")

_VERBS: Final = (
    # These three concepts have no words. They only exclude each other's hyponyms.
    Verb("active"),
    Verb("work", ("active",)),
    Verb("upright"),
    # intransitive verbs
    Verb("rest", (), (("resting", ""),), _BEINGS, joined=False),
    Verb("sleep", ("rest",), (("sleeping", ""),), _BEINGS, joined=False),
    Verb("nap", ("sleep",), (("napping", ""), ("taking a nap", "")), _BEINGS, joined=False),
    Verb("sit", (), (("sitting", ""),), _BEINGS),
    Verb("stand", ("active",), (("standing", ""),), _BEINGS),
    Verb("lie", (), (("lying down", ""),), _BEINGS, joined=False),
    Verb("move", ("active",), (("moving around", ""),), _BEINGS),
    Verb("run", ("move",), (("running", ""),), _BEINGS),
    Verb("sprint", ("run",), (("sprinting", ""),), _BEINGS),
    Verb("jog", ("run",), (("jogging", ""),), ("person",)),
    Verb("walk", ("move",), (("walking", ""),), _BEINGS),
    Verb("stroll", ("walk",), (("strolling", ""),), ("person",)),
    Verb("jump", ("move",), (("jumping", ""), ("leaping", "")), _BEINGS),
    Verb("dance", ("move",), (("dancing", ""),), ("person",)),
    Verb("play", ("active",), (("playing", ""),), ("person", "dog", "cat")),
    Verb("make_music", ("active",), (("making music", ""),), ("person",)),
    Verb("sing", ("make_music",), (("singing", ""),), ("person",)),
    Verb("talk", ("active",), (("talking", ""),), ("person",), together=True),
    Verb("chat", ("talk",), (("chatting", ""),), ("person",), together=True),
    # Transitive verbs between beings. If both roles allow the same nouns, the swapped sentence is fluent too.
    Verb("follow", ("move",), (("following", "followed"),), _BEINGS, _BEINGS),
    Verb("chase", ("follow",), (("chasing", "chased"), ("running after", "")), _BEINGS, _BEINGS),
    Verb(
        "photograph",
        ("active",),
        (("photographing", "photographed"), ("taking a picture of", "")),
        ("person",),
        _BEINGS,
    ),
    Verb("draw", ("active",), (("drawing", "drawn"), ("sketching", "sketched")), ("person",), _BEINGS),
    Verb("teach", ("active",), (("teaching", "taught"),), ("adult", "girl", "boy"), ("adult", "girl", "boy")),
    Verb("interview", ("active",), (("interviewing", "interviewed"),), ("adult",), ("person",)),
    Verb("lift", ("work", "upright"), (("lifting", "lifted"),), ("person",), ("person", "dog", "cat")),
    Verb("splash", ("active",), (("splashing", "splashed"),), _BEINGS, ("person", "dog", "horse"), where=("outdoors",)),
    Verb("rescue", ("active",), (("rescuing", "rescued"),), ("person", "dog", "horse"), _BEINGS, where=("outdoors",)),
    Verb("lick", ("active",), (("licking", "licked"),), ("dog", "cat"), ("person", "dog", "cat")),
    Verb("feed", ("work",), (("feeding", "fed"),), ("adult", "girl", "boy"), ("animal", "toddler")),
    Verb("clean", ("work",), (("cleaning", "cleaned"),), ("person",), ("vehicle", "window", "table", "dog", "horse")),
    Verb("wash", ("clean",), (("washing", "washed"),), ("person",), ("vehicle", "window", "dog", "horse")),
    Verb("brush", ("work",), (("brushing", "brushed"),), ("person",), ("dog", "cat", "horse")),
    Verb("milk", ("work",), (("milking", "milked"),), ("adult",), ("cow", "goat"), where=("field", "barn", "farm")),
    Verb("walk_dog", ("walk",), (("walking", "walked"),), ("person",), ("dog",), where=("outdoors",)),
    Verb("ride", ("active",), (("riding", "ridden"),), ("person",), ("horse", "bicycle"), where=("outdoors",)),
    Verb("hold", (), (("holding", "held"),), ("adult",), (*_SMALL_PETS, "toddler", "box", "basket")),
    Verb(
        "carry",
        ("hold", "work", "upright"),
        (("carrying", "carried"),),
        ("adult",),
        (*_SMALL_PETS, "toddler", "box", "basket", "ladder"),
    ),
    # transitive verbs with things
    Verb(
        "read", ("active",), (("reading", "read"),), ("adult", "girl", "boy"), ("book", "newspaper", "magazine"), True
    ),
    Verb("eat", (), (("eating", "eaten"),), ("person",), ("food",), True),
    Verb("drink", (), (("drinking", ""),), ("person",), ("beverage",)),
    Verb("play_instrument", ("make_music",), (("playing", "played"),), ("person",), ("instrument",)),
    Verb("drive", ("active",), (("driving", "driven"),), ("adult",), ("car", "truck", "bus"), where=("street", "farm")),
    Verb(
        "repair",
        ("work",),
        (("repairing", "repaired"), ("fixing", "fixed")),
        ("adult",),
        ("vehicle", "boat", "cart", "fence"),
        where=("outdoors", "barn"),
    ),
    Verb("paint", ("work",), (("painting", "painted"),), ("person",), ("boat", "fence", "wall", "door", "table")),
    Verb("push", ("work", "upright"), (("pushing", "pushed"),), ("person",), ("cart", "sled", "person")),
    Verb(
        "pull",
        ("work", "upright"),
        (("pulling", "pulled"), ("dragging", "dragged")),
        ("person", "horse"),
        ("cart", "sled", "boat"),
    ),
    Verb("play_ball", ("play",), (("playing with", ""),), ("person", "dog", "cat"), ("ball",)),
    Verb("throw", ("play_ball", "upright"), (("throwing", "thrown"),), ("person",), ("ball",)),
    Verb("kick", ("play_ball", "upright"), (("kicking", "kicked"),), ("person",), ("ball",)),
    Verb("catch", ("play_ball",), (("catching", "caught"),), ("person", "dog"), ("ball",)),
    Verb("buy", ("active",), (("buying", ""),), ("person",), ("food", "flower"), where=("market",)),
    Verb("sell", ("work",), (("selling", ""),), ("adult",), ("food", "flower"), where=("market",)),
    Verb("cook", ("work",), (("cooking", "cooked"),), ("adult",), ("soup", "food"), True, ("kitchen", "restaurant")),
    Verb("water", ("work",), (("watering", "watered"),), ("person",), ("plant",), where=("garden", "park", "kitchen")),
    Verb("pick", ("work",), (("picking", "picked"),), ("person",), ("flower", "fruit"), where=("garden", "field")),
)

VERB: Final = {verb.concept: verb for verb in _VERBS}
_HANDS_FULL: Final = (
    *("read", "photograph", "draw", "feed", "clean", "brush", "milk", "carry", "push", "pull", "ride", "drive"),
    *("paint", "repair", "play_instrument", "cook", "water", "pick"),
)
_LIVELY: Final = ("run", "jump", "dance", "chase")
_ON_THE_SPOT: Final = ("draw", "clean", "brush", "milk", "paint", "repair", "cook")
_QUIET: Final = (*_ON_THE_SPOT, "read", "feed", "water", "pick", "teach", "interview", "lick", "ride", "drive")
VERBS: Final = Taxonomy(
    {verb.concept: verb.parents for verb in _VERBS},
    [
        ("sleep", "active"),
        ("rest", "move"),
        ("rest", "work"),
        ("sit", "stand", "lie", "move"),
        ("sit", "upright"),
        ("lie", "work"),
        ("lie", "upright"),
        ("lie", "ride"),
        ("lie", "drive"),
        ("ride", "walk"),
        ("drive", "walk"),
        ("stand", "ride"),
        ("stand", "drive"),
        ("run", "walk", "jump", "dance"),
        ("chase", "walk"),
        ("follow", "dance"),
        ("sprint", "jog"),
        ("sleep", "eat"),
        ("sleep", "drink"),
        ("eat", "drink", "sing"),
        ("sing", "talk"),
        ("throw", "kick", "catch"),
        ("buy", "sell"),
        ("chase", "rescue"),
        *product(("splash", "rescue"), ("rest", "sit", "photograph", "draw", "teach", "interview", "read", "eat")),
        *product(("splash", "rescue", "lift"), ("drink", "dance", "sing")),
        *product(
            ("lift",), ("read", "photograph", "draw", "feed", "clean", "brush", "paint", "cook", "teach", "chase")
        ),
        _HANDS_FULL,
        *product(_LIVELY, _QUIET),
        *product(("walk", "follow"), _ON_THE_SPOT),
    ],
)

INDEPENDENT: Final = frozenset(
    frozenset(pair)
    for pair in (
        *product(("sit", "stand"), ("read", "eat", "drink", "sing", "draw", "photograph", "feed", "play_instrument")),
        *product(("sit",), ("talk", "chat", "rest", "nap", "sleep", "teach", "interview")),
        *product(("stand",), ("talk", "chat", "teach", "interview", "paint", "wash", "brush", "hold")),
        *product(("eat", "drink"), ("read", "walk", "stroll", "talk")),
        *product(("sing",), ("dance", "walk", "stroll", "cook", "jump", "paint", "wash")),
        *product(("lie",), ("read", "sing", "rest")),
        *product(("play",), ("run", "jump", "sing")),
    )
)
"""Pairs of verbs that are clearly independent, so that the label is neutral."""


class Phrase(NamedTuple):
    """Place or time: concept, synonymous phrases, and direct hypernyms."""

    concept: str
    words: tuple[str, ...]
    parents: tuple[str, ...] = ()


_PLACES: Final = (
    Phrase("outdoors", ("outdoors", "outside")),
    Phrase("indoors", ("indoors", "inside")),
    Phrase("near_water", ("near the water",)),
    Phrase("beach", ("on the beach",), ("outdoors", "near_water")),
    Phrase("park", ("in the park",), ("outdoors",)),
    Phrase("street", ("on the street",), ("outdoors",)),
    Phrase("garden", ("in the garden",), ("outdoors",)),
    Phrase("field", ("in the field",), ("outdoors",)),
    Phrase("forest", ("in the forest", "in the woods"), ("outdoors",)),
    Phrase("market", ("at the market",), ("outdoors",)),
    Phrase("farm", ("on the farm",)),  # A barn is on a farm too, so a farm is not always outdoors.
    Phrase("river", ("near the river", "by the river"), ("outdoors", "near_water")),
    Phrase("lake", ("near the lake", "by the lake"), ("outdoors", "near_water")),
    Phrase("kitchen", ("in the kitchen",), ("indoors",)),
    Phrase("living_room", ("in the living room",), ("indoors",)),
    Phrase("school", ("at the school",)),
    Phrase("classroom", ("in the classroom",), ("indoors", "school")),
    Phrase("restaurant", ("in the restaurant",), ("indoors",)),
    Phrase("library", ("in the library",), ("indoors",)),
    Phrase("barn", ("in the barn",), ("indoors", "farm")),
)
PLACE: Final = {place.concept: place for place in _PLACES}
PLACES: Final = Taxonomy(
    {place.concept: place.parents for place in _PLACES},
    [
        ("outdoors", "indoors"),
        ("beach", "park", "street", "garden", "field", "forest", "market"),
        ("farm", "beach"),
        ("farm", "park"),
        ("farm", "market"),
        ("farm", "library"),
        ("farm", "classroom"),
        ("kitchen", "living_room", "classroom", "restaurant", "library", "barn"),
    ],
)
VAGUE_PLACES: Final = frozenset({"outdoors", "indoors", "near_water", "farm", "school"})
"""Places that other places imply. An action may suggest them, so they occur only if the premise implies them."""

_TIMES: Final = (
    Phrase("day", ("during the day",)),
    Phrase("morning", ("in the morning", "early in the morning"), ("day",)),
    Phrase("afternoon", ("in the afternoon",), ("day",)),
    Phrase("sunny", ("on a sunny day",), ("day",)),
    Phrase("night", ("at night",)),
)
TIME: Final = {time.concept: time for time in _TIMES}
TIMES: Final = Taxonomy(
    {time.concept: time.parents for time in _TIMES},
    [("day", "night"), ("morning", "afternoon")],
)


class Count(NamedTuple):
    """Number of entities: at least `low`, at most `high`, with the determiner `word`."""

    low: int
    high: int
    word: str


_MANY: Final = 10**6  # more than in any picture
COUNTS: Final = {
    "one": Count(1, _MANY, "a"),  # "A dog" means at least one dog, so it is also true of two dogs.
    "some": Count(2, _MANY, "some"),
    "two": Count(2, 2, "two"),
    "three": Count(3, 3, "three"),
    "four": Count(4, 4, "four"),
    "several": Count(3, _MANY, "several"),
}


def nouns_under(roots: Sequence[str]) -> list[str]:
    """List the nouns with words that are hyponyms of the roots, in the order of declaration."""
    return [noun.concept for noun in _NOUNS if noun.words and any(NOUNS.is_a(noun.concept, root) for root in roots)]
