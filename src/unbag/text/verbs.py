"""English verbs, as lemmas, by what a swap of their subject and object comes to."""

from typing import Final

SYMMETRIC: Final = frozenset(
    """accompany approach argue battle border box cheer combine compare contact cuddle date dance double embrace
    encounter equal exchange face fight greet hug intersect join kiss marry match meet mirror neighbor oppose
    race resemble rival share snuggle spar touch trade wed wrestle""".split()
)
"""Verbs that hold, or are likely to hold in the same scene, both ways."""

MUTUAL: Final = frozenset(
    """address admire adore ask assist attack call challenge enjoy entertain film follow hear help hit hold ignore
    impress interview know like listen love notice observe pass photograph play poke punch recognize see slap
    splash spray support teach tease tell tickle trust view visit walk watch witness""".split()
)
"""Verbs that may hold both ways between people or animals: that he watches her does not say that she does not."""

CATENATIVE: Final = frozenset(
    """appear attempt begin continue decide enjoy finish get go hope intend keep learn like love need plan prepare
    pretend seem start struggle try want""".split()
)
"""Verbs that make one action with the verb after them (tries to open): other verbs do a thing of their own (sits
reading)."""

MOTION: Final = frozenset(
    """backpack bicycle bike buggy come cycle climb crawl crowd dash dive drive fall float fly gallop gather get go
    grind hike hop hurry jog jump kneel lay leap lean lie look march move paddle parade peer pedal race rappel
    rid ride row run rush sail scoot sit skate skateboard ski skip sled slide snowboard speed sprint stand star
    stare step stroll swim swing travel trek trot tube tumble wade walk wander""".split()
)
"""Manner of motion (Levin 1993, 51.3) and posture, with slips of the lemmatizer (`rid`, `star`): what follows `down` or
`up` after them is a place, which the preposition takes, where a particle would leave the object to the verb."""

DIRECTIONS: Final = frozenset(
    """across along alongside around atop behind beside by down in into near off on onto out over past through
    toward towards under up""".split()
)
"""Prepositions that parsers take for particles."""

WITHOUT_TOOL: Final = frozenset("""carry display have hold lift lug pull push raise ride sell show wear""".split())
"""Verbs that are done with no instrument: a `with` after their object (a cake with candles) is the object's."""

INTRANSITIVE: Final = frozenset("""come go laugh lay lie look sit sleep smile stand travel""".split())
"""Verbs with no object in scenes, but for "lay", which is mostly meant for "lie"."""

MISREAD: Final = frozenset("hold holds looks plays pose poses sing sings smiles talk talks".split())
"""Forms that taggers take for nouns."""
