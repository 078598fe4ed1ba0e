r"""A sentence's tree as natural logic sees it: content words, their determiners, and which verbs are negated.

What says nothing of its own (auxiliaries, "that", punctuation, determiners) is set apart: determiners are known by
their noun, negations and modals by their verb. "There is a dog running" has the tree of "a dog is running".

A clause is read as quantifier(subject), modifier(verb), quantifier(object).

The readings, all those of section 3.3 of Akoju et al. (2023) where it gives one, and the standard one elsewhere. X is
the set that the noun phrase names (its adjective taken in), Y what the rest of the clause says of its members; n is
|X ∩ Y|, m is |X \ Y|, and k the number in the phrase (1 in "a man", "every man"; 2 in "two dogs", "every two dogs").

| quantifier | holds if | |
|---|---|---|
| a, some, at least | n ≥ k | "at least" without a number is "at least one" |
| exactly | n = k | |
| every | m = 0 and n ≥ k | section 3.3, 1: the set behind *all* is not empty, |X| > 0 |
| not every | m > 0 or n < k | 3.3, 3: |X| ≥ 0; zero men may be among those who do. The contrary of "every" |
| all but | m = k | 3.3, 2: N - k of N, which may be none |
| no | n < k | |
| the | the one spoken of is an X and does | a definite names one thing in both sentences |

The third sentence of 3.3, 3 ("there exists zero or one or more men that would not be included") taken by the letter
would make "not every man" true of every man as well, and so empty; it is not read like that.

- The subject has scope over the verb's modifiers, those over the object: "a deer isn't jumping over every fence" is
  a deer, not, every fence.
- *not* negates what follows. *always* is at all times, *never* at none, and a plain verb speaks of now, which is one
  of the times.
- Adjectives and adverbs are intersective, those of Table 2 that depend on their noun (good, bad, abnormal, elegant)
  too: "good" picks out the same things wherever it stands in a pair. So "a good old man" is a good man, as upward
  monotone restrictive modifiers are in MacCartney (2009). An adverb picks out some of the doings of a verb, the same
  ones in both sentences.
- Nothing is empty that the seed's nouns name: captions speak of what there is. Modified nouns (green fences) may be.
- **Coreference.** Read by the letter, "a man" is some man, in each sentence another one if need be. Captions of one
  scene speak of the same man: where that is assumed, weak noun phrases (a, some, at least, exactly) name the scene's
  individuals as *the* does, and claim n as well; strong ones (every, not every, all but, no) never name anybody. The
  individual is one that the noun of one of the two sentences fits. It is assumed where the seed is a contradiction,
  which two sentences can only be if they are about the same event (de Marneffe, Rafferty & Manning 2008, section 3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Final

from unbag.baselines.natlog import relations as known
from unbag.baselines.natlog.determiners import FEW, NUMBERS, A, Determiner, Kind, quantified
from unbag.baselines.natlog.relations import Relation
from unbag.data.text.grammar import ARTICLES
from unbag.data.text.parses import Parse, Parser, dependents

NOUNS: Final = ("NOUN", "PROPN", "PRON", "NUM")
VERBS: Final = ("VERB", "AUX")
SUBJECTS: Final = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
OBJECTS: Final = ("dobj", "attr", "dative", "oprd")
_NEGATIONS: Final = frozenset({"not", "n't", "never", "nt"})
_SILENT: Final = frozenset(
    {"aux", "auxpass", "punct", "expl", "preconj", "intj", "case", "cc", "mark", "det", "predet"}
)
_DETERMINERS: Final = frozenset("a an the this that these those another".split())
_UNREAD: Final = frozenset(
    "all each every either half both such what whatever which whichever no any more fewer less enough most fewest "
    "least".split()
)
"""Words at a noun that are a determiner which `quantified` has no condition for: "all day", "more dogs than cats"."""
_DEGREES: Final = frozenset("too so as how".split())
_MODALS: Final = frozenset("can could may might must should would ought shall".split())
_MODAL: Final = {"ca": "can", "'d": "would"}


@dataclass(frozen=True)
class Tree:
    """A sentence.

    Attributes:
        words: its tokens, those that stand for a determiner included.
        lemmas: dictionary forms, in lower case.
        pos: universal POS tags.
        tags: Penn Treebank tags.
        heads: the token that each depends on; its own for the root.
        deps: the names of these dependencies.
        determiners: by the position of a noun, its determiner, the words that say it, and the token that does.
        negations: by the position of a verb, the token that negates it.
        unread: a word that could not be hung up; empty where there is none.
    """

    words: tuple[str, ...]
    lemmas: tuple[str, ...]
    pos: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    deps: tuple[str, ...]
    determiners: dict[int, tuple[Determiner, str, int]]
    negations: dict[int, int]
    unread: str = ""

    @cached_property
    def children(self) -> list[list[int]]:
        """The tokens that depend on each, in order."""
        return dependents(self.heads)

    def subtree(self, head: int) -> frozenset[int]:
        """Return a token and all that depends on it."""
        tokens = [head]
        for above in tokens:  # which grows
            tokens += self.children[above]
        return frozenset(tokens)

    def above(self, token: int) -> Iterator[int]:
        """Yield what a token depends on, up to the root."""
        while self.heads[token] != token:
            token = self.heads[token]
            yield token

    @property
    def root(self) -> int:
        """The root."""
        return next((i for i, head in enumerate(self.heads) if i == head), 0)

    def first(self, token: int, *deps: str) -> int | None:
        """Return the first child of a token with one of some dependencies."""
        return next((child for child in self.children[token] if self.deps[child] in deps), None)

    def text(self, tokens: frozenset[int] | set[int]) -> str:
        """Return some tokens as text, each determiner as the sentence has it."""
        said = {token: words for _, words, token in self.determiners.values()}
        return " ".join(said.get(i, self.words[i]) for i in sorted(tokens))

    @cached_property
    def operator_tokens(self) -> frozenset[int]:
        """The tokens that say a determiner, or a negation."""
        return frozenset(token for _, _, token in self.determiners.values()) | set(self.negations.values())

    @cached_property
    def silent(self) -> frozenset[int]:
        """The tokens that are no content: known by another, or saying nothing."""
        return frozenset(
            i
            for i, dep in enumerate(self.deps)
            if i in self.operator_tokens
            or (dep in _SILENT and self.lemmas[i] != "only")
            or (self.lemmas[i] in ("to", "that") and self.pos[i] != "ADP")
        )

    @cached_property
    def modals(self) -> dict[int, str]:
        """The modal of each verb that has one."""
        return {
            self.heads[i]: _MODAL.get(word.lower(), word.lower())
            for i, word in enumerate(self.words)
            if self.tags[i] == "MD" and _MODAL.get(word.lower(), word.lower()) in _MODALS
        }

    @cached_property
    def existential(self) -> bool:
        """Whether it has a "there", or an "it", that only stands in the place of its subject."""
        return any(dep == "expl" for dep in self.deps)


def read(sentences: list[str], parser: Parser) -> Iterator[Tree]:
    """Yield the tree of each sentence."""
    found = [quantified(_cleaned(sentence)) for sentence in sentences]
    parses = parser.parses([each.text for each in found])
    for each, parse in zip(found, parses, strict=True):
        yield _tree(parse, each.determiners)


def _cleaned(sentence: str) -> str:
    text = " ".join(sentence.split()).replace(" n't", "n't").replace("’", "'")
    return text if text.endswith((".", "!", "?", '"')) else f"{text}."


def _tree(parse: Parse, found: dict[int, tuple[Determiner, str]]) -> Tree:
    heads, deps = list(parse.heads), list(parse.deps)
    offsets, offset = [], 0
    for word, space in zip(parse.words, parse.spaces, strict=True):
        offsets.append(offset)
        offset += len(word) + space
    determiners: dict[int, tuple[Determiner, str, int]] = {}
    unread = ""
    for i, place in enumerate(offsets):
        if place in found:
            determiner, words = found[place]
            noun = _noun_of(parse, i, words.lower())
            if noun is None or noun in determiners:
                unread = words
                continue
            heads[i], deps[i] = noun, "det"
            determiners[noun] = (determiner, words, i)
    for i, word in enumerate(parse.lower_words):
        head = heads[i]
        if deps[i] in ("det", "poss") and word in _DETERMINERS and head not in determiners:
            determiners[head] = (A, word, i)
    for i, determiner in _unread(parse, heads, deps):
        if heads[i] not in determiners or parse.lower_words[i] in ("most", "fewest", "least"):
            determiners[heads[i]] = (determiner, determiner.words or parse.words[i], i)
    for i, word in enumerate(parse.lower_words):
        if deps[i] == "nummod" and heads[i] not in determiners and (number := _number(word)) is not None:
            kind = A if number == 1 else Determiner(A.kind, number, named=True)
            determiners[heads[i]] = (kind, parse.words[i], i)
    negations = {}
    for i, word in enumerate(parse.lower_words):
        if word in _NEGATIONS:
            verb = heads[i]
            if deps[i] not in ("neg", "advmod") or verb in negations:
                unread = unread or word
            negations[verb] = i
    _conjoined(heads, deps)
    _without_auxiliaries(heads, deps)
    return Tree(
        parse.words,
        tuple(_lemma(parse, i) for i in range(len(parse.words))),
        parse.pos,
        parse.tags,
        tuple(heads),
        tuple(deps),
        determiners,
        negations,
        unread,
    )


def _unread(parse: Parse, heads: list[int], deps: list[str]) -> Iterator[tuple[int, Determiner]]:
    """Yield the words at nouns that say how many, in ways that are not read, with what they are as determiners."""
    for i, word in enumerate(parse.lower_words):
        head = heads[i]
        if not (i < head and parse.pos[head] in NOUNS and deps[i] in ("det", "predet", "amod", "nummod", "quantmod")):
            continue
        before = parse.lower_words[i - 1] if i else ""
        is_degree = word in ("many", "few", "much", "little") and before in _DEGREES
        if is_degree or (word in _UNREAD and parse.tags[i] not in ("RBR", "RBS")):
            yield i, Determiner(Kind.OTHER, words=f"{before} {word}" if is_degree or before == "the" else word)
        elif word == "little" and parse.lemmas[head].lower() in known.MASSES and not _has_article(parse, head):
            yield i, FEW


def _has_article(parse: Parse, noun: int) -> bool:
    return any(parse.deps[child] in ("det", "poss", "predet") for child in parse.children(noun))


def _lemma(parse: Parse, i: int) -> str:
    if parse.tags[i] in ("JJR", "JJS", "RBR", "RBS"):
        return parse.lower_words[i]  # the tallest is more than tall
    lemma = parse.lemmas[i].lower()
    return {"'s": "be", "n't": "not"}.get(lemma, lemma)


def _number(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    return NUMBERS.get(word)


def _possessed(parse: Parse, noun: int) -> int | None:
    """Return what a possessor has: all of Tom's friends are friends."""
    is_possessor = parse.deps[noun] == "poss" and parse.heads[noun] > noun
    return parse.heads[noun] if is_possessor else None


def _noun_of(parse: Parse, token: int, words: str) -> int | None:
    """Return the noun that a determiner belongs to: its head, or the last noun of those that follow it at once."""
    head = parse.heads[token]
    if (possessed := _possessed(parse, head)) is not None and words.endswith(
        (" of", " of the", " of these", " of those")
    ):
        return possessed
    if parse.deps[token] in ("det", "amod", "nummod", "predet", "poss") and parse.pos[head] in NOUNS and head > token:
        return head
    noun = None
    for i in range(token + 1, len(parse.words)):
        if parse.pos[i] in ("NOUN", "PROPN"):
            noun = i
        elif noun is not None or parse.pos[i] not in ("ADJ", "ADV", "NUM", "DET"):
            break
    return noun


def like(premise: Tree, hypothesis: Tree) -> Tree:
    """Return the hypothesis's tree; where it differs in one word of the same kind, the premise's with that word.

    Parsers may hang up all the words around another one in another way.
    """
    if len(premise.words) != len(hypothesis.words) or premise.unread or hypothesis.unread:
        return hypothesis
    differ = [
        i
        for i, (one, two) in enumerate(zip(premise.words, hypothesis.words, strict=True))
        if one.lower() != two.lower() and not {one.lower(), two.lower()} <= ARTICLES
    ]
    said = [
        [(determiner, token) for determiner, _, token in tree.determiners.values()] for tree in (premise, hypothesis)
    ]
    if len(differ) != 1 or sorted(map(str, said[0])) != sorted(map(str, said[1])):
        return hypothesis
    [i] = differ
    if i in premise.silent or premise.pos[i] != hypothesis.pos[i]:
        return hypothesis

    def put(column: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
        return (*column[:i], other[i], *column[i + 1 :])

    return replace(
        premise,
        words=put(premise.words, hypothesis.words),
        lemmas=put(premise.lemmas, hypothesis.lemmas),
        pos=put(premise.pos, hypothesis.pos),
        tags=put(premise.tags, hypothesis.tags),
    )


def plain(tree: Tree) -> Tree:
    """Return the tree of "a dog is running" for that of "there is a dog running"."""
    heads, deps, verb = list(tree.heads), list(tree.deps), tree.root
    there = tree.first(verb, "expl")
    noun = tree.first(verb, "attr", "nsubj")
    if there is None or noun is None or tree.lemmas[there] != "there" or tree.lemmas[verb] != "be":
        return tree
    below = [child for child in tree.children[noun] if tree.deps[child] == "acl" and tree.tags[child] == "VBG"]
    deps[noun] = "nsubj"
    negations = dict(tree.negations)
    if below:
        doing = below[0]
        heads[doing], deps[doing] = doing, "ROOT"
        heads[noun] = doing
        for i, head in enumerate(heads):
            if head == verb and i not in (noun, doing):
                heads[i] = doing
        heads[verb], deps[verb] = doing, "aux"
        if verb in negations:
            negations[doing] = negations.pop(verb)
    return replace(tree, heads=tuple(heads), deps=tuple(deps), negations=negations)


def _without_auxiliaries(heads: list[int], deps: list[str]) -> None:
    """Hang on the verb what parsers hang on its auxiliary: "at no time did he eat"."""
    for i, head in enumerate(heads):
        while deps[head] in ("aux", "auxpass") and heads[head] != head and i != head:
            head = heads[i] = heads[head]


def _conjoined(heads: list[int], deps: list[str]) -> None:
    """Hang all conjuncts of a list on its first."""
    for i, dep in enumerate(deps):
        while dep == "conj" and deps[heads[i]] == "conj":
            heads[i] = heads[heads[i]]


class Quantifier(Enum):
    """A determiner as the table above reads it."""

    A = "a"
    THE = "the"
    SOME = "some"
    AT_LEAST = "at least"
    EXACTLY = "exactly"
    EVERY = "every"
    NOT_EVERY = "not every"
    ALL_BUT = "all but"
    NO = "no"


WEAK: Final = (Quantifier.A, Quantifier.SOME, Quantifier.AT_LEAST, Quantifier.EXACTLY)
"""Those whose noun phrases can name individuals."""


@dataclass(frozen=True)
class NounPhrase:
    """A quantifier, its number k, and an adjective that was put to the seed's noun."""

    quantifier: Quantifier = Quantifier.A
    number: int = 1
    adjective: str | None = None

    def names(self, coreferent: bool) -> bool:
        """Tell whether the phrase names individuals that the other sentence may name too."""
        return self.quantifier is Quantifier.THE or (coreferent and self.quantifier in WEAK)

    def holds(self, n: int, m: int) -> bool:
        """Tell whether its quantifier holds of n members that do and m that do not."""
        k = self.number
        match self.quantifier:
            case Quantifier.EXACTLY:
                return n == k
            case Quantifier.EVERY:
                return m == 0 and n >= k
            case Quantifier.NOT_EVERY:
                return m > 0 or n < k
            case Quantifier.ALL_BUT:
                return m == k
            case Quantifier.NO:
                return n < k
            case _:
                return n >= k


NOT: Final = "not"
ALWAYS: Final = "always"
NEVER: Final = "never"


@dataclass(frozen=True)
class Clause:
    """A sentence as natural logic sees it.

    Attributes:
        subject: the subject's phrase.
        object: the object's, or None for a verb without one.
        modifiers: `NOT`, `ALWAYS` and `NEVER` on the verb, the outermost first.
        adverb: one that says how.
    """

    subject: NounPhrase = field(default_factory=NounPhrase)
    object: NounPhrase | None = None
    modifiers: tuple[str, ...] = ()
    adverb: str | None = None

    def __post_init__(self) -> None:
        if unread := [modifier for modifier in self.modifiers[:-1] if modifier != NOT]:
            raise ValueError(f"expected {NOT!r} before the last of the modifiers, found {unread} in {self.modifiers}")

    def modified(self, now_and_then: Sequence[bool]) -> bool:
        """Tell whether the modified verb holds of one subject, from whether the plain one does: now, then elsewhen."""
        value: bool | None = None
        for modifier in reversed(self.modifiers):
            if modifier == ALWAYS:
                value = all(now_and_then)
            elif modifier == NEVER:
                value = not any(now_and_then)
            else:
                value = not (now_and_then[0] if value is None else value)
        return now_and_then[0] if value is None else value


@dataclass(frozen=True)
class Lexicon:
    """What is known of the words of a pair before any modifier: how premise and hypothesis are related part by part.

    Attributes:
        subject: the relation of the premise's subject noun to the hypothesis's.
        verb: the relation of the premise's verb to the hypothesis's. Alternation is of doers (nobody sits and runs at
            a time), every other relation of doings (who hits something hits it or misses it).
        object: that of the object nouns.
        coreferent: whether weak noun phrases name the same individuals in both sentences.
        exchanged: the hypothesis has the premise's subject as object and its object as subject ("the turtle is
            following the fish", "the fish is following the turtle"). `subject` is then the relation of the premise's
            subject to the hypothesis's object; `verb` that of x doing it to y to y doing it to x.
    """

    subject: Relation = Relation.EQUIVALENCE
    verb: Relation = Relation.EQUIVALENCE
    object: Relation = Relation.EQUIVALENCE
    coreferent: bool = False
    exchanged: bool = False


@dataclass(frozen=True)
class Shape:
    """All that decides the relation between two sentences: what is left of them without their words."""

    premise: Clause
    hypothesis: Clause
    lexicon: Lexicon
