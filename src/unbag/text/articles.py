"""The English indefinite article: `a` or `an`, by the sound of the next word as far as its spelling tells."""

import re
from typing import Final

ARTICLES: Final = frozenset({"a", "an"})

_SILENT_H: Final = re.compile(r"(?:hour|honest|honou?r|heir)")
_SPELT_WITH_A_VOWEL: Final = re.compile(  # and spoken with a consonant
    r"uni(?:ons?|on-|corn|cycl|form|fi|lateral|que|son|sex|t|vers)"  # union, but not unimportant
    r"|unanim|us[eau]|usi|uter|utili|utah|uk|ur[aei]n|ubiq|ufo|eu|ewe|ouij|once|one(?!ir)"
)
_VOWEL_NUMBERS: Final = re.compile(r"(?:8[\d,]*|1[18](?:,\d{3})*|1[18]\d\d)(?!\d)")  # eighty, eleven thousand, 1800
_VOWEL_LETTERS: Final = frozenset("AEFHILMNORSX")  # names that begin with a vowel: eff, aitch, …


def fits(article: str, next_word: str) -> bool:
    """Tell whether an indefinite article goes before a word; any other word does.

    >>> fits("a", "guitar"), fits("an", "guitar"), fits("An", "hour"), fits("the", "hour")
    (True, False, True, True)
    """
    return article.lower() not in ARTICLES or (article.lower() == "an") == _sounds_like_a_vowel(next_word)


def agree(article: str, next_word: str) -> str:
    """Return the indefinite article that goes before a word, with the capital of the one given; any other word as is.

    >>> agree("A", "orange"), agree("an", "unicorn"), agree("a", "11th"), agree("the", "egg")
    ('An', 'a', 'an', 'the')
    """
    if article.lower() not in ARTICLES:
        return article
    right = "an" if _sounds_like_a_vowel(next_word) else "a"
    return right.capitalize() if article[:1].isupper() else right


def _sounds_like_a_vowel(word: str) -> bool:
    if (len(word) == 1 and word.isalpha()) or re.match(r"[A-Z]{2,}s?(?![a-zA-Z])|[A-Z](?=[-\d])", word):
        return word[0].upper() in _VOWEL_LETTERS  # an X, an MRI, an F-16; a UFO
    if word[:1].isdigit():
        return bool(_VOWEL_NUMBERS.match(word))
    word = word.lower()
    if word[:1] == "h":
        return bool(_SILENT_H.match(word))
    return word[:1] in set("aeiou") and not _SPELT_WITH_A_VOWEL.match(word)
