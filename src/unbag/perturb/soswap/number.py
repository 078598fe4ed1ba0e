"""Number: which token of a clause agrees with its subject, and with what a phrase makes it agree."""

from typing import Final

from unbag.data.text.grammar import ARTICLES
from unbag.data.text.parses import Parse, Person, agreeing

_PLURAL: Final = frozenset("you we they us them both many few several others these those people police cattle".split())
_OF_MANY: Final = frozenset("lot number couple bunch variety majority dozen handful all some most half plenty".split())
_COLLECTIVE: Final = frozenset(
    """audience band choir class club company couple crew crowd family force gang group line majority orchestra pair
    party police squad staff team throng trio troop troupe""".split()
)
"""Nouns whose verb may be plural."""


def finite_of(parse: Parse, verb: int) -> int | None:
    """Return the token that agrees with a verb's subject: its first auxiliary, or itself; None if none does."""
    auxiliaries = [i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass") and i < verb]
    first = auxiliaries[0] if auxiliaries else verb
    if parse.tags[first] in ("VBZ", "VBP"):
        return first
    # Taggers take a plural verb for an infinitive now and then.
    if parse.tags[first] == "VB" and not auxiliaries:
        above = parse.heads[verb]
        if parse.deps[verb] != "conj" or parse.tags[above] != "VB" or finite_of(parse, above) == above:
            return first
    return first if parse.lower_words[first] in ("was", "were") else None


def agreeing_with(parse: Parse, finite: int, person: Person) -> str:
    """Return a verb that `finite_of` found as it agrees with another subject."""
    third = parse.tags[finite] == "VBZ"
    return agreeing(parse.words[finite], parse.lemmas[finite].lower(), person, third=third)


def person_of(parse: Parse, head: int, span: range) -> Person:
    """Return what a phrase makes of the verb whose subject it is."""
    word = parse.lower_words[head]
    if word in ("i", "me"):
        return Person.I
    children = parse.children(head)
    # "a helmet and clothing" is read as "helmet-and-clothing" now and then.
    nouns = [head, *(i for i in children if parse.deps[i] in ("nmod", "compound") and parse.pos[i] == "NOUN")]
    for noun in nouns:  # which grows: a list of three is a chain of two
        nouns += [i for i in parse.children(noun) if parse.deps[i] == "conj" and i in span]
    conjunctions = {
        parse.lower_words[i] for noun in nouns for i in parse.children(noun) if parse.deps[i] == "cc" and i in span
    }
    if "and" in conjunctions or "&" in conjunctions:
        return Person.PLURAL
    if word in _OF_MANY:
        inner = _of(parse, head)
        return Person.SINGULAR if inner is None else person_of(parse, inner, span)
    counted = any(parse.deps[i] == "nummod" and parse.lower_words[i] not in ("one", "1") for i in children)
    counted = counted and not any(parse.lower_words[i] in ARTICLES for i in children)  # a four wheeler
    many = parse.tags[head] in ("NNS", "NNPS") or word in _PLURAL or counted
    if parse.pos[head] == "NUM":
        many = word not in ("one", "1")
    return Person.PLURAL if many else Person.SINGULAR


def _of(parse: Parse, head: int) -> int | None:
    """Return the noun that a phrase has after `of`."""
    of = next((i for i in parse.children(head) if parse.lower_words[i] == "of"), None)
    return None if of is None else parse.child(of, "pobj")


def agrees(parse: Parse, finite: int, subject: int) -> bool:
    """Tell whether a verb's number is its subject's, where both are certain: if not, one of them is misread."""
    if parse.tags[finite] == "VBZ":  # "a man in a hat and boots" is read as two subjects now and then
        return parse.tags[subject] != "NNS" or _of(parse, subject) is not None
    collective = parse.lemmas[subject].lower() in _COLLECTIVE or _of(parse, subject) is not None
    whole = range(len(parse.words))
    return (
        parse.tags[finite] not in ("VB", "VBP") or collective or person_of(parse, subject, whole) is not Person.SINGULAR
    )
