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
