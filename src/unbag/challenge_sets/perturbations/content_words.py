"""Content words of sentences, as stems, and the words that they imply: synonyms and hypernyms."""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.vocabulary_split import stem_phrase
from unbag.challenge_sets.perturbations.word_lists import WORD_LISTS
from unbag.data.text.tokens import tokenize_words

_FUNCTION_WORDS: Final = frozenset(
    """a an the this that these those and or but of in on at to from for with by into onto over under up down off out
    as is are was were be been being am do does did has have had having it its his her hers their theirs there here he
    she they him them who which whose what while when where near next some any through along around against behind
    before after beside besides between during across upon above below toward towards within without about i you we us
    my your our me himself herself itself themselves s""".split()
)
"""Function words; all other words are content words."""

_SYNONYMS: Final = """man guy gentleman male dude fellow / woman lady female / child kid / baby infant newborn
    / mother mom mommy mum / father dad daddy / bicycle bike / bicyclist cyclist biker / street road avenue / sidewalk
    pavement / picture photo photograph image / water ocean sea lake river pool / rock boulder stone / sofa couch / shop
    store market / ski skiing / boat ship canoe kayak raft / shirt t-shirt tshirt tee / purse handbag bag backpack / cap
    hat / coat jacket / cup mug glass / phone cellphone telephone / television tv / policeman cop police officer
    / singer vocalist / performer entertainer / sand beach / hill mountain / field grass meadow lawn / forest woods
    tree / sign poster / crowd audience / food meal dinner lunch breakfast / talk speak chat converse / look watch stare
    view gaze / walk stroll hike / run jog sprint race / jump leap hop / smile grin laugh / ride bike cycle / hold carry
    grip grasp / eat dine / work labor / stand wait / sit rest relax / throw toss pitch / cook prepare bake
    / draw sketch paint / sing perform / play perform / push shove / climb scale / sleep nap / drink sip / cut slice
    / read study"""
"""Words that may denote the same thing in one scene; `/` separates the sets."""

_ABOVE: Final = """boy girl toddler baby son daughter youngster > child kid / son > boy man / daughter > girl woman
    / father dad husband grandfather grandpa uncle groom boyfriend king > man guy / boyfriend > boy
    / mother mom wife grandmother grandma aunt bride girlfriend queen waitress actress ballerina nun > woman lady
    / girlfriend > girl / puppy pup poodle retriever labrador terrier beagle bulldog collie greyhound shepherd > dog
    / kitten > cat / pony foal mare stallion > horse / bull calf > cow / chick rooster > chicken / lamb > sheep
    / football baseball basketball softball volleyball soccer > ball / truck van taxi suv jeep > car vehicle
    / sailboat canoe kayak > boat / guitar violin drum piano saxophone trumpet flute > instrument
    / guitarist drummer violinist singer pianist > musician / skateboard surfboard snowboard > board"""
"""`below … > above …`: a statement about the first also holds for the second."""

NUMBERS: Final = {
    word: value
    for value, words_ in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
    for word in (words_, str(value))
}
"""Values of number words and digits."""


@lru_cache(maxsize=1 << 14)  # phrases of donors are looked up again for every claim
def collect_content_stems(sentence: str) -> frozenset[str]:
    """Compute the stems of the content words of a sentence.

    >>> sorted(collect_content_stems("A man is riding two horses."))
    ['hors', 'man', 'rid', 'two']
    """
    return frozenset(
        stem_phrase(word.text)
        for word in tokenize_words(sentence)
        if not word.is_mark and word.text.lower().replace("’", "'").removesuffix("'s") not in _FUNCTION_WORDS
    )


def expand_stems(stems: Iterable[str]) -> frozenset[str]:
    """Add the stems of all words that the given stems imply: synonyms and hypernyms (boy implies child).

    >>> boy, child = collect_content_stems("a boy"), collect_content_stems("a child")
    >>> expand_stems(boy) >= child, expand_stems(child) >= boy
    (True, False)
    """
    return frozenset().union(*(_implied(each) for each in stems))


@lru_cache(maxsize=1 << 16)
def _implied(word: str) -> frozenset[str]:
    above = _above()
    reached = [word]
    for each in reached:  # which grows
        reached += [other for other in above.get(each, ()) if other not in reached]
    return frozenset(reached)


@cache
def _above() -> dict[str, frozenset[str]]:
    """Build the stems directly above or beside each stem."""
    above: dict[str, set[str]] = {}
    relations = (WordNetRelation.SYNONYM, WordNetRelation.HYPONYM)
    sides = [(words_.old, words_.new) for words_ in WORD_LISTS if words_.relation in relations]
    sides += [(tuple(line.split()),) * 2 for line in _SYNONYMS.split("/")]
    sides += [(tuple(word for word, value in NUMBERS.items() if value == number),) * 2 for number in NUMBERS.values()]
    for line in _ABOVE.split("/"):
        below, over = line.split(">")
        sides.append((tuple(below.split()), tuple(over.split())))
    for old, new in sides:
        stems = {stem_phrase(word.split()[-1]) for word in new}
        for word in old:
            above.setdefault(stem_phrase(word.split()[-1]), set()).update(stems)
    return {word: frozenset(others - {word}) for word, others in above.items()}
