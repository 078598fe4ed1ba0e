"""Word lists for substitution, by category, with the effect of a replacement on the truth of a sentence.

The lists were written for unbag from general knowledge. They follow two rules. First, all words of a list fit the same
position in a sentence: they have the same part of speech and inflection, so that only a/an may need to change. Second,
no two co-hyponyms or antonyms of a list can be true of the same thing in the same event. Words with another frequent
meaning (*orange* is a fruit, *second* a moment) can be replacements, but are not replaced.
"""

from typing import Final, NamedTuple

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import is_plural_phrase, pluralize_noun

LABEL_BY_RELATION: Final = {
    WordNetRelation.CO_HYPONYM: CONTRADICTION,
    WordNetRelation.ANTONYM: CONTRADICTION,
    WordNetRelation.SYNONYM: ENTAILMENT,
    WordNetRelation.HYPONYM: ENTAILMENT,  # the replaced word is a hyponym of the new one
    WordNetRelation.HYPERNYM: NEUTRAL,
}
"""Label of a pair, by the relation of the replaced word to the new one."""


class WordList(NamedTuple):
    """A category of words that can be replaced, and their possible replacements."""

    category: str
    relation: WordNetRelation  # relation of each replaced word to each new one
    old: tuple[str, ...]
    new: tuple[str, ...]  # replacements. A word is never replaced by itself.


def _both_numbers(nouns: str) -> list[tuple[str, ...]]:
    """Build two lists, the nouns and their plurals."""
    words = _words(nouns)
    return [words, tuple(map(pluralize_noun, words))]


def _words(text: str) -> tuple[str, ...]:
    """Split a text into the words of a list; `_` stands for a space within a word."""
    return tuple(word.replace("_", " ") for word in text.split())


def _exclusive(category: str, *lists: tuple[str, ...], only_new: str = "") -> list[WordList]:
    """Build lists of co-hyponyms; the words of `only_new` are replacements but are not replaced."""
    not_replaced = set(_words(only_new))
    return [
        WordList(category, WordNetRelation.CO_HYPONYM, tuple(word for word in words if word not in not_replaced), words)
        for words in lists
    ]


def _pairs(category: str, relation: WordNetRelation, text: str) -> list[WordList]:
    """Build one list per word pair or set, for replacements in both directions."""
    # One text and not a tuple per pair, which would fill several pages.
    sets = [_words(line) for line in text.split("/")]
    return [WordList(category, relation, words, words) for words in sets]


def _directed(category: str, relation: WordNetRelation, text: str) -> list[WordList]:
    """Build one list per `old … > new …`."""
    sides = [line.split(">") for line in text.split("/")]
    return [WordList(category, relation, _words(old), _words(new)) for old, new in sides]


def _kinds(category: str, nouns: str, above: str) -> list[WordList]:
    """Build lists that replace nouns by their hypernyms, in singular and plural."""
    sides = zip(_both_numbers(nouns), _both_numbers(above), strict=True)
    return [WordList(category, WordNetRelation.HYPONYM, old, new) for old, new in sides]


_CO_HYPONYMS: Final = [
    *_exclusive(
        "cardinals",
        _words("two three four five six seven eight nine ten eleven twelve"),
        _words("2 3 4 5 6 7 8 9 10 11 12"),
    ),
    *_exclusive(
        "ordinals",
        _words("first second third fourth fifth sixth seventh eighth ninth tenth"),
        _words("1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th"),
        only_new="second",
    ),
    *_exclusive(
        "colors",
        _words("red blue green yellow black white brown pink purple orange gray"),
        only_new="orange",
    ),
    *_exclusive(
        "nationalities",
        _words("Chinese Japanese Korean Vietnamese Thai Indian Pakistani Indonesian"),
        _words("French German Italian Spanish Greek Swedish Norwegian Dutch Polish Russian Irish"),
        _words("Mexican Brazilian Peruvian Chilean Argentinian Cuban"),
        _words("American Canadian Australian British"),
        _words("Nigerian Kenyan Egyptian Moroccan Ethiopian"),
    ),
    *_exclusive(
        "countries",
        _words("China Japan Vietnam Thailand India Pakistan Indonesia Malaysia Singapore"),
        _words("France Germany Italy Spain Greece Sweden Norway Poland Russia Ireland England Scotland Portugal"),
        _words("Mexico Brazil Peru Chile Argentina Cuba Venezuela"),
        _words("America Canada Australia"),
        _words("Nigeria Kenya Egypt Morocco Ethiopia"),
    ),
    *_exclusive(
        "materials", _words("wooden metal plastic glass stone brick concrete leather cardboard"), only_new="glass"
    ),
    *_exclusive(
        "rooms",
        *_both_numbers("kitchen bathroom bedroom living_room dining_room classroom garage hallway courtroom balcony"),
    ),
    *_exclusive(
        "instruments",
        *_both_numbers(
            "guitar piano violin cello trumpet saxophone flute clarinet accordion banjo harmonica tuba harp"
        ),
    ),
    *_exclusive("vegetables", *_both_numbers("carrot tomato potato cucumber onion pumpkin cabbage")),
    *_exclusive("fruits", *_both_numbers("apple banana pear peach watermelon strawberry pineapple lemon")),
    *_exclusive("drinks", _words("beer wine coffee tea milk lemonade soda vodka")),
    *_exclusive("planets", _words("Mercury Venus Mars Jupiter Saturn Uranus Neptune")),
    *_exclusive(
        "animals",
        *_both_numbers("dog cat horse cow goat pig rabbit monkey elephant camel donkey lion tiger bear"),
    ),
    *_exclusive(
        "sports",
        _words("soccer tennis rugby hockey golf lacrosse"),
        _words("basketball baseball volleyball softball"),  # games and also balls
    ),
    *_exclusive(
        "vehicles",
        *_both_numbers("car truck bus van bicycle motorcycle tractor scooter taxi train boat helicopter"),
    ),
    *_exclusive(
        "buildings",
        *_both_numbers("church school hospital museum restaurant supermarket barn warehouse"),
    ),
    *_exclusive("weekdays", _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")),
    *_exclusive("seasons", _words("spring summer autumn winter"), only_new="spring"),
    *_exclusive(
        "postures",
        _words("sitting standing kneeling lying"),
        _words("sits stands kneels lies"),
        only_new="lying lies",
    ),
    *_exclusive(
        "movements",
        _words("walking running crawling swimming"),
        _words("walks runs crawls swims"),
    ),
]

_ANTONYMS: Final = _pairs(
    "antonyms",
    WordNetRelation.ANTONYM,
    "young old / big small / large small / large tiny / huge tiny / tall short / happy sad / empty full / wet dry"
    "/ hot cold / open closed / clean dirty / inside outside / indoors outdoors / indoor outdoor / above below"
    "/ in_front_of behind / upstairs downstairs / daytime nighttime / asleep awake / sunny rainy / male female"
    "/ smiling frowning / laughing crying / buying selling / buys sells / winning losing / many few"
    "/ everybody nobody / everyone nobody / always never / rich poor / noisy quiet / crowded deserted / crowded empty"
    "/ near far_from / near far_away_from / close_to far_from / close_to far_away_from / during_the_day at_night"
    "/ in_the_morning at_night / in_the_afternoon at_night"
    "/ busy idle / smooth rough / narrow wide / shallow deep / heavy light"
    "/ fast slow / quickly slowly / man woman / men women / boy girl / boys girls"
    "/ mother father / son daughter / brother sister / grandmother grandfather / husband wife / bride groom"
    "/ king queen"
    "/ morning evening / sunrise sunset / pushing pulling / pushes pulls / entering leaving / enters leaves"
    "/ ascending descending / arriving departing / opening closing / opens closes",
)

_SYNONYMS: Final = [
    *_pairs(
        "synonyms",
        WordNetRelation.SYNONYM,
        "couch sofa / couches sofas / kid child / kids children / mom mother / mommy mother / moms mothers / dad father"
        "/ daddy father / dads fathers / big large / small little / happy joyful / happy glad / bicycle bike"
        "/ bicycles bikes / motorcycle motorbike / motorcycles motorbikes / television tv / photo photograph"
        "/ photos photographs / shop store / shops stores / garbage trash / beside next_to / near close_to"
        "/ nobody no_one / everybody everyone / somebody someone / cop police_officer / cops police_officers"
        "/ movie film / movies films / huge enormous / quickly rapidly / speaking talking / speaks talks"
        "/ shouting yelling / shouts yells / airplane plane / airplanes planes / taxi cab / taxis cabs"
        "/ physician doctor / physicians doctors / attorney lawyer / attorneys lawyers / grandma grandmother"
        "/ grandpa grandfather / bunny rabbit / bunnies rabbits / puppy young_dog / puppies young_dogs"
        "/ begins starts / beginning starting / pants trousers / sidewalk pavement / ocean sea / beneath under"
        "/ underneath under / ill sick / angry mad / infant baby / infants babies / automobile car / automobiles cars"
        "/ gray grey / woods forest / drapes curtains / rug carpet / rugs carpets / sad unhappy / leaps jumps"
        "/ leaping jumping / cuts slices / observes watches / observing watching",
    ),
    *_directed("synonyms", WordNetRelation.SYNONYM, "gift > present / gifts > presents"),
]

_HYPERNYMS: Final = [
    *_kinds("hypernyms", "dog cat horse cow goat pig rabbit monkey elephant camel donkey lion tiger", "animal"),
    *_kinds("hypernyms", "poodle labrador beagle bulldog terrier collie greyhound chihuahua puppy", "dog"),
    *_kinds(
        "hypernyms",
        "guitar piano violin cello trumpet saxophone flute clarinet accordion banjo harmonica tuba harp",
        "instrument musical_instrument",
    ),
    *_kinds("hypernyms", "carrot tomato potato cucumber onion cabbage", "vegetable"),
    *_kinds("hypernyms", "car truck bus van motorcycle tractor taxi", "vehicle"),
    *_kinds("hypernyms", "man woman boy girl lady gentleman child teenager toddler adult", "person"),
    *_kinds("hypernyms", "boy girl toddler", "child"),
    *_kinds("hypernyms", "guitarist drummer violinist pianist cellist trumpeter saxophonist", "musician"),
    *_kinds("hypernyms", "church school hospital museum library hotel barn warehouse skyscraper", "building"),
    *_kinds("hypernyms", "rose tulip daisy sunflower lily", "flower"),
    *_kinds("hypernyms", "hammer screwdriver wrench shovel saw", "tool"),
    *_kinds("hypernyms", "oak willow pine birch maple", "tree"),
    *_kinds("hypernyms", "duck goose swan pigeon parrot eagle seagull", "bird"),
    *_kinds("hypernyms", "doll teddy_bear frisbee", "toy"),
    *_kinds("hypernyms", "mother father", "parent"),
    *_kinds("hypernyms", "surgeon nurse policeman firefighter waitress waiter teacher farmer", "person"),
    *_directed(
        "hypernyms",
        WordNetRelation.HYPONYM,
        "kitchen bathroom bedroom living_room dining_room classroom courtroom > room"
        "/ jogging sprinting > running / jogs sprints > runs / strolling marching > walking / strolls marches > walks"
        "/ whispering shouting chatting > talking",
    ),
]

WORD_LISTS: Final[tuple[WordList, ...]] = (*_CO_HYPONYMS, *_ANTONYMS, *_SYNONYMS, *_HYPERNYMS)

_NOT_IN_TEXT: Final = frozenset(
    _words(
        "young old above below inside outside behind in_front_of at_night during_the_day in_the_morning"
        " in_the_afternoon morning evening small little shop shops store stores cuts slices observes watches"
        " observing watching leaps jumps leaping jumping ocean sea woods forest angry mad close_to under light heavy"
        " short fast full saw rose leaves opening nurse duck pine harp plane planes doctor doctors king queen tall"
    )
)
"""Words that are not replaced in written text, which also uses them in other meanings (*the philosophy behind it*, *tax
cuts*, *the old days*) or for habits (*nurse at night*)."""


def _select_text_lists() -> tuple[WordList, ...]:
    """Select the lists of antonyms, synonyms and hypernyms, with the words that can be replaced in written text."""
    plurals = {pluralize_noun(word) for words in _HYPERNYMS for word in words.old if not is_plural_phrase(word)}
    lists = []
    for words in (*_ANTONYMS, *_SYNONYMS, *_HYPERNYMS):
        is_hypernym = words.relation is WordNetRelation.HYPONYM
        if is_hypernym and "building" in words.new:
            continue  # the school has decided: an institution, not a building
        # A plural is often generic: what is true of children need not be true of people.
        unsuitable = _NOT_IN_TEXT | plurals if is_hypernym else _NOT_IN_TEXT
        if old := tuple(word for word in words.old if word not in unsuitable):
            lists.append(words._replace(old=old))
    return tuple(lists)


TEXT_LISTS: Final = _select_text_lists()
"""Lists for written text. Co-hyponyms are omitted, because they exclude each other only in one event: *Bell peppers are
grown in summer* does not contradict *in winter*. Numbers and names of a text have rules of their own."""

_NOT_ONLY_NOUNS: Final = _words("building talking running walking runs walks")


def _reversed(lists: list[WordList]) -> list[WordList]:
    """Build lists that replace a noun by its hyponyms, from lists in the other direction."""
    below: dict[str, list[str]] = {}
    for words in lists:
        for above in words.new:
            below.setdefault(above, []).extend(words.old)
    return [
        WordList("hyponyms", WordNetRelation.HYPERNYM, (above,), tuple(dict.fromkeys(words)))
        for above, words in below.items()
        if above not in _NOT_ONLY_NOUNS
    ]


NEUTRAL_LISTS: Final[tuple[WordList, ...]] = tuple(_reversed(_HYPERNYMS))
"""Lists that replace a noun by a hyponym. The new sentence is more specific, so the premise need not entail it."""

CATEGORIES: Final = tuple(dict.fromkeys(words.category for words in WORD_LISTS))
"""Categories, with the names of Glockner et al. 2018 (Table 4) for those that they share."""

_IN: Final = (
    "kitchen bathroom bedroom living_room dining_room classroom garage hallway courtroom car truck van taxi helicopter"
)
_ON: Final = "balcony bus bicycle motorcycle tractor scooter train boat"
PREPOSITION_BY_NOUN: Final = {
    word: preposition
    for preposition, nouns in (("in", _IN), ("on", _ON))
    for words in _both_numbers(nouns)
    for word in words
}
"""Preposition of location for places and vehicles ("in the car", "on the bus") whose lists mix both prepositions."""

FIXED_PHRASES: Final[frozenset[str]] = frozenset(
    {
        *("black and white", "red light", "green light", "white wine", "red wine", "red cross", "white house"),
        *("orange juice", "hot dog", "hot dogs", "hot tub", "cold cuts", "first aid", "first base", "second base"),
        *("third base", "first person", "first place", "one of two", "year old", "years old", "old fashioned"),
        *("a little bit", "little bit", "little league", "big top", "open air", "open mouth", "old school"),
        *("light blue", "dark blue", "light green", "dark green", "light brown", "dark brown", "light up"),
        *("ice cream", "sand castle", "grand piano", "air guitar", "bass guitar", "guitar hero", "teddy bear"),
        *("carousel horse", "sea lion", "sea horse", "guinea pig", "stuffed dog", "hot chocolate", "root beer"),
        *("high school", "school bus", "tennis shoes", "golf cart", "soccer mom", "table tennis"),
        *("train tracks", "train track", "train station", "bus stop", "bus station", "boat house", "car seat"),
        *("spring break", "snow man", "old spice", "black belt", "green thumb", "heavy metal", "full of", "many of"),
        *("standing up", "sitting up", "lying down", "sitting down", "sits up", "stands up", "sits down"),
        *("running water", "running shoes", "walking stick", "walking dead", "new york", "south korea"),
        *("french fries", "french horn", "french toast", "german shepherd", "italian ice", "chinese checkers"),
        *("american flag", "american football", "british flag", "indian ocean", "native american", "american indian"),
        *("african american", "asian american", "as well as", "in front of them", "day care", "deep fried"),
        *("swimming pool", "swimming trunks", "swimming suit", "talking about", "dining area", "light house"),
        *("happy birthday", "merry go round", "deep breath", "dry cleaning", "full court", "full face"),
        *("moving truck", "tow truck", "fire truck", "dump truck", "food truck", "garbage truck", "pickup truck"),
        *("a third", "a second", "a fourth", "third man", "third person"),
        *(
            f"{color} {person}"  # with people, the word is not a colour of a thing
            for color in ("black", "white", "brown")
            for person in (
                "man men woman women boy boys girl girls male males female females lady ladies person people "
                "guy guys child children kid kids toddler baby couple family teenager teenagers"
            ).split()
        ),
    }
)
"""Phrases in which no word is replaced, because their meaning is not the sum of their words."""
