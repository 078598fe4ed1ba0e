"""The order of English adjectives before their noun: opinion, size, age, shape, colour, origin, material, purpose."""

from typing import Final

_CLASSES: Final = (
    # opinion and condition
    """amazing angry attractive bad beautiful boring busy calm cheap clean comfortable cool crazy cute
    dangerous delicious dirty dry elaborate elegant empty exciting expensive fancy famous fine friendly full fun funny
    good great handsome happy hard heavy hot hungry interesting lonely lovely messy muddy nice odd ornate plain
    playful poor pretty proud quiet rich sad scary serious shiny silly simple soft special strange strong sunny tired
    ugly unusual warm weird wet wild wonderful""",
    # size and measure
    """big bigger enormous giant gigantic high huge large larger little long low massive medium narrow shallow
    short skinny slim small smaller tall thick thin tiny wide""",
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
COLOUR, ORIGIN = 4, 5
"""The ranks of two of the classes."""

_RANKS: Final = {word: rank for rank, words in enumerate(_CLASSES) for word in words.split()}


def rank(adjective: str) -> int | None:
    """Return an adjective's place among the classes, 0 for opinion; None for one that is not known.

    >>> rank("nice") < rank("small") < rank("old") < rank("round") < rank("red") < rank("wooden")
    True
    """
    return _RANKS.get(adjective.lower())
