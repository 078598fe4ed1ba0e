"""Analysis of seed pairs: constituents of the sentences, and lexical relations inferred from the label.

The constituents are found without a parser, in clauses with subject, auxiliary, verb and object ("two dogs are playing
by a tree"), the usual form of captions. With part-of-speech tags, clauses without an auxiliary are also supported ("a
man plays a guitar"). Sentences that may have more than one clause or already have a quantifier are rejected, because a
wrong analysis would produce wrong labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from unbag.baselines.natlog.models import find_truth_value_models
from unbag.baselines.natlog.parsing import (
    NOT,
    ClauseLogicalForm,
    NounPhrase,
    PairLogicalForm,
    Quantifier,
    WordRelations,
)
from unbag.baselines.natlog.relations import Relation, classify_relation, to_three_way_label
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import ARTICLES, is_plural_phrase

NUMBERS: Final = {
    word: number
    for number, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2)
}
_DETERMINERS: Final = {**dict.fromkeys(ARTICLES, Quantifier.A), "the": Quantifier.THE, "some": Quantifier.SOME}
AGREEING_AUXILIARIES: Final = ("is", "are", "was", "were")
"""Auxiliaries that agree with their subject."""
_AUXILIARIES: Final = (*AGREEING_AUXILIARIES, "can", "could", "will", "would", "may", "might", "must", "should")
_PREPOSITIONS: Final = frozenset(
    "about above across against along among around at behind below beneath beside between by down for from in inside "
    "into near of off on onto out outside over past through to toward towards under underneath up upon with".split()
)
_NOT_ONE_CLAUSE: Final = frozenset(
    "and or but nor while who whom whose which that when where because if there it he she they him her them not n't no "
    "nobody nothing nowhere none never always every everyone everybody each all any both few many most several only "
    "than as".split()
)
"""Words that indicate another form than quantifier(subject), modifier(verb), quantifier(object)."""


@dataclass(frozen=True)
class SeedNoun:
    """Noun phrase of a seed sentence, i.e. of a sentence to which modifiers are added."""

    determiner: str  # `a`, `the`, `two`, …; empty if there is none
    words: str  # after the determiner
    is_plural: bool = False


@dataclass(frozen=True)
class SeedConstituents:
    """Constituents of a seed sentence, i.e. of a sentence to which modifiers are added."""

    subject: SeedNoun
    auxiliary: str  # `is`, `can`, …; empty if there is none
    negation: str  # `not` or `n't` after the auxiliary; empty if there is none
    verb: str  # with its preposition (`sitting in`), or another predicate (`on`, `empty`)
    object: SeedNoun | None

    @property
    def is_negated(self) -> bool:
        """Whether the verb is negated."""
        return bool(self.negation)


def split_constituents(sentence: str, tags: Sequence[tuple[str, str]] | None = None) -> SeedConstituents | None:
    """Split an English sentence into subject, auxiliary, negation, verb and object. None for another form.

    The tags are the tokens with their universal part-of-speech tags (`data.text.tagging.Tagger`). Sentences without an
    auxiliary require them, and are otherwise rejected.

    >>> split_constituents("An old man is sitting in a field.").verb
    'sitting in'
    >>> split_constituents("A deer isn't jumping over the fence").is_negated
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
    # Adding a modifier to "a man's hand" would modify the man.
    if any("," in word or word.endswith(("'s", "s'")) for word in words):
        return None
    subject = _noun(before)
    if subject is not None and auxiliary in AGREEING_AUXILIARIES:
        subject = replace(subject, is_plural=auxiliary in ("are", "were"))
        if subject.determiner in (ARTICLES if subject.is_plural else NUMBERS):
            return None
    verb, object_ = _verb_and_object(rest)
    if subject is None or not verb:
        return None
    return SeedConstituents(subject, auxiliary, negation, verb, object_)


def _pieces(word: str) -> list[str]:
    if word.endswith("n't") and word != "n't":
        return [{"ca": "can", "wo": "will"}.get(word[:-3], word[:-3]), "n't"]
    return [word]


def _finite(words: Sequence[str], tags: Sequence[tuple[str, str]]) -> int | None:
    """Find the position of a present-tense verb: the first word tagged as a verb, if its ending agrees."""
    if [token.lower() for token, tag in tags if tag != "PUNCT"] != list(words):
        return None
    position = next((position for position, (_, tag) in enumerate(tags) if tag == "VERB"), None)
    if not position:  # no verb, or no subject before it
        return None
    subject = _noun(words[:position])
    # "does not" and "do not" can negate only present-tense forms.
    if subject is None or words[position].endswith(("ed", "ing")):
        return None
    singular = words[position].endswith("s") and not words[position].endswith("ss")
    return position if singular != subject.is_plural else None


def _noun(words: Sequence[str]) -> SeedNoun | None:
    if not words:
        return None
    if words[0] in _DETERMINERS or words[0] in NUMBERS:
        if len(words) == 1:
            return None
        rest = " ".join(words[1:])
        return SeedNoun(words[0], rest, words[0] in NUMBERS or (words[0] not in ARTICLES and is_plural_phrase(rest)))
    # Without a determiner, only a plural noun can have a quantifier.
    return SeedNoun("", " ".join(words), True) if words[-1].endswith("s") and words[0] not in _PREPOSITIONS else None


def _verb_and_object(words: Sequence[str]) -> tuple[str, SeedNoun | None]:
    for i, word in enumerate(words):
        if word in _DETERMINERS or word in NUMBERS:
            return " ".join(words[:i]), _noun(words[i:])
    for i, word in enumerate(words[:-1]):
        if word in _PREPOSITIONS and words[-1].endswith("s"):
            return " ".join(words[: i + 1]), _noun(words[i + 1 :])
    return " ".join(words), None


def build_noun_phrase(noun: SeedNoun, sorted_numbers: Sequence[int]) -> NounPhrase:
    """Convert a `SeedNoun` to its logical form. `sorted_numbers` are the numbers in the pair, in ascending order."""
    # A number is replaced with its rank plus 2 to keep models small, because only the order of numbers matters.
    quantifier = _DETERMINERS.get(noun.determiner, Quantifier.A)
    return NounPhrase(
        quantifier, 1 + sorted_numbers.index(NUMBERS[noun.determiner]) + 1 if noun.determiner in NUMBERS else 1
    )


def build_clauses(
    premise: SeedConstituents, hypothesis: SeedConstituents
) -> tuple[ClauseLogicalForm, ClauseLogicalForm]:
    """Convert the constituents of a premise and a hypothesis to one logical form per sentence."""
    nouns = [noun for side in (premise, hypothesis) for noun in (side.subject, side.object) if noun is not None]
    ranks = sorted({NUMBERS[noun.determiner] for noun in nouns if noun.determiner in NUMBERS})
    first, second = (
        ClauseLogicalForm(
            build_noun_phrase(side.subject, ranks),
            build_noun_phrase(side.object, ranks) if side.object is not None else None,
            (NOT,) if side.is_negated else (),
        )
        for side in (premise, hypothesis)
    )
    return first, second


_RELATION_OF: Final = {
    ENTAILMENT: Relation.FORWARD_ENTAILMENT,
    CONTRADICTION: Relation.ALTERNATION,
    NEUTRAL: Relation.INDEPENDENCE,
}


def infer_word_relations(premise: SeedConstituents, hypothesis: SeedConstituents, label: str) -> WordRelations | None:
    """Infer the relations between the words of a premise and a hypothesis from the label of the pair.

    Equal words are equivalent. Different words have the relation of the label: forward entailment, alternation, or
    independence. In a contradiction, the verbs are exclusive if they differ, otherwise the nouns are. If a sentence is
    negated, the words have the relation that the negation converts to the label. In "a deer is jumping", "an animal
    isn't jumping", the contradiction comes only from "not".

    Return None if the relations do not reproduce the label, because the words then have another relation.
    """
    same_verb = premise.verb == hypothesis.verb
    pairs = {"subject": (premise.subject, hypothesis.subject), "object": (premise.object, hypothesis.object)}
    exchanged = same_verb and _exchanged(premise, hypothesis)
    related = _RELATION_OF[label]
    if premise.is_negated or hypothesis.is_negated:
        related = _under_negation(related, premise.is_negated, hypothesis.is_negated)
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
    candidate = WordRelations(
        subject=nouns["subject"],
        verb=verb,
        object=nouns["object"],
        coreferent=label == CONTRADICTION,
        exchanged=exchanged,
    )
    relation = classify_relation(
        find_truth_value_models(PairLogicalForm(*build_clauses(premise, hypothesis), candidate))
    )
    return candidate if relation is not None and to_three_way_label(relation) == label else None


def _exchanged(premise: SeedConstituents, hypothesis: SeedConstituents) -> bool:
    if premise.object is None or hypothesis.object is None or premise.subject.words == premise.object.words:
        return False
    return premise.subject.words == hypothesis.object.words and premise.object.words == hypothesis.subject.words


def _under_negation(related: Relation, premise: bool, hypothesis: bool) -> Relation:
    """Compute the relation of the words from the relation of the sentences and their negations."""
    if premise and hypothesis:
        return related.complement_relation if related is not Relation.ALTERNATION else Relation.COVER
    if related is Relation.ALTERNATION:
        return Relation.FORWARD_ENTAILMENT if hypothesis else Relation.REVERSE_ENTAILMENT
    return Relation.ALTERNATION if related is Relation.FORWARD_ENTAILMENT else related
