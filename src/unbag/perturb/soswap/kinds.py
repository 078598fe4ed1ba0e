"""Kinds of nouns and pronouns: who is animate, what is a part of the body."""

from typing import Final

from unbag.data.text.grammar import ANIMALS, BODY_PARTS, PEOPLE
from unbag.data.text.parses import OBJECTIVE, Parse

PERSONAL: Final = frozenset(word.lower() for pair in OBJECTIVE.items() for word in pair)
"""Personal pronouns, as subjects and as objects."""
ANIMATE: Final = PEOPLE | ANIMALS | {"him", "her", "me", "them", "us", "you"}
"""What people and animals are called: lemmas of nouns, and pronouns as objects."""


def is_animate(parse: Parse, head: int) -> bool:
    """Tell whether a noun or pronoun is of people or animals, or a name of one."""
    if parse.pos[head] == "PROPN":
        return not any(parse.deps[i] == "det" for i in parse.children(head))  # but a Frisbee
    return parse.lemmas[head].lower() in ANIMATE or parse.lower_words[head] in ANIMATE


def is_of_the_body(parse: Parse, preposition: int) -> bool:
    """Tell whether a token is a preposition before a part of the body: in its mouth, on her head, with both hands."""
    inner = parse.child(preposition, "pobj")
    return inner is not None and parse.lemmas[inner].lower() in BODY_PARTS
