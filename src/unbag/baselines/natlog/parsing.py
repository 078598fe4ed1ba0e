r"""Parse trees of sentences, and logical forms of clauses with quantifiers.

A tree separates function words (auxiliaries, "that", punctuation, determiners) from content words. Determiners are
indexed by their noun, negations and modals by their verb. "There is a dog running" has the tree of "a dog is running".

A clause has the form quantifier(subject), modifier(verb), quantifier(object).

The interpretations follow section 3.3 of Akoju et al. (2023), and the standard semantics for quantifiers that are not
defined there. X is the set of the noun phrase with its adjective, and Y is the set of the rest of the clause; n is
|X ∩ Y|, m is |X \ Y|, and k is the number in the phrase (1 in "a man", "every man"; 2 in "two dogs", "every two dogs").

| quantifier | holds if | |
|---|---|---|
| a, some, at least | n ≥ k | "at least" without a number is "at least one" |
| exactly | n = k | |
| every | m = 0 and n ≥ k | section 3.3, 1: the set of *all* is not empty, |X| > 0 |
| not every | m > 0 or n < k | 3.3, 3: |X| ≥ 0; n may be 0. The complement of "every" |
| all but | m = k | 3.3, 2: N - k of N, possibly 0 |
| no | n < k | |
| the | the referent is in X and in Y | a definite has the same referent in both sentences |

The third sentence of 3.3, 3 ("there exists zero or one or more men that would not be included") is not interpreted
literally, because "not every man" would then always be true.

- The subject has scope over the modifiers of the verb, and these have scope over the object: "a deer isn't jumping over
  every fence" is (a deer (not (every fence))).
- *not* negates the rest. *always* means at all times, *never* at no time, and an unmodified verb is about now, which is
  one of the times.
- Adjectives and adverbs are intersective, including those of Table 2 that depend on their noun (good, bad, abnormal,
  elegant): "good" has the same extension everywhere in a pair. Therefore "a good old man" is a good man, as with the
  upward monotone restrictive modifiers of MacCartney (2009). An adverb selects a subset of the events of a verb, which
  is the same in both sentences.
- The nouns of the seed have a non-empty extension, because captions describe existing things. The extension of modified
  nouns (green fences) may be empty.
- **Coreference.** Literally, "a man" is some man, possibly a different one in each sentence. Captions of the same scene
  are about the same man. Under this assumption, weak noun phrases (a, some, at least, exactly) refer to the individuals
  of the scene like *the*, and also make a claim about n. Strong ones (every, not every, all but, no) never refer to
  individuals. The noun of at least one of the two sentences describes the individual. The assumption holds for
  contradictory seeds, because only sentences about the same event contradict each other (de Marneffe, Rafferty &
  Manning 2008, section 3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Final

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.determiners import FEW, NUMBERS, A, Determiner, DeterminerKind, replace_determiners
from unbag.baselines.natlog.relations import Relation
from unbag.data.text.dependencies import compute_dependents
from unbag.data.text.grammar import ARTICLES
from unbag.data.text.parses import Parse, Parser

NOUNS: Final = ("NOUN", "PROPN", "PRON", "NUM")
VERBS: Final = ("VERB", "AUX")
SUBJECTS: Final = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
OBJECTS: Final = ("dobj", "attr", "dative", "oprd")
_NEGATIONS: Final = frozenset({"not", "n't", "never", "nt"})
_SILENT: Final = frozenset(
    {"aux", "auxpass", "punct", "expl", "preconj", "intj", "case", "cc", "mark", "det", "predet"}
)
_DETERMINERS: Final = frozenset("a an the this that these those another".split())
_OTHER_DETERMINERS: Final = frozenset(
    "all each every either half both such what whatever which whichever no any more fewer less enough most fewest "
    "least".split()
)
"""Determiners for which `replace_determiners` has no condition: "all day", "more dogs than cats"."""
_DEGREES: Final = frozenset("too so as how".split())
_MODALS: Final = frozenset("can could may might must should would ought shall".split())
_MODAL: Final = {"ca": "can", "'d": "would"}


@dataclass(frozen=True)
class DependencyTree:
    """Dependency tree of a sentence, with its determiners and negations."""

    words: tuple[str, ...]  # including the replacements of determiners
    lemmas: tuple[str, ...]  # in lowercase
    pos: tuple[str, ...]  # universal POS tags
    tags: tuple[str, ...]  # Penn Treebank tags
    heads: tuple[int, ...]  # the root is its own head
    deps: tuple[str, ...]
    # By noun: the determiner, its original words, and its token.
    determiners: dict[int, tuple[Determiner, str, int]]
    negations: dict[int, int]  # token of the negation, by negated verb
    unattached: str = ""  # determiner or negation without an identifiable head; empty if there is none

    @cached_property
    def children(self) -> list[list[int]]:
        """Dependents of each token, in sentence order."""
        return compute_dependents(self.heads)

    def collect_subtree(self, head: int) -> frozenset[int]:
        """Collect a token and its descendants."""
        tokens = [head]
        for above in tokens:  # the loop body appends to the list, to traverse the tree
            tokens += self.children[above]
        return frozenset(tokens)

    def iter_ancestors(self, token: int) -> Iterator[int]:
        """Iterate over the ancestors of a token, from its head to the root."""
        while self.heads[token] != token:
            token = self.heads[token]
            yield token

    @property
    def root(self) -> int:
        """Root of the tree: the first token that is its own head."""
        return next((i for i, head in enumerate(self.heads) if i == head), 0)

    def find_child(self, token: int, *deps: str) -> int | None:
        """Find the first child of a token with one of the given dependency labels."""
        return next((child for child in self.children[token] if self.deps[child] in deps), None)

    def join_tokens(self, tokens: frozenset[int] | set[int]) -> str:
        """Join the words of the given tokens. Replaced determiners appear with their original words."""
        originals = {token: words for _, words, token in self.determiners.values()}
        return " ".join(originals.get(i, self.words[i]) for i in sorted(tokens))

    @cached_property
    def operator_tokens(self) -> frozenset[int]:
        """Tokens of determiners and negations."""
        return frozenset(token for _, _, token in self.determiners.values()) | set(self.negations.values())

    @cached_property
    def function_tokens(self) -> frozenset[int]:
        """Function words, which are excluded from the word alignment."""
        return frozenset(
            i
            for i, dep in enumerate(self.deps)
            if i in self.operator_tokens
            or (dep in _SILENT and self.lemmas[i] != "only")
            or (self.lemmas[i] in ("to", "that") and self.pos[i] != "ADP")
        )

    @cached_property
    def modals(self) -> dict[int, str]:
        """Map from verbs to their modals."""
        return {
            self.heads[i]: _MODAL.get(word.lower(), word.lower())
            for i, word in enumerate(self.words)
            if self.tags[i] == "MD" and _MODAL.get(word.lower(), word.lower()) in _MODALS
        }

    @cached_property
    def is_existential(self) -> bool:
        """Whether the sentence has an expletive "there" or "it"."""
        return any(dep == "expl" for dep in self.deps)


def parse_trees(sentences: list[str], parser: Parser) -> Iterator[DependencyTree]:
    """Parse sentences, and iterate over the trees in the order of the sentences."""
    replaced = [replace_determiners(_cleaned(sentence)) for sentence in sentences]
    parses = parser.parse([each.text for each in replaced])
    for each, parse in zip(replaced, parses, strict=True):
        yield _tree(parse, each.determiners)


def _cleaned(sentence: str) -> str:
    text = " ".join(sentence.split()).replace(" n't", "n't").replace("’", "'")
    return text if text.endswith((".", "!", "?", '"')) else f"{text}."


def _tree(parse: Parse, replaced: dict[int, tuple[Determiner, str]]) -> DependencyTree:
    heads, deps = list(parse.heads), list(parse.deps)
    offsets, offset = [], 0
    for word, space in zip(parse.words, parse.spaces, strict=True):
        offsets.append(offset)
        offset += len(word) + space
    determiners: dict[int, tuple[Determiner, str, int]] = {}
    unattached = ""
    for i, place in enumerate(offsets):
        if place in replaced:
            determiner, words = replaced[place]
            noun = _noun_of(parse, i, words.lower())
            # Two determiners of one noun, or a determiner without a noun, indicate a wrong parse.
            if noun is None or noun in determiners:
                unattached = words
                continue
            heads[i], deps[i] = noun, "det"
            determiners[noun] = (determiner, words, i)
    for i, word in enumerate(parse.lower_words):
        head = heads[i]
        if deps[i] in ("det", "poss") and word in _DETERMINERS and head not in determiners:
            determiners[head] = (A, word, i)
    for i, determiner in _other_determiners(parse, heads, deps):
        if heads[i] not in determiners or parse.lower_words[i] in ("most", "fewest", "least"):
            determiners[heads[i]] = (determiner, determiner.words or parse.words[i], i)
    for i, word in enumerate(parse.lower_words):
        if deps[i] == "nummod" and heads[i] not in determiners and (number := _number(word)) is not None:
            kind = A if number == 1 else Determiner(A.kind, number, is_named=True)
            determiners[heads[i]] = (kind, parse.words[i], i)
    negations = {}
    for i, word in enumerate(parse.lower_words):
        if word in _NEGATIONS:
            verb = heads[i]
            # The scope of a second negation, or of one with another relation, is unknown.
            if deps[i] not in ("neg", "advmod") or verb in negations:
                unattached = unattached or word
            negations[verb] = i
    _conjoined(heads, deps)
    _without_auxiliaries(heads, deps)
    return DependencyTree(
        parse.words,
        tuple(_lemma(parse, i) for i in range(len(parse.words))),
        parse.pos,
        parse.tags,
        tuple(heads),
        tuple(deps),
        determiners,
        negations,
        unattached,
    )


def _other_determiners(parse: Parse, heads: list[int], deps: list[str]) -> Iterator[tuple[int, Determiner]]:
    """Iterate over determiners that `replace_determiners` does not cover, as pairs of token and determiner."""
    for i, word in enumerate(parse.lower_words):
        head = heads[i]
        if not (i < head and parse.pos[head] in NOUNS and deps[i] in ("det", "predet", "amod", "nummod", "quantmod")):
            continue
        before = parse.lower_words[i - 1] if i else ""
        is_degree = word in ("many", "few", "much", "little") and before in _DEGREES
        if is_degree or (word in _OTHER_DETERMINERS and parse.tags[i] not in ("RBR", "RBS")):
            yield (
                i,
                Determiner(DeterminerKind.OTHER, words=f"{before} {word}" if is_degree or before == "the" else word),
            )
        elif word == "little" and parse.lemmas[head].lower() in relations.MASS_NOUNS and not _has_article(parse, head):
            yield i, FEW


def _has_article(parse: Parse, noun: int) -> bool:
    return any(parse.deps[child] in ("det", "poss", "predet") for child in parse.children(noun))


def _lemma(parse: Parse, i: int) -> str:
    if parse.tags[i] in ("JJR", "JJS", "RBR", "RBS"):
        return parse.lower_words[i]  # "tallest" is more specific than its lemma "tall"
    lemma = parse.lemmas[i].lower()
    return {"'s": "be", "n't": "not"}.get(lemma, lemma)


def _number(word: str) -> int | None:
    if word.isdecimal():  # int() rejects other digits, such as "²"
        return int(word)
    return NUMBERS.get(word)


def _possessed(parse: Parse, noun: int) -> int | None:
    """Find the head noun of a possessor, because "all of Tom's friends" quantifies over friends."""
    is_possessor = parse.deps[noun] == "poss" and parse.heads[noun] > noun
    return parse.heads[noun] if is_possessor else None


def _noun_of(parse: Parse, token: int, words: str) -> int | None:
    """Find the noun of a determiner: its head, or the last noun of the following noun phrase."""
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


def reuse_premise_parse(premise: DependencyTree, hypothesis: DependencyTree) -> DependencyTree:
    """Reuse the parse of the premise if the hypothesis differs in a single word with the same part of speech.

    A single different word can change how a parser attaches all words around it. For such pairs, the tree of the
    hypothesis is the tree of the premise with the word replaced. Other hypotheses keep their tree.
    """
    if len(premise.words) != len(hypothesis.words) or premise.unattached or hypothesis.unattached:
        return hypothesis
    differ = [
        i
        for i, (one, two) in enumerate(zip(premise.words, hypothesis.words, strict=True))
        if one.lower() != two.lower() and not {one.lower(), two.lower()} <= ARTICLES
    ]
    determiners = [
        [(determiner, token) for determiner, _, token in tree.determiners.values()] for tree in (premise, hypothesis)
    ]
    if len(differ) != 1 or sorted(map(str, determiners[0])) != sorted(map(str, determiners[1])):
        return hypothesis
    [i] = differ
    if i in premise.function_tokens or premise.pos[i] != hypothesis.pos[i]:
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


def remove_existential(tree: DependencyTree) -> DependencyTree:
    """Convert the tree of "there is a dog running" to that of "a dog is running"."""
    heads, deps, verb = list(tree.heads), list(tree.deps), tree.root
    there = tree.find_child(verb, "expl")
    noun = tree.find_child(verb, "attr", "nsubj")
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
        heads[verb], deps[verb] = doing, "aux"  # "is" becomes the auxiliary of "running"
        if verb in negations:
            negations[doing] = negations.pop(verb)
    return replace(tree, heads=tuple(heads), deps=tuple(deps), negations=negations)


def _without_auxiliaries(heads: list[int], deps: list[str]) -> None:
    """Attach dependents of an auxiliary to its verb: "at no time did he eat"."""
    for i, head in enumerate(heads):
        while deps[head] in ("aux", "auxpass") and heads[head] != head and i != head:
            head = heads[i] = heads[head]


def _conjoined(heads: list[int], deps: list[str]) -> None:
    """Attach all conjuncts of a list to the first one."""
    for i, dep in enumerate(deps):
        while dep == "conj" and deps[heads[i]] == "conj":
            heads[i] = heads[heads[i]]


class Quantifier(Enum):
    """Quantifier of a noun phrase (see the table in the module docstring)."""

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
"""Quantifiers whose noun phrases can refer to individuals."""


@dataclass(frozen=True)
class NounPhrase:
    """Noun phrase with a quantifier (such as "at least k") and, if the noun was modified, the added adjective."""

    quantifier: Quantifier = Quantifier.A
    number: int = 1
    adjective: str | None = None

    def is_referential(self, coreferent: bool) -> bool:
        """Check whether the phrase can denote the same individuals as a phrase of the other sentence in the pair."""
        return self.quantifier is Quantifier.THE or (coreferent and self.quantifier in WEAK)

    def is_satisfied_by(self, n: int, m: int) -> bool:
        """Check whether the quantifier is satisfied if n members of X are in Y and m members of X are not."""
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
class ClauseLogicalForm:
    """Logical form of a single-clause sentence. It contains the structure of the sentence, but not its words."""

    subject: NounPhrase = field(default_factory=NounPhrase)
    object: NounPhrase | None = None  # None for a verb without an object
    modifiers: tuple[str, ...] = ()  # `NOT`, `ALWAYS` and `NEVER` on the verb, from the outermost to the innermost
    adverb: str | None = None  # of manner

    def __post_init__(self) -> None:
        if unexpected := [modifier for modifier in self.modifiers[:-1] if modifier != NOT]:
            raise ValueError(
                f"modifiers: expected only {NOT!r} before the last modifier, got {unexpected}; reorder {self.modifiers}"
            )

    def evaluate_modifiers(self, by_time: Sequence[bool]) -> bool:
        """Compute the truth value of a verb with its modifiers for one subject.

        `by_time` has the truth values of the unmodified verb, now and at each other time.
        """
        value: bool | None = None
        for modifier in reversed(self.modifiers):  # the innermost modifier applies first
            if modifier == ALWAYS:
                value = all(by_time)
            elif modifier == NEVER:
                value = not any(by_time)
            else:
                value = not (by_time[0] if value is None else value)
        return by_time[0] if value is None else value


@dataclass(frozen=True)
class WordRelations:
    """Relations of the premise's unmodified words to those of the hypothesis."""

    subject: Relation = Relation.EQUIVALENCE
    # Alternation is a relation between agents (no agent sits and runs at the same time); all other relations are
    # between events.
    verb: Relation = Relation.EQUIVALENCE
    object: Relation = Relation.EQUIVALENCE
    coreferent: bool = False  # whether weak noun phrases refer to the same individuals in both sentences
    # Whether the hypothesis exchanges the subject and the object of the premise ("the turtle is following the fish",
    # "the fish is following the turtle"). `subject` is then the relation of the premise's subject to the hypothesis's
    # object, and `verb` is the relation of "x does it to y" to "y does it to x".
    exchanged: bool = False


@dataclass(frozen=True)
class PairLogicalForm:
    """Logical form of a sentence pair: two clauses and the relations between their words.

    The logical form determines the relation of the two sentences.
    """

    premise: ClauseLogicalForm
    hypothesis: ClauseLogicalForm
    word_relations: WordRelations
