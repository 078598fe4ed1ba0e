"""The capital that begins a sentence, when its first word moves away."""

from typing import Final

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
"""Adjectives and nouns that keep their capital, for taggers call them words like any other."""


def raised(word: str) -> str:
    """Return a word as it begins a sentence.

    >>> raised("a"), raised("iPhone")
    ('A', 'IPhone')
    """
    return word[:1].upper() + word[1:]


def lowered(word: str, pos: str) -> str:
    """Return a sentence's first word as it stands within one.

    Proper nouns, adjectives of nationality or faith, `I`, and words with more capitals than the first keep theirs.

    Args:
        word: the word, in a sentence's first place.
        pos: its universal POS tag.

    >>> lowered("A", "DET"), lowered("Tom", "PROPN"), lowered("I", "PRON"), lowered("Asian", "ADJ")
    ('a', 'Tom', 'I', 'Asian')
    """
    parts = word.lower().split("-")
    keeps = pos == "PROPN" or word == "I" or word[1:] != word[1:].lower() or parts[0] in _DEMONYMS
    return word if keeps else word[:1].lower() + word[1:]


def named(adjective: str) -> str:
    """Return an adjective with the capital that one of nationality or faith has.

    >>> named("asian"), named("red")
    ('Asian', 'red')
    """
    return raised(adjective) if adjective in _DEMONYMS else adjective
