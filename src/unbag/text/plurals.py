"""Plurals of English nouns."""

from typing import Final

_IRREGULAR: Final = {
    **{"man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "tooth": "teeth"},
    **{"mouse": "mice", "goose": "geese", "knife": "knives", "leaf": "leaves", "wife": "wives", "wolf": "wolves"},
    **{"scarf": "scarves", "shelf": "shelves", "loaf": "loaves", "tomato": "tomatoes", "potato": "potatoes"},
    **{same: same for same in ("deer", "fish", "sheep", "people", "children", "men", "women", "aircraft")},
}
_COMPOUND: Final = ("woman", "man", "child", "mouse", "fish")
"""Irregular ends of longer words: policewoman, snowman, grandchild, goldfish."""


_PLURALS: Final = frozenset(many for one, many in _IRREGULAR.items() if one != many)
_SINGULAR_ENDS: Final = ("ss", "us", "is", "'s")
_AFTER_HEAD: Final = ("of", "with", "in", "on", "at", "to", "from", "for")


def plural_phrase(phrase: str) -> str:
    """Return the plural of a noun phrase without its determiner.

    >>> plural_phrase("girl with a black bag")
    'girls with a black bag'
    """
    words = phrase.split()
    head = _head(words)
    return " ".join([*words[:head], plural(words[head]), *words[head + 1 :]])


def looks_plural(phrase: str) -> bool:
    """Tell whether a noun phrase without its determiner is a plural, as far as its head's form tells.

    >>> looks_plural("big waves of the sea"), looks_plural("pack of dogs"), looks_plural("bus"), looks_plural("fish")
    (True, False, False, False)
    """
    words = phrase.split()
    head = words[_head(words)]
    if head in _PLURALS or head.endswith(("women", "men", "children")):
        return True
    return head.endswith("s") and not head.endswith(_SINGULAR_ENDS)


def _head(words: list[str]) -> int:
    """Return the position of the head: the last word, or the one before the first preposition."""
    return next((i for i, word in enumerate(words) if word in _AFTER_HEAD and i), len(words)) - 1


def plural(noun: str) -> str:
    """Return the plural of a noun, the last word of a phrase counting.

    >>> plural("policeman"), plural("school bus"), plural("boy"), plural("puppy"), plural("old man")
    ('policemen', 'school buses', 'boys', 'puppies', 'old men')
    """
    *before, last = noun.split(" ")
    return " ".join([*before, _plural(last)])


def _plural(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for end in _COMPOUND:
        if word.endswith(end) and not word.endswith("human"):
            return word.removesuffix(end) + _IRREGULAR[end]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"
