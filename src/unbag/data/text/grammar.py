"""Rules and word lists of English grammar: adjective order, articles, capitals, determiners, plurals, verbs, nouns.

The lists of nouns that do not denote an object (`HAPPENINGS`, `BODY_PARTS`) were collected from the objects of verbs in
SNLI. Candidates are nouns whose first WordNet sense is in one of these lexicographer files: act, event, communication,
cognition, attribute, state, time; body. The final selection was manual. The lists are part of the code, so that
building a set does not need WordNet.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final

from unbag.data.text.parses import Parse, inflect
from unbag.data.text.tokens import tokenize_words

_CLASSES: Final = (
    # opinion
    """amazing angry attractive bad beautiful boring busy calm cheap comfortable cool crazy cute
    dangerous delicious elaborate elegant exciting expensive fancy famous fine friendly fun funny
    good great handsome happy hungry interesting lonely lovely nice odd ornate
    playful poor pretty proud quiet rich sad scary serious silly simple special strange strong sunny tired
    ugly unusual weird wild wonderful""",
    # size and measure
    """big bigger enormous giant gigantic high huge large larger little long low massive medium narrow shallow
    short skinny slim small smaller tall thick thin tiny wide""",
    # condition
    "clean dirty dry empty full hard heavy hot messy muddy plain shiny soft warm wet",
    # age
    "adult ancient antique elderly modern new newborn old older teenage vintage young younger",
    # shape and pattern
    "bent circular curly curved flat oval rectangular round sharp square straight striped",
    # color and light
    """beige black blond blonde blue bright brown colored colorful dark deep gold golden gray green grey light
    multicolored orange pale pink purple red silver tan white yellow""",
    # origin
    """african american asian australian black-and-white british canadian chinese european french german indian irish
    italian japanese korean mexican russian spanish western""",
    # material
    "brick cotton denim glass leather metal metallic paper plastic rubber steel stone straw wooden wood",
)
OPINION, AGE, COLOUR, ORIGIN = 0, 3, 5, 6
"""Ranks of the classes age, color and origin."""

_RANKS: Final = {word: rank for rank, words in enumerate(_CLASSES) for word in words.split()}


def get_adjective_rank(adjective: str) -> int | None:
    """Look up an adjective's rank in English adjective order, from 0 for opinion. Return None if the rank is unknown.

    >>> [get_adjective_rank(word) for word in ("nice", "small", "clean", "old", "round", "red", "german", "wooden")]
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    return _RANKS.get(adjective.lower())


ARTICLES: Final = frozenset({"a", "an"})

_SILENT_H: Final = re.compile(r"(?:hour|honest|honou?r|heir)")
_SPELT_WITH_A_VOWEL: Final = re.compile(  # spelled with a vowel but pronounced with an initial consonant
    r"uni(?:ons?|on-|corn|cycl|form|fi|lateral|que|son|sex|t|vers)"  # union, but not unimportant
    r"|unanim|us[eau]|usi|uter|utili|utah|uk|ur[aei]n|ubiq|ufo|eu|ewe|ouij|once|one(?!ir)"
)
_VOWEL_NUMBERS: Final = re.compile(r"(?:8[\d,]*|1[18](?:,\d{3})*|1[18]\d\d)(?!\d)")  # eighty, eleven thousand, 1800
_VOWEL_LETTERS: Final = frozenset("AEFHILMNORSX")  # letters whose names begin with a vowel sound: eff, aitch, …


def is_matching_article(article: str, next_word: str) -> bool:
    """Check whether an indefinite article fits the sound of the next word. Return True for words other than articles.

    >>> is_matching_article("a", "guitar"), is_matching_article("an", "guitar"), is_matching_article("An", "hour")
    (True, False, True)
    >>> is_matching_article("the", "hour")
    True
    """
    return adapt_article(article, next_word).lower() == article.lower()


def adapt_article(article: str, next_word: str) -> str:
    """Adapt an indefinite article to the sound of the next word, preserving its case. Other words are unchanged.

    >>> adapt_article("A", "orange"), adapt_article("an", "unicorn"), adapt_article("a", "11th")
    ('An', 'a', 'an')
    >>> adapt_article("the", "egg")
    'the'
    """
    if article.lower() not in ARTICLES:
        return article
    right = "an" if _sounds_like_a_vowel(next_word) else "a"
    return right.capitalize() if article[:1].isupper() else right


def _sounds_like_a_vowel(word: str) -> bool:
    if (len(word) == 1 and word.isalpha()) or re.match(r"[A-Z]{2,}s?(?![a-zA-Z])|[A-Z](?=[-\d])", word):
        return word[0].upper() in _VOWEL_LETTERS  # pronounced letter by letter: an X, an MRI, an F-16; a UFO
    if word[:1].isdigit():
        return bool(_VOWEL_NUMBERS.match(word))
    word = word.lower()
    if word[:1] == "h":
        return bool(_SILENT_H.match(word))
    return word[:1] in set("aeiou") and not _SPELT_WITH_A_VOWEL.match(word)


_DEMONYMS: Final = frozenset(
    """african american amish arab arabian arabic argentinian armenian asian australian austrian belgian brazilian
    british buddhist cambodian canadian caribbean catholic caucasian chilean chinese christian colombian croatian
    cuban czech danish dutch egyptian english ethiopian european filipino finnish french german greek haitian
    hawaiian hebrew hindu hispanic hungarian icelandic indian indonesian iranian iraqi irish islamic israeli italian
    jamaican japanese jewish kenyan korean latin latina latino lebanese malaysian mexican middle-eastern mongolian
    moroccan muslim nepalese nigerian nordic norwegian oriental pakistani palestinian persian peruvian polish
    polynesian portuguese puerto roman romanian russian samoan scandinavian scottish serbian sikh somali spanish
    swedish swiss syrian taiwanese thai tibetan turkish ukrainian victorian vietnamese welsh""".split()
)
"""Adjectives and nouns that are always capitalized, but not tagged as proper nouns."""


def capitalize(word: str) -> str:
    """Capitalize the first letter of a word. The other letters are unchanged.

    >>> capitalize("a"), capitalize("iPhone")
    ('A', 'IPhone')
    """
    return word[:1].upper() + word[1:]


def decapitalize(word: str, pos: str) -> str:
    """Lower-case the first word of a sentence, unless the word is always capitalized, such as a name.

    Proper nouns, adjectives of nationality or faith, `I`, and words with other capitals are unchanged. `pos` is the
    universal POS tag of the word.

    >>> decapitalize("A", "DET"), decapitalize("Tom", "PROPN"), decapitalize("I", "PRON"), decapitalize("Asian", "ADJ")
    ('a', 'Tom', 'I', 'Asian')
    """
    parts = word.lower().split("-")
    keeps = pos == "PROPN" or word == "I" or word[1:] != word[1:].lower() or parts[0] in _DEMONYMS
    return word if keeps else word[:1].lower() + word[1:]


def capitalize_demonym(adjective: str) -> str:
    """Capitalize an adjective of nationality or faith. Other adjectives are unchanged.

    >>> capitalize_demonym("asian"), capitalize_demonym("red")
    ('Asian', 'red')
    """
    return capitalize(adjective) if adjective in _DEMONYMS else adjective


_OF_SEVERAL: Final = frozenset(
    "two three four five six seven eight nine ten eleven twelve several many few various numerous these those".split()
)
_QUANTITIES: Final = frozenset("couple dozen few great hundred lot many million number pair thousand".split())
_BOTH_NUMBERS: Final = frozenset("aircraft deer fish foot gi offspring police series sheep".split())


def has_matching_determiners(parse: Parse) -> bool:
    """Check whether all indefinite articles fit the next word's sound, and all determiners fit their noun's number.

    False for "a owl", "two woman" and "a boys", and for "a coat waits" if the parser tags the verb as a noun.
    """
    for i, word in enumerate(parse.lower_words):
        if word not in _DETERMINERS:
            continue
        following = "".join(parse.words[i + 1 : i + 2])
        if (following[:1].isalnum() and not is_matching_article(word, following)) or not _fits_number(parse, i):
            return False
    return True


_OF_ONE: Final = ARTICLES | {"one"}
_DETERMINERS: Final = _OF_ONE | _OF_SEVERAL


def _fits_number(parse: Parse, i: int) -> bool:
    noun = parse.heads[i]
    if i >= noun or parse.deps[i] not in ("det", "nummod", "amod") or parse.pos[noun] != "NOUN":
        return True
    between = set(parse.lower_words[i + 1 : noun])
    if "CCONJ" in parse.pos[i:noun] or not between.isdisjoint(_QUANTITIES) or not parse.words[noun].isalpha():
        return True
    if parse.lower_words[i] in _OF_ONE:
        return parse.tags[noun] != "NNS" or "-" in between
    # In a compound, the number modifies the first noun, which stays singular: a two man team.
    return (
        parse.tags[noun] != "NN"
        or parse.deps[noun] in ("compound", "nmod")
        or not ARTICLES.isdisjoint(parse.lower_words[:i][-1:])
        or parse.lemmas[noun].lower() in _BOTH_NUMBERS
    )


NEGATIONS: Final = frozenset("no not n't n’t never neither nor hardly barely nobody none nothing cannot".split())
"""Lower-case negations, as spaCy tokenizes them (do + n't)."""


BODY_PARTS: Final = frozenset(
    """ankle arm back beard bicep biceps body brow cheek chest chin crotch dreadlock ear elbow eye eyebrow face
    feature finger fist foot forearm forehead hair haircut hand head hip jaw knee lap leg lip mohawk mouth
    muscle mustache neck nose paw profile shoulder skin stomach tail thigh throat thumb toe tongue tooth torso
    tummy waist wrist""".split()
)

SPORTS: Final = frozenset(
    """acrobatics archery backgammon badminton baseball basketball billiards bingo bowling boxing checkers chess
    cricket croquet foosball football frisbee golf gymnastic gymnastics hockey hopscotch jenga judo karate
    kickball lacrosse monopoly paintball ping-pong poker polo pong pool racquetball rugby skating soccer
    softball tag tennis tug tug-of-war twister volleyball yoga""".split()
)
"""Games used without an article. With an article, some of them denote a ball (throws a football)."""

HAPPENINGS: Final = frozenset(
    """accident act action activity advantage adventure aim air allegiance approach arrangement arrival attempt
    attention award backflip backstroke balance balancing basis battle beauty bend birthday bit bite break breakdance
    breakfast breaststroke breath brunch business call calligraphy care cartwheel catch celebration ceremony
    challenge chance change charge chat check cheer choice circus chore christmas color command competition
    concert conference confrontation construction contact contest contract control conversation course craft
    crossing culture curiosity cycle damage dance dancing date day deal debate decision decline defense demo
    demonstration design dig dinner direction discussion disgust dive dribble drive dunk duty edge effort
    emotion entertainment errand evening event exchange exercise exhibition experience experiment expertise
    expression face-off fall feature felicitation festival festivity fight finish flexibility flight flip
    formation frolic fun game genocide gesture goal good goodbye greeting gymnastic handshake handstand
    happening headstand hello help hike history hit hold homework hop hug hunt idea improvement information
    injection injury instruction interview invention job jog joke journey joy jump karaoke kick kicking kiss
    knowledge landing laugh layup lead leap leapfrog lecture leisure lesson life lift listen look love lunch
    maintenance maneuver marathon march marching marriage massage match matter meeting meltdown mess midair
    middle might mind moment monologue morning motion move movement music musical nap nature negotiation news
    night number oath opening operation opinion opportunity order outing pain parade part party pass passage
    patience patrol pause pedicure performance permission photoshoot picketing pickup picnic pitch place play
    pleasure plot point pose position possession practice prayer presence presentation pressure pride privacy
    procedure process procession program progress project protest punch purchase push putt question quiet race
    rally reading refuge rehearsal relationship relaxation relay release renovation repair rescue research
    resistance rest resting result return review rhythm ride risk ritual role rodeo romance round routine run
    running rush sale salute scene scent science score screening search seat selfie serve service session shadow
    shape shift shop shopping shot show shower side sight sip situation size skateboarding skill skit sleep
    smell smile soak solo somersault song sort sound space spectacle speech speed spin split splits sport stance
    standing start state story stretch stride stroke stroll stunt style success summersault sunset supper
    surgery surprise swerve swim swordsmanship symbol talent talk talking task taste technique temperature
    theater thing thought throw time toast top topic touch tour trade training transaction transportation trick
    trip triumph trouble try tumble tune turn type usage vacation variety vault verity victory view visit vote
    wait waiting walk war warmth way weather wedding week wheelie while wildfire win wisdom wish word work
    workout worship wreck year yell youth""".split()
)
"""Activities, performances, communication, times and other abstractions. Their verb does not act on an object, as in
"do a trick", "play a game" or "take a nap"."""

IDIOMS: Final = {
    "jump": frozenset(["rope"]),
    "have": frozenset("beer coffee drink meal snack tea".split()),
    "make": frozenset("circle face line way".split()),
    "take": frozenset(
        """bath cab care cover note photo photograph picture shower snapshot step taxi train video""".split()
    ),
}
"""Objects by verb that form an idiom with the verb, which then does not act on the object (take the train)."""

UNCOUNTED: Final = frozenset(
    """accordion art attire bacon bagpipe banjo bass beef beer bongo bread butter cake candy cardboard cash cello
    cement cereal cheese chicken chocolate clarinet clay clothing coal coffee concrete confetti corn cotton
    cream debris dirt dough drum dust equipment fabric fiddle fish flour flute foliage food fruit furniture
    garbage gas gasoline graffiti granite grass gravel guitar harmonica harp hay henna horn ice ink jewelry
    juice keyboard laundry lemonade liquid liquor lotion luggage lumber machinery makeup meat medicine
    merchandise metal milk money mortar mud mulch oil paint paper pasta pavement percussion piano pizza popcorn
    pottery powder produce rice rope rubbish salad salt sand sauce saxophone scenery seafood sewage shampoo
    signage silk smoke snow soap soda soil soup spaghetti steel straw string sugar sunscreen sushi tape tar tea
    television tinsel toast traffic trash trombone trumpet tuba tv ukulele vegetation violin water wheat wine
    wire wood wool yarn yogurt""".split()
)
"""Nouns used without an article as an object: mass nouns, and musical instruments after "play"."""

CLOTHES: Final = frozenset(
    """apron bikini boot cap clothes clothing coat costume dress glasses glove goggles gown hat helmet hood jacket
    jean jeans jersey outfit overalls pants robe scarf shirt shoe short shorts skirt suit sunglasses sweater
    sweatshirt swimsuit t-shirt tie top trunks tuxedo uniform vest""".split()
)
COLORS: Final = frozenset(
    """black blue brown gold gray green grey orange pink purple red silver white yellow""".split()
)
"""Colors of clothes, which captions use to distinguish people."""


PEOPLE: Final = frozenset(
    """actor adult artist athlete audience baby ballerina band bicyclist biker boxer boy bride brother bystander chef
    child citizen clown coach cook couple cowboy crew crowd customer cyclist dancer daughter diver driver employee
    family fan farmer father female fighter firefighter fireman fisherman friend gentleman girl group guard guitarist
    guy gymnast hiker human individual infant jogger judge juggler kid lady male man member mom mother musician
    officer onlooker opponent parent participant passenger pedestrian people performer person photographer pitcher
    player police policeman reporter rider runner sailor seller server shopper singer sister skateboarder skater
    skier snowboarder soldier son spectator student surfer swimmer teacher team teen teenager toddler tourist vendor
    waiter waitress walker woman worker youngster youth""".split()
)
ANIMALS: Final = frozenset(
    "animal bird bull camel cat cow dog donkey duck elephant goat horse kitten monkey pet puppy sheep".split()
)


_IRREGULAR: Final = {
    **{"man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "tooth": "teeth"},
    **{"mouse": "mice", "goose": "geese", "knife": "knives", "leaf": "leaves", "wife": "wives", "wolf": "wolves"},
    **{"scarf": "scarves", "shelf": "shelves", "loaf": "loaves", "tomato": "tomatoes", "potato": "potatoes"},
    **{noun: f"{noun}s" for noun in ("banjo", "cello", "piano", "taxi")},  # in the word lists, which must import fast
    **{same: same for same in ("deer", "fish", "sheep", "people", "children", "men", "women", "aircraft")},
}
_COMPOUND: Final = ("woman", "man", "child", "mouse", "fish")
"""Irregular plurals of the last part of a compound: policewoman, snowman, grandchild, goldfish."""


_PLURALS: Final = frozenset(many for one, many in _IRREGULAR.items() if one != many)
_SINGULAR_ENDS: Final = ("ss", "us", "is", "'s")
_AFTER_HEAD: Final = ("of", "with", "in", "on", "at", "to", "from", "for")


def pluralize_phrase(phrase: str) -> str:
    """Build the plural of a noun phrase without a determiner.

    >>> pluralize_phrase("girl with a black bag")
    'girls with a black bag'
    """
    words = phrase.split()
    head = _head(words)
    return " ".join([*words[:head], pluralize_noun(words[head]), *words[head + 1 :]])


def is_plural_phrase(phrase: str) -> bool:
    """Check whether a noun phrase without a determiner is plural, based on the form of its head.

    >>> [is_plural_phrase(phrase) for phrase in ("big waves of the sea", "pack of dogs", "bus", "fish")]
    [True, False, False, False]
    """
    words = phrase.split()
    head = words[_head(words)]
    if head in _PLURALS or head.endswith(("women", "men", "children")):
        return True
    return head.endswith("s") and not head.endswith(_SINGULAR_ENDS)


def _head(words: list[str]) -> int:
    """Locate the head: the last word, or the word before the first preposition."""
    return next((i for i, word in enumerate(words) if word in _AFTER_HEAD and i), len(words)) - 1


def pluralize_noun(noun: str) -> str:
    """Build the plural of a noun, or of a noun phrase whose head is the last word.

    >>> [pluralize_noun(noun) for noun in ("policeman", "school bus", "boy", "puppy", "old man", "quiz", "thief")]
    ['policemen', 'school buses', 'boys', 'puppies', 'old men', 'quizzes', 'thieves']
    """
    *before, last = noun.split(" ")
    return " ".join([*before, _plural(last)])


def _plural(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for end in _COMPOUND:
        if word.endswith(end) and not word.endswith("human"):
            return word.removesuffix(end) + _IRREGULAR[end]
    if word.endswith(("ss", "us", "x", "ch", "sh")):
        return word + "es"
    if word.endswith(("f", "fe", "o", "s", "z")):  # no rule decides roofs and thieves, pianos and heroes
        return inflect(word, "NNS")
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


LONGEST: Final = 4
"""Maximum number of words in a replaced phrase ("far away from" has three)."""
_CONTEXT: Final = 2  # words next to the difference that may belong to the phrase, as "room" after "living"


@dataclass(frozen=True, slots=True)
class PhraseDifference:
    """The single phrase in which two sentences differ."""

    old: tuple[str, ...]  # words of the premise that are not in the hypothesis; may be empty
    new: tuple[str, ...]  # words of the hypothesis in their place; may be empty
    left: tuple[str, ...]  # up to two shared words before the difference
    right: tuple[str, ...]  # up to two shared words after the difference

    def phrases(self) -> Iterator[tuple[str, str]]:
        """Iterate over pairs (old phrase, new phrase), starting with those that contain the fewest shared words.

        >>> difference = find_phrase_difference("A dog in the living room.", "A dog in the dining room.")
        >>> list(difference.phrases())[:2]
        [('living', 'dining'), ('living room', 'dining room')]
        """
        sides = [(left, right) for left in range(len(self.left) + 1) for right in range(len(self.right) + 1)]
        for before, after in sorted(sides, key=lambda side: (sum(side), side)):
            around = self.left[len(self.left) - before :], self.right[:after]
            old, new = ((*around[0], *words, *around[1]) for words in (self.old, self.new))
            if old and new:
                yield " ".join(old), " ".join(new)


def find_phrase_difference(premise: str, hypothesis: str) -> PhraseDifference | None:
    """Find the single word or phrase in which two sentences differ. Return None if there is none, or more than one.

    `difflib` aligns the words. The comparison ignores case and the form of the indefinite article ("a guitar", "an
    accordion"). Repeated replacements of the same words count as one.

    >>> find_phrase_difference("Two men play a violin.", "Two men play an electric guitar.").old
    ('violin',)
    """
    sides = [[word.text for word in tokenize_words(sentence)] for sentence in (premise, hypothesis)]
    normalized = [[_normalize(word) for word in side] for side in sides]
    # `autojunk` would ignore frequent words in sentences of 200 words or more.
    matcher = SequenceMatcher(a=normalized[0], b=normalized[1], autojunk=False)
    blocks = [block[1:] for block in matcher.get_opcodes() if block[0] != "equal"]
    if not blocks:
        return None
    if len({(tuple(normalized[0][i:j]), tuple(normalized[1][k:m])) for i, j, k, m in blocks}) > 1:
        # Different edits merge into one difference, from the first edit to the last one.
        blocks = [(blocks[0][0], blocks[-1][1], blocks[0][2], blocks[-1][3])]
    i, j, k, m = blocks[0]
    old, new = tuple(sides[0][i:j]), tuple(sides[1][k:m])
    if max(len(old), len(new)) > LONGEST or not all(token[0].isalnum() or token == "-" for token in old + new):
        return None
    left, right = _find_context(sides[0][:i][::-1]), _find_context(sides[0][j:])
    return PhraseDifference(old, new, left[::-1], right)


def _normalize(word: str) -> str:
    word = word.lower()
    return "a" if word == "an" else word


def _find_context(tokens: list[str]) -> tuple[str, ...]:
    """Select up to two tokens before the first punctuation mark."""
    return tuple(takewhile(lambda token: token[0].isalnum(), tokens[:_CONTEXT]))


SYMMETRIC: Final = frozenset(
    """accompany approach argue battle border box cheer combine compare contact cuddle date dance double embrace
    encounter equal exchange face fight greet hug intersect join kiss marry match meet mirror neighbor oppose
    race resemble rival share snuggle spar touch trade wed wrestle""".split()
)
"""Verbs whose relation is symmetric, or likely symmetric in the same scene."""

MUTUAL: Final = frozenset(
    """address admire adore ask assist attack call challenge enjoy entertain film follow hear help hit hold ignore
    impress interview know like listen love notice observe pass photograph play poke punch recognize see slap
    splash spray support teach tease tell tickle trust view visit walk watch witness""".split()
)
"""Verbs whose relation may be symmetric between people or animals: if he watches her, she may watch him."""

CATENATIVE: Final = frozenset(
    """appear attempt begin continue decide enjoy finish get go hope intend keep learn like love need plan prepare
    pretend seem start struggle try want""".split()
)
"""Verbs that form a single action with the following verb (tries to open). Other verbs describe a separate action (sits
reading)."""

MOTION: Final = frozenset(
    """backpack bicycle bike buggy come cycle climb crawl crowd dash dive drive fall float fly gallop gather get go
    grind hike hop hurry jog jump kneel lay leap lean lie look march move paddle parade peer pedal race rappel
    rid ride row run rush sail scoot sit skate skateboard ski skip sled slide snowboard speed sprint stand star
    stare step stroll swim swing travel trek trot tube tumble wade walk wander""".split()
)
"""Verbs of manner of motion (Levin 1993, 51.3) and posture, including lemmatizer errors (`rid`, `star`).

After these verbs, the noun that follows `down` or `up` is a place and the object of the preposition. After other verbs,
`down` or `up` may be a particle, and the noun is the object of the verb."""

DIRECTIONS: Final = frozenset(
    """across along alongside around atop behind beside by down in into near off on onto out over past through
    toward towards under up""".split()
)
"""Prepositions that parsers confuse with particles."""

WITHOUT_TOOL: Final = frozenset("""carry display have hold lift lug pull push raise ride sell show wear""".split())
"""Verbs without an instrument: a `with` after their object modifies the object (a cake with candles)."""

INTRANSITIVE: Final = frozenset("""come go laugh lay lie look sit sleep smile stand travel""".split())
"""Verbs without an object in captions, including "lay", which captions mostly use for "lie"."""

MISREAD: Final = frozenset("hold holds looks plays pose poses sing sings smiles talk talks".split())
"""Verb forms that taggers confuse with nouns."""
