"""A or an: by the sound that the next word begins with."""

from typing import Final

# Spelled with a vowel, spoken with a consonant (university, one), and the other way round (hour). Prefixes, so that
# `hourly` and `oneself` follow; the longest prefix decides.
_PREFIXES: Final = {
    **dict.fromkeys(
        ("uni", "use", "usu", "util", "uten", "uku", "ura", "ubiq", "eu", "ewe", "one", "once", "ouija"), "a"
    ),
    **dict.fromkeys(("unim", "unin", "unid", "unil", "hour", "hono", "honest", "heir"), "an"),
    # unimportant, uninteresting, unidentified; but unicorn, united, unilateral begin like `you`.
    **dict.fromkeys(("unilat", "unidir", "unimod"), "a"),
}
_LONGEST: Final = max(map(len, _PREFIXES))
_SPOKEN_AS_VOWEL: Final = frozenset("aefhilmnorsx")  # names of letters, in FBI and X-ray


def article(word: str) -> str:
    """Return the indefinite article that goes before a word.

    >>> [article(word) for word in ("red", "old", "honest", "European", "8-year-old", "X-ray", "uninteresting")]
    ['a', 'an', 'an', 'a', 'an', 'an', 'an']
    """
    initials = word.split("-")[0].split(".")[0]
    if initials.isalpha() and initials.isupper() and (len(initials) > 1 or "-" in word):
        return "an" if initials[0].lower() in _SPOKEN_AS_VOWEL else "a"
    if word[:1].isdigit():
        return "an" if word[0] == "8" or (word.startswith(("11", "18")) and not word[2:3].isdigit()) else "a"
    lower = word.lower()
    for length in range(_LONGEST, 0, -1):
        if lower[:length] in _PREFIXES:
            return _PREFIXES[lower[:length]]
    return "an" if lower[:1] in "aeiou" else "a"


def is_article(word: str) -> bool:
    """Tell whether a word is the indefinite article."""
    return word.lower() in ("a", "an")
