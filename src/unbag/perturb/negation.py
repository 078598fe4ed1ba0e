"""A plain sentence negated by one of some templates.

Plain are sentences of one clause: a subject, its verb right after it, nothing that denies, restricts or compares.
Whether the negation is one is left to whoever proves the pair's label.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from unbag.data.text.grammar import NEGATIONS, PEOPLE, determiners_fit, lowered
from unbag.data.text.parses import Parse, Person, agreeing, third_singular

NOT: Final = "not"
CONTRACTED: Final = "n't"
NO: Final = "no"
THERE_IS_NO: Final = "there is no"
NOBODY: Final = "nobody"
NOT_TRUE: Final = "it is not true that"
TEMPLATES: Final = (NOT, CONTRACTED, NO, THERE_IS_NO, NOBODY, NOT_TRUE)

_NOT_PLAIN: Final = NEGATIONS | frozenset(
    """without only except but or if unless than all every each everyone everybody someone somebody both most few many
    any other another others either same own several various different else too also still just almost nearly who which
    that what""".split()
)
"""Words with which a negation may mean something else, or read badly."""
_OTHER_CLAUSES: Final = frozenset("advcl acl appos ccomp conj csubj dep expl parataxis relcl".split())
_COLLECTIVE: Final = frozenset("bunch couple crowd family group line lot majority number pair row team variety".split())
_COUNTS: Final = frozenset("two three four five six seven eight nine ten".split())
_DETERMINERS: Final = _COUNTS | frozenset("a an the some one".split())
_OWN: Final = frozenset("his her their him them himself herself themselves".split())
_BE: Final = frozenset("is are was were".split())


class Clause(NamedTuple):
    """The tokens of a plain sentence: its subject's noun, its finite verb, and its main verb, which may be the same."""

    noun: int
    finite: int
    verb: int


def plain_clause(parse: Parse) -> Clause | None:
    """Return the clause of a plain sentence; None of any other."""
    words = parse.lower_words
    if parse.deps.count("ROOT") != 1 or not _NOT_PLAIN.isdisjoint(words) or not determiners_fit(parse):
        return None
    inner = len(words) - (words[-1] == ".")
    if not {"PUNCT", "SPACE", "SYM", "X"}.isdisjoint(parse.pos[:inner]) or not _OTHER_CLAUSES.isdisjoint(parse.deps):
        return None
    verb = parse.deps.index("ROOT")
    noun = next((i for i in parse.children(verb) if parse.deps[i] in ("nsubj", "nsubjpass")), None)
    auxiliaries = [i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass")]
    finite = auxiliaries[0] if auxiliaries else verb
    if noun is None or parse.tags[noun] not in ("NN", "NNS") or parse.lemmas[noun].lower() in _COLLECTIVE:
        return None
    if parse.tags[noun] == "NN" and not _determiners(parse, noun):
        return None
    if parse.subtree(noun) != list(range(finite)) or "CCONJ" in parse.pos[:finite]:
        return None
    if parse.tags[finite] not in ("VBZ", "VBP") or not words[finite].isalpha():
        return None
    if (parse.tags[finite] == "VBZ") is (parse.tags[noun] == "NNS"):
        return None
    # "are happily playing" may be negated in two places.
    if auxiliaries and (words[finite] not in _BE or len(auxiliaries) > 1 or finite != verb - 1):
        return None
    return Clause(noun, finite, verb)


def negations(parse: Parse, clause: Clause) -> Mapping[str, str]:
    """Return a plain sentence's negations by template, those that it takes."""
    finite, word = clause.finite, parse.words[clause.finite]
    first = {0: lowered(parse.words[0], parse.pos[0])}
    found = {NOT_TRUE: f"It is not true that {_text(parse, first)}"}
    base = parse.lemmas[finite].lower()
    if parse.lower_words[finite] in _BE:
        found |= {NOT: _text(parse, {finite: f"{word} not"}), CONTRACTED: _text(parse, {finite: f"{word}n't"})}
    elif word in (base, third_singular(base)):
        do = "do" if parse.tags[clause.noun] == "NNS" else "does"
        found[NOT] = _text(parse, {finite: f"{do} not {base}"})
        found[CONTRACTED] = _text(parse, {finite: f"{do}n't {base}"})
    start = _without_determiner(parse, clause.noun)
    if start is None:
        return found
    found[NO] = "No " + _text(parse, first, start)
    if word in _BE and parse.tags[clause.verb] == "VBG" and finite < clause.verb:
        found[THERE_IS_NO] = f"There {word} no " + _text(parse, first | {finite: ""}, start)
    alone = start == clause.noun == finite - 1 and _OWN.isdisjoint(parse.lower_words)  # nobody is on her head
    if alone and parse.lemmas[clause.noun].lower() in PEOPLE:
        third = parse.tags[finite] == "VBZ"
        found[NOBODY] = "Nobody " + _text(parse, {finite: agreeing(word, base, Person.SINGULAR, third=third)}, finite)
    return found


def _determiners(parse: Parse, noun: int) -> list[int]:
    return [i for i in parse.children(noun) if parse.deps[i] in ("det", "nummod", "poss", "predet", "quantmod")]


def _without_determiner(parse: Parse, noun: int) -> int | None:
    """Return where a sentence's subject begins without its determiner; None where "no" cannot take its place."""
    determiners = _determiners(parse, noun)
    if not determiners:
        return 0
    return 1 if determiners == [0] and parse.lower_words[0] in _DETERMINERS else None


def _text(parse: Parse, changed: Mapping[int, str], start: int = 0) -> str:
    """Return a sentence from a token on, with other words in some places; an empty one goes with its space."""
    pieces = [
        word + " " * parse.spaces[i] for i in range(start, len(parse.words)) if (word := changed.get(i, parse.words[i]))
    ]
    return "".join(pieces)
