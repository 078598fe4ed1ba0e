"""Content words: nouns, verbs, adjectives and adverbs (Nie et al. 2019, section 5.2), by their tags.

For English by the Penn Treebank's, whose verbs have *be* and *have* among them, whose adverbs *not*, and by EX beside:
in Figure 2 of the paper *not* and *there* are features. Universal tags call them particles and pronouns.
"""

from typing import Final

from unbag.data.text.tagging import Tagged
from unbag.lexical.bag import Words as Words

PENN: Final = frozenset("NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ JJ JJR JJS RB RBR RBS EX".split())
"""The Penn Treebank's tags of the words that count: NN*, VB*, JJ*, RB* and EX (*there*)."""

UNIVERSAL: Final = frozenset({"NOUN", "PROPN", "VERB", "ADJ", "ADV"})
"""Universal tags of the words that count, for other languages, proper nouns included."""


def content_words(tagged: Tagged, content: frozenset[str] = PENN) -> Words:
    """Return the content words of a tagged sentence.

    >>> content_words((("There", "EX"), ("are", "VBP"), ("two", "CD"), ("dogs", "NNS"), (".", ".")))
    ('are', 'dogs', 'there')
    """
    return tuple(sorted({token.lower() for token, tag in tagged if tag in content}))
