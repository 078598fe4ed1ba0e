"""Words that turn inclusions round, or keep them from being read, in what depends on them.

From what the literature on monotonicity and negative polarity lists (Ladusaw 1980; van der Wouden 1997; Karttunen 2012
for verbs); that a word is missing here means that its context is taken for upward.
"""

from typing import Final

DOWNWARD_VERBS: Final = frozenset(
    "abstain avoid ban bar cease decline deny discourage dissuade doubt eschew exclude fail forbid forget hesitate "
    "hinder impede lack neglect omit oppose preclude prevent prohibit quit refrain refuse reject resist shun stop "
    "disallow disapprove renounce dislike detest miss".split()
)
"""Verbs whose complement is a downward context: who refuses to eat fruit refuses to eat apples."""
DOWNWARD_OBJECTS: Final = frozenset(
    "avoid ban deny eschew exclude forbid lack oppose preclude prevent prohibit refuse reject shun".split()
)
"""Those of them of which this holds of an object too; who stops a car, or misses a bus, does so to one there is."""
DOWNWARD_ADJECTIVES: Final = frozenset(
    "unable unlikely unwilling reluctant impossible improbable hard difficult unaware incapable doubtful unnecessary "
    "dangerous forbidden illegal prohibited afraid unusual rare wrong stupid".split()
)
DOWNWARD_NOUNS: Final = frozenset(
    "lack absence refusal failure inability denial doubt unwillingness prohibition ban shortage avoidance".split()
)
"""What follows them with "of", "to" or "that" is a downward context."""
DOWNWARD_PREPOSITIONS: Final = frozenset({"without", "than", "before"})
DOWNWARD_CONJUNCTIONS: Final = frozenset({"if", "whenever", "before", "lest"})
OF_THINGS: Final = frozenset({"with", "without", "of", "like"})
"""Prepositions that say of a thing what it has or is: of another thing, or of what is done, they say something else."""
OTHER_PREPOSITIONS: Final = frozenset({"except", "besides", "unlike", "unless", "whether", "until", "but", "like"})
"""Contexts of which nothing is promised in either direction."""
RARELY: Final = frozenset({"rarely", "seldom", "hardly", "scarcely", "barely", "infrequently"})
"""Adverbs under which a verb's dependents are as under few."""
OUTSIDE: Final = frozenset(
    "if unless because since although though whereas while when whenever after before until as so lest once".split()
)
"""Conjunctions whose clause is outside the scope of what is said in the main one."""
PRIVATIVE: Final = frozenset(
    "fake former ex toy counterfeit imaginary fictional fictitious pretend mock artificial bogus false would-be "
    "past late stuffed simulated virtual sham".split()
)
"""Adjectives whose noun does not hold: a fake gun is none."""
MODAL_ADJECTIVES: Final = frozenset(
    "alleged possible potential supposed putative likely probable purported presumed apparent so-called future "
    "prospective hypothetical suspected aspiring reputed claimed".split()
)
"""Adjectives that leave open whether their noun holds."""
NOT_QUITE: Final = frozenset({"almost", "nearly", "barely", "hardly", "scarcely", "rarely", "seldom", "no"})
MODAL_ADVERBS: Final = frozenset(
    "allegedly possibly perhaps maybe probably potentially supposedly apparently reportedly presumably".split()
)
UNIQUE: Final = frozenset(
    {"only", "first", "second", "last", "same", "next", "sole", "third", "final", "best", "worst"}
)
"""Adjectives like a superlative: the first man to land there is not the first tall man to."""
COLLECTIVE: Final = frozenset(
    "meet gather marry assemble collide differ agree argue combine separate divorce cooperate share compete".split()
)
"""Verbs that hold of several together, and not of each."""
PARTS_OF_GROUPS: Final = frozenset("group bunch crowd pair couple band team set kind type sort piece lot".split())
"""Nouns before "of" that say how many, or what portion, of the noun that follows."""
