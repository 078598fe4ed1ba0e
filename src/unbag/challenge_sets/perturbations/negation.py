"""Pairs with a negation, whose labels natural logic proves.

A plain sentence is negated by one of several templates.

Plain are sentences of one clause: a subject, its verb right after it, nothing that denies, restricts or compares.
Whether the negation is one is left to whoever proves the pair's label.

The pairs have all three labels.

Of a plain sentence S ("A man is riding a horse in a field."), a shorter one T that follows from it ("A man is riding a
horse."), and their negations ("No man …"):

- contradiction: S and not S, S and not T, in either order;
- entailment: not T, so not S;
- neutral: not S, so perhaps not T; T and not S, in either order.

So a negation tells no label: it is in the premise or in the hypothesis of each of the three.

A sentence is shortened by leaving one modifier out: an adjective, an adverb, or a phrase of place or manner.

"A young man is riding a horse in a field." without "in a field" is what follows from it. Left out is only what a
sentence can do without; whether the shorter one follows is left to whoever proves it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from unbag.challenge_sets.perturbations.augmentation import Labeller, GeneratedPair, proved
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in
from unbag.challenge_sets.perturbations.word_lists import FIXED_PHRASES
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from unbag.data.text.grammar import (
    NEGATIONS,
    ORIGIN,
    PEOPLE,
    adapt_article,
    adjective_rank,
    decapitalize,
    determiners_fit,
)
from unbag.data.text.parses import Parse, Parser, Person, conjugate, third_singular
from unbag.utils import rng

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
    first = {0: decapitalize(parse.words[0], parse.pos[0])}
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
        found[NOBODY] = "Nobody " + _text(parse, {finite: conjugate(word, base, Person.SINGULAR, third=third)}, finite)
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


_PREPOSITIONS: Final = frozenset(
    "across along around at behind beside by during in inside near on outside over through under with".split()
)
_NEEDED: Final = frozenset(
    """be become belong carry consist cover depend dress dry engage fill go hang head keep lay lead lean lie live look
    lounge participate place point put remain rest seem set sit smile stand stare stay talk wait wear work""".split()
)
"""Verbs that say little, or something else, without what follows them."""


def shortenings(parse: Parse) -> Iterator[Parse]:
    """Yield a sentence without each of its modifiers that it can do without, as it was parsed."""
    for i in range(len(parse.words)):
        if _can_go(parse, i):
            yield without(parse, parse.subtree(i))


def _can_go(parse: Parse, i: int) -> bool:
    head, span = parse.heads[i], parse.subtree(i)
    if span != list(range(span[0], span[-1] + 1)) or span[0] == 0 or head in span:
        return False
    if parse.pos[span[0] - 1] in ("ADP", "SCONJ", "CCONJ"):
        return False  # while | on a skateboard
    if parse.deps[i] == "amod":
        phrase = " ".join(parse.lower_words[i : head + 1])
        # Of size, age, colour and the like: others make a name or a kind of it (martial artist, polar bear).
        is_plain = (
            adjective_rank(parse.words[i]) not in (None, ORIGIN) and len(span) == 1 and phrase not in FIXED_PHRASES
        )
        return is_plain and parse.pos[head] == "NOUN" and parse.deps[head] != "compound"  # martial arts competition
    if parse.deps[i] == "advmod":
        return len(span) == 1 and parse.lower_words[i].endswith("ly") and parse.pos[head] == "VERB"
    if parse.deps[i] != "prep" or parse.lower_words[i] not in _PREPOSITIONS or parse.child(i, "pobj") is None:
        return False
    if parse.pos[head] == "VERB":
        # What the next words belong to may change: only at the end is that certain.
        at_end = all(pos == "PUNCT" for pos in parse.pos[span[-1] + 1 :])
        return at_end and (parse.child(head, "dobj") is not None or parse.lemmas[head].lower() not in _NEEDED)
    return parse.tags[head] in ("NN", "NNS") and i == head + 1


def without(parse: Parse, gone: list[int]) -> Parse:
    """Return a parse without some tokens, an indefinite article before them adapted to what follows then."""
    kept = [i for i in range(len(parse.words)) if i not in gone]
    place = {old: new for new, old in enumerate(kept)}
    words, spaces = [parse.words[i] for i in kept], [parse.spaces[i] for i in kept]
    before = gone[0] - 1
    if before in place:
        if place[before] + 1 < len(words):
            words[place[before]] = adapt_article(parse.words[before], words[place[before] + 1])
        spaces[place[before]] = parse.spaces[gone[-1]]
    return Parse(
        words=tuple(words),
        spaces=tuple(spaces),
        lemmas=tuple(parse.lemmas[i] for i in kept),
        pos=tuple(parse.pos[i] for i in kept),
        tags=tuple(parse.tags[i] for i in kept),
        heads=tuple(place[parse.heads[i]] for i in kept),
        deps=tuple(parse.deps[i] for i in kept),
    )


NOT_PLAIN: Final = "no plain sentence"
NO_TEMPLATE: Final = "no template that fits"
NO_PROOF: Final = "no proof of its label"
_AT_ONCE: Final = 64  # sentences whose pairs are proved together

T = TypeVar("T")


class NegatedPairs:
    """The maker of negated pairs of some premises."""

    kind = "negated"
    balanced = True

    def __init__(self, premises: Sequence[str], parser: Parser, labeller: Labeller, *, words: str = ALL) -> None:
        """Take what it makes them of.

        Args:
            premises: distinct sentences.
            parser: parses them, once ever.
            labeller: proves the labels.
            words: `all`, or the half of the templates that it uses (`challenge_sets.perturbations.vocabulary_split`).
        """
        self._premises, self._parser, self._labeller, self._words = premises, parser, labeller, words

    def __len__(self) -> int:
        return len(self._premises)

    def make(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Yield the pairs of each premise, one of each label that is proved; the seed draws template and words."""
        for start in range(0, len(order), _AT_ONCE):
            parses = self._parser.parses(self._premises[i] for i in order[start : start + _AT_ONCE])
            candidates = [self._candidates(parse, seed) for parse in parses]
            pairs = [made for some in candidates if not isinstance(some, str) for made in some]
            verdicts = self._labeller.labels([made.premise for made in pairs], [made.hypothesis for made in pairs])
            for some in candidates:
                if isinstance(some, str):
                    yield some
                    continue
                right = [made for made in some if proved(next(verdicts)) == made.label]
                yield right or NO_PROOF

    def _candidates(self, parse: Parse, seed: int) -> list[GeneratedPair] | str:
        """Return one pair of each label, those that there are."""
        clause = plain_clause(parse)
        if clause is None:
            return NOT_PLAIN
        by_template = {name: text for name, text in negations(parse, clause).items() if are_in(self._words, [name])}
        if not by_template:
            return NO_TEMPLATE
        long, key = str(parse), int(rng.key(seed, "negated", str(parse)))
        template = _one(sorted(by_template), key, "template")
        not_long = by_template[template]
        pairs = [GeneratedPair(long, not_long, CONTRADICTION), GeneratedPair(not_long, long, CONTRADICTION)]
        shorter = [(each, clause) for each in shortenings(parse) if (clause := plain_clause(each)) is not None]
        if shorter:
            short, clause = _one(shorter, key, "shorter")
            not_short = negations(short, clause).get(template)
            if not_short is not None:
                pairs += [
                    GeneratedPair(long, not_short, CONTRADICTION),
                    GeneratedPair(not_short, long, CONTRADICTION),
                    GeneratedPair(not_short, not_long, ENTAILMENT),
                    GeneratedPair(not_long, not_short, NEUTRAL),
                    GeneratedPair(str(short), not_long, NEUTRAL),
                    GeneratedPair(not_long, str(short), NEUTRAL),
                ]
        by_label = {label: [made for made in pairs if made.label == label] for label in LABELS}
        return [_one(some, key, label) for label, some in by_label.items() if some]


def _one(some: Sequence[T], key: int, name: str) -> T:
    return some[int(rng.key(key, name)) % len(some)]
