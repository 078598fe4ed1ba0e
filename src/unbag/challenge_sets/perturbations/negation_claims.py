"""Claims that can be negated as a whole: plain sentences with an indefinite subject, and weaker claims that follow.

A subject without a definite article or a number leaves one reading of the negation: "A man sleeps" is false exactly if
"No man sleeps" is true. With "the man" or "two men" the second sentence says more than the negation of the first.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from unbag.challenge_sets.perturbations.negation import plain_clause, shortenings
from unbag.data.text.grammar import adapt_article
from unbag.data.text.parses import Parse

_INDEFINITE: Final = frozenset({"a", "an"})
_SINGULAR: Final = {
    **dict.fromkeys(("man", "woman"), "person"),
    **dict.fromkeys(("boy", "girl", "toddler"), "child"),
    **dict.fromkeys(("dog", "cat", "horse", "cow", "sheep", "elephant", "monkey", "bird"), "animal"),
    **dict.fromkeys(("car", "truck", "bus", "motorcycle"), "vehicle"),
}
_PLURAL: Final = {
    **dict.fromkeys(("men", "women"), "people"),
    **dict.fromkeys(("boys", "girls", "toddlers"), "children"),
    **dict.fromkeys(("dogs", "cats", "horses", "cows", "elephants", "monkeys", "birds"), "animals"),
    **dict.fromkeys(("cars", "trucks", "buses", "motorcycles"), "vehicles"),
}
_HYPERNYMS: Final = {"NN": _SINGULAR, "NNS": _PLURAL}


def is_claim(parse: Parse) -> bool:
    """Check whether a sentence is plain, with an indefinite subject and without coordination."""
    clause = plain_clause(parse)
    if clause is None or "CCONJ" in parse.pos:
        return False
    determiners = [i for i in parse.children(clause.noun) if parse.deps[i] in ("det", "nummod", "poss", "quantmod")]
    if parse.tags[clause.noun] == "NN":
        return determiners == [0] and parse.lower_words[0] in _INDEFINITE
    return not determiners


def shorter_claims(parse: Parse) -> Iterator[Parse]:
    """Generate the claims without one optional modifier. The claim entails each of them."""
    return (shorter for shorter in shortenings(parse) if is_claim(shorter))


def hypernym_claims(parse: Parse) -> Iterator[Parse]:
    """Generate the claim with a hypernym of its subject, if the word lists have one. The claim entails it."""
    clause = plain_clause(parse)
    noun = clause.noun if clause else 0
    hypernym = _HYPERNYMS.get(parse.tags[noun], {}).get(parse.lower_words[noun])
    # "A hot dog", "a fire truck": the noun alone does not name the kind. "A boy scout" has another head.
    modifiers = [i for i in parse.children(noun) if parse.deps[i] in ("amod", "compound", "nmod")]
    if hypernym is None or modifiers:
        return
    words, lemmas = list(parse.words), list(parse.lemmas)
    words[noun] = hypernym if noun else hypernym.capitalize()
    lemmas[noun] = hypernym
    if noun:
        words[noun - 1] = adapt_article(words[noun - 1], hypernym)
    yield replace(parse, words=tuple(words), lemmas=tuple(lemmas))
