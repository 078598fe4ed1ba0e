"""Seed pairs: the parts of their sentences, and the relations of their words that follow from the label.

The parts are found without a parser, in clauses of the form subject, auxiliary, verb, object ("two dogs are playing by
a tree"), the usual form of captions. With part-of-speech tags, clauses without auxiliary also work ("a man plays a
guitar"). Sentences that may have more than one clause, or already have a quantifier, are rejected: a wrong reading
would give wrong labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from unbag.baselines.natlog.models import outcomes
from unbag.baselines.natlog.parsing import NOT, Clause, Lexicon, NounPhrase, Quantifier, Shape
from unbag.baselines.natlog.relations import Relation, relation_of, three_way
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import ARTICLES, is_plural_phrase

NUMBERS: Final = {
    word: number
    for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2)
}
_DETERMINERS: Final = {**dict.fromkeys(ARTICLES, Quantifier.A), "the": Quantifier.THE, "some": Quantifier.SOME}
INFLECTED: Final = ("is", "are", "was", "were")
"""The auxiliaries that agree with their subject."""
_AUXILIARIES: Final = (*INFLECTED, "can", "could", "will", "would", "may", "might", "must", "should")
_PREPOSITIONS: Final = frozenset(
    "about above across against along among around at behind below beneath beside between by down for from in inside "
    "into near of off on onto out outside over past through to toward towards under underneath up upon with".split()
)
_NOT_ONE_CLAUSE: Final = frozenset(
    "and or but nor while who whom whose which that when where because if there it he she they him her them not n't no "
    "nobody nothing nowhere none never always every everyone everybody each all any both few many most several only "
    "than as".split()
)
"""Words of sentences that do not have the form quantifier(subject), modifier(verb), quantifier(object)."""


@dataclass(frozen=True)
class Noun:
    """A noun phrase: its determiner (`a`, `the`, `two`, … or empty), its other words, and whether it is a plural."""

    determiner: str
    words: str
    plural: bool = False


@dataclass(frozen=True)
class Parts:
    """The parts of a sentence.

    Attributes:
        subject: Subject.
        auxiliary: `is`, `can`, …; empty if there is none.
        negation: `not` or `n't` after the auxiliary; empty if there is none.
        verb: Verb with its preposition (`sitting in`), or another predicate (`on`, `empty`).
        object: Object; None if there is none.
    """

    subject: Noun
    auxiliary: str
    negation: str
    verb: str
    object: Noun | None

    @property
    def negated(self) -> bool:
        """Whether the verb is negated."""
        return bool(self.negation)


def parts(sentence: str, tags: Sequence[tuple[str, str]] | None = None) -> Parts | None:
    """Split a sentence into its parts.

    Args:
        sentence: English sentence.
        tags: Tokens with their universal part-of-speech tags (`data.text.tagging.Tagger`). Sentences whose verb has no
            auxiliary need them and are rejected without.

    Returns:
        The parts, or None for a sentence of another form.

    >>> parts("An old man is sitting in a field.").verb
    'sitting in'
    >>> parts("A deer isn't jumping over the fence").negated
    True
    """
    words = sentence.strip().rstrip(".").strip().lower().split()
    words = [piece for word in words for piece in _pieces(word)]
    positions = [position for position, word in enumerate(words) if word in _AUXILIARIES]
    negation = ""
    if len(positions) == 1:
        [position] = positions
        auxiliary, rest = words[position], words[position + 1 :]
        if rest and rest[0] in (NOT, "n't"):
            negation, rest = rest[0], rest[1:]
    elif not positions and tags is not None and (verb_position := _finite(words, tags)) is not None:
        position, auxiliary, rest = verb_position, "", words[verb_position:]
    else:
        return None
    before = words[:position]
    if not before or not rest or _NOT_ONE_CLAUSE.intersection(before + rest):
        return None
    # A modifier for "a man's hand" would attach to the man.
    if any("," in word or word.endswith(("'s", "s'")) for word in words):
        return None
    subject = _noun(before)
    if subject is not None and auxiliary in INFLECTED:
        subject = replace(subject, plural=auxiliary in ("are", "were"))
        if subject.determiner in (ARTICLES if subject.plural else NUMBERS):
            return None
    verb, object_ = _verb_and_object(rest)
    if subject is None or not verb:
        return None
    return Parts(subject, auxiliary, negation, verb, object_)


def _pieces(word: str) -> list[str]:
    if word.endswith("n't") and word != "n't":
        return [{"ca": "can", "wo": "will"}.get(word[:-3], word[:-3]), "n't"]
    return [word]


def _finite(words: Sequence[str], tags: Sequence[tuple[str, str]]) -> int | None:
    """Find the position of a present-tense verb: the first word tagged as a verb, if its ending fits."""
    if [token.lower() for token, tag in tags if tag != "PUNCT"] != list(words):
        return None
    position = next((position for position, (_, tag) in enumerate(tags) if tag == "VERB"), None)
    if not position:
        return None
    subject = _noun(words[:position])
    # Only present-tense forms can be negated with "does not" or "do not".
    if subject is None or words[position].endswith(("ed", "ing")):
        return None
    singular = words[position].endswith("s") and not words[position].endswith("ss")
    return position if singular != subject.plural else None


def _noun(words: Sequence[str]) -> Noun | None:
    if not words:
        return None
    if words[0] in _DETERMINERS or words[0] in NUMBERS:
        if len(words) == 1:
            return None
        rest = " ".join(words[1:])
        return Noun(words[0], rest, words[0] in NUMBERS or (words[0] not in ARTICLES and is_plural_phrase(rest)))
    # Without determiner, only a plural noun can take a quantifier.
    return Noun("", " ".join(words), True) if words[-1].endswith("s") and words[0] not in _PREPOSITIONS else None


def _verb_and_object(words: Sequence[str]) -> tuple[str, Noun | None]:
    for i, word in enumerate(words):
        if word in _DETERMINERS or word in NUMBERS:
            return " ".join(words[:i]), _noun(words[i:])
    for i, word in enumerate(words[:-1]):
        if word in _PREPOSITIONS and words[-1].endswith("s"):
            return " ".join(words[: i + 1]), _noun(words[i + 1 :])
    return " ".join(words), None


def phrase(noun: Noun, ranks: Sequence[int]) -> NounPhrase:
    """Build the noun phrase of a shape from that of a seed.

    Args:
        noun: Noun phrase of the seed.
        ranks: Numbers of the pair, ascending. A number is replaced by its rank plus 2: models stay small, and only the
            order of numbers matters.
    """
    quantifier = _DETERMINERS.get(noun.determiner, Quantifier.A)
    return NounPhrase(quantifier, 1 + ranks.index(NUMBERS[noun.determiner]) + 1 if noun.determiner in NUMBERS else 1)


def clauses(premise: Parts, hypothesis: Parts) -> tuple[Clause, Clause]:
    """Build the clauses of a pair for natural logic."""
    nouns = [noun for side in (premise, hypothesis) for noun in (side.subject, side.object) if noun is not None]
    ranks = sorted({NUMBERS[noun.determiner] for noun in nouns if noun.determiner in NUMBERS})
    first, second = (
        Clause(
            phrase(side.subject, ranks),
            phrase(side.object, ranks) if side.object is not None else None,
            (NOT,) if side.negated else (),
        )
        for side in (premise, hypothesis)
    )
    return first, second


_RELATION_OF: Final = {
    ENTAILMENT: Relation.FORWARD_ENTAILMENT,
    CONTRADICTION: Relation.ALTERNATION,
    NEUTRAL: Relation.INDEPENDENCE,
}


def lexicon(premise: Parts, hypothesis: Parts, label: str) -> Lexicon | None:
    """Infer the relations of the words of a seed from its label.

    Equal words are equivalent. Different words have the relation of the label: forward entailment, alternation, or
    independence. In a contradiction the verbs exclude each other if they differ, else the nouns do. If a sentence is
    negated, the words have the relation that the negation turns into the label: in "a deer is jumping", "an animal
    isn't jumping" the contradiction comes from "not" alone.

    Args:
        premise: Parts of the premise.
        hypothesis: Parts of the hypothesis.
        label: One of `data.labels.LABELS`.

    Returns:
        The relations, or None if they do not reproduce the label: the words are then related in another way.
    """
    same_verb = premise.verb == hypothesis.verb
    pairs = {"subject": (premise.subject, hypothesis.subject), "object": (premise.object, hypothesis.object)}
    exchanged = same_verb and _exchanged(premise, hypothesis)
    related = _RELATION_OF[label]
    if premise.negated or hypothesis.negated:
        related = _under_negation(related, premise.negated, hypothesis.negated)
    differ = {name for name, (one, two) in pairs.items() if one and two and one.words != two.words}
    nouns = dict.fromkeys(pairs, Relation.EQUIVALENCE)
    verb = Relation.EQUIVALENCE
    if exchanged:
        verb = related
    elif not same_verb and related is Relation.ALTERNATION:
        verb = related
        nouns |= dict.fromkeys(differ, Relation.INDEPENDENCE)
    else:
        verb = Relation.EQUIVALENCE if same_verb else related
        nouns |= dict.fromkeys(differ, related)
    candidate = Lexicon(
        subject=nouns["subject"],
        verb=verb,
        object=nouns["object"],
        coreferent=label == CONTRADICTION,
        exchanged=exchanged,
    )
    relation = relation_of(outcomes(Shape(*clauses(premise, hypothesis), candidate)))
    return candidate if relation is not None and three_way(relation) == label else None


def _exchanged(premise: Parts, hypothesis: Parts) -> bool:
    if premise.object is None or hypothesis.object is None or premise.subject.words == premise.object.words:
        return False
    return premise.subject.words == hypothesis.object.words and premise.object.words == hypothesis.subject.words


def _under_negation(related: Relation, premise: bool, hypothesis: bool) -> Relation:
    """Compute the relation of the words from the relation of the sentences, given which of these are negated."""
    if premise and hypothesis:
        return related.negated if related is not Relation.ALTERNATION else Relation.COVER
    if related is Relation.ALTERNATION:
        return Relation.FORWARD_ENTAILMENT if hypothesis else Relation.REVERSE_ENTAILMENT
    return Relation.ALTERNATION if related is Relation.FORWARD_ENTAILMENT else related
