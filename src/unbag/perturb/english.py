"""The few rules of English form that putting a word into a sentence needs: a or an, plurals, -s on verbs."""

import re
from typing import Final

# Written vowels that are spoken as consonants, and the reverse.
_AS_CONSONANT: Final = re.compile(r"(uni([^nm]|form)|us(e|u)|eu|one?\b|once|ewe)", re.IGNORECASE)
_AS_VOWEL: Final = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)
_IRREGULAR: Final = {
    **{"man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "tooth": "teeth"},
    **{"mouse": "mice", "goose": "geese", "knife": "knives", "leaf": "leaves", "wife": "wives", "wolf": "wolves"},
    **{same: same for same in ("deer", "fish", "sheep", "people", "children", "men", "women")},
}
_SINGULAR_VERB: Final = {"are": "is", "were": "was", "have": "has"}


def article(following: str) -> str:
    """Return "a" or "an", as the words that follow want it.

    >>> article("elegant man"), article("unicycle"), article("hour"), article("good egg")
    ('an', 'a', 'an', 'a')
    """
    spoken_vowel = (following[:1].lower() in "aeiou" and not _AS_CONSONANT.match(following)) or _AS_VOWEL.match(
        following
    )
    return "an" if spoken_vowel else "a"


def plural(noun: str) -> str:
    """Return the plural of a noun.

    >>> plural("policeman"), plural("bus"), plural("boy"), plural("puppy")
    ('policemen', 'buses', 'boys', 'puppies')
    """
    for ending in ("woman", "man"):
        if noun.endswith(ending):
            return noun[: -len(ending)] + _IRREGULAR[ending]
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    return _with_s(noun)


def third_person(verb: str) -> str:
    """Return the form of a verb that goes with a singular subject, from the one that goes with a plural.

    >>> third_person("are"), third_person("watch"), third_person("play"), third_person("carry")
    ('is', 'watches', 'plays', 'carries')
    """
    return _SINGULAR_VERB.get(verb) or _with_s(verb)


def base_form(verb: str) -> str:
    """Return the form of a verb that follows "does not", from its third person.

    >>> [base_form(verb) for verb in ("plays", "watches", "carries", "has", "rides", "goes")]
    ['play', 'watch', 'carry', 'have', 'ride', 'go']
    """
    irregular = {"has": "have", "does": "do", "goes": "go", "dies": "die", "lies": "lie", "ties": "tie"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    if verb.endswith(("shes", "ches", "sses", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1]


def _with_s(word: str) -> str:
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"
