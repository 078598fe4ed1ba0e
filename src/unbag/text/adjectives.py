"""The order of English adjectives before their noun: opinion, size, condition, age, shape, colour, origin, material."""

from typing import Final

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
    # colour and light
    """beige black blond blonde blue bright brown colored colorful dark deep gold golden gray green grey light
    multicolored orange pale pink purple red silver tan white yellow""",
    # origin
    """african american asian australian black-and-white british canadian chinese european french german indian irish
    italian japanese korean mexican russian spanish western""",
    # material
    "brick cotton denim glass leather metal metallic paper plastic rubber steel stone straw wooden wood",
)
AGE, COLOUR, ORIGIN = 3, 5, 6
"""The ranks of three of the classes."""

_RANKS: Final = {word: rank for rank, words in enumerate(_CLASSES) for word in words.split()}


def rank(adjective: str) -> int | None:
    """Return an adjective's rank among the classes, 0 for opinion; None for one that is not known.

    >>> rank("nice") < rank("small") < rank("old") < rank("round") < rank("red") < rank("wooden")
    True
    """
    return _RANKS.get(adjective.lower())
