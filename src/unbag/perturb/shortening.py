"""A plain sentence with one modifier left out: an adjective, an adverb, or a phrase of place or manner.

"A young man is riding a horse in a field." without "in a field" is what follows from it. Left out is only what a
sentence can do without; whether the shorter one follows is left to whoever proves it.
"""

from collections.abc import Iterator
from typing import Final

from unbag.data.text.grammar import ORIGIN, agree, rank
from unbag.data.text.parses import Parse
from unbag.perturb.word_lists import FIXED_PHRASES

_PREPOSITIONS: Final = frozenset(
    "across along around at behind beside by during in inside near on outside over through under with".split()
)
_NEEDED: Final = frozenset(
    """be become belong carry consist cover depend dress dry engage fill go hang head keep lay lead lean lie live look
    lounge participate place point put remain rest seem set sit smile stand stare stay talk wait wear work""".split()
)
"""Verbs that say little, or something else, without what follows them."""


def shortenings(parse: Parse) -> Iterator[Parse]:
    """Yield a sentence without each of its modifiers that it can do without, as it was parsed."""
    for i in range(len(parse.words)):
        if _can_go(parse, i):
            yield without(parse, parse.subtree(i))


def _can_go(parse: Parse, i: int) -> bool:
    head, span = parse.heads[i], parse.subtree(i)
    if span != list(range(span[0], span[-1] + 1)) or span[0] == 0 or head in span:
        return False
    if parse.pos[span[0] - 1] in ("ADP", "SCONJ", "CCONJ"):
        return False  # while | on a skateboard
    if parse.deps[i] == "amod":
        phrase = " ".join(parse.lower_words[i : head + 1])
        # Of size, age, colour and the like: others make a name or a kind of it (martial artist, polar bear).
        is_plain = rank(parse.words[i]) not in (None, ORIGIN) and len(span) == 1 and phrase not in FIXED_PHRASES
        return is_plain and parse.pos[head] == "NOUN" and parse.deps[head] != "compound"  # martial arts competition
    if parse.deps[i] == "advmod":
        return len(span) == 1 and parse.lower_words[i].endswith("ly") and parse.pos[head] == "VERB"
    if parse.deps[i] != "prep" or parse.lower_words[i] not in _PREPOSITIONS or parse.child(i, "pobj") is None:
        return False
    if parse.pos[head] == "VERB":
        # What the next words belong to may change: only at the end is that certain.
        at_end = all(pos == "PUNCT" for pos in parse.pos[span[-1] + 1 :])
        return at_end and (parse.child(head, "dobj") is not None or parse.lemmas[head].lower() not in _NEEDED)
    return parse.tags[head] in ("NN", "NNS") and i == head + 1


def without(parse: Parse, gone: list[int]) -> Parse:
    """Return a parse without some tokens, an indefinite article before them adapted to what follows then."""
    kept = [i for i in range(len(parse.words)) if i not in gone]
    place = {old: new for new, old in enumerate(kept)}
    words, spaces = [parse.words[i] for i in kept], [parse.spaces[i] for i in kept]
    before = gone[0] - 1
    if before in place:
        if place[before] + 1 < len(words):
            words[place[before]] = agree(parse.words[before], words[place[before] + 1])
        spaces[place[before]] = parse.spaces[gone[-1]]
    return Parse(
        words=tuple(words),
        spaces=tuple(spaces),
        lemmas=tuple(parse.lemmas[i] for i in kept),
        pos=tuple(parse.pos[i] for i in kept),
        tags=tuple(parse.tags[i] for i in kept),
        heads=tuple(place[parse.heads[i]] for i in kept),
        deps=tuple(parse.deps[i] for i in kept),
    )
