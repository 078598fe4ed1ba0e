"""Pairs whose label depends only on the scope of a negation, which a bag of words ignores.

Each pair has a mirror: the same hypothesis, and a premise of the same words in another order. The premise of one
entails the hypothesis, the premise of the other does not. So the words of both sentences and the number of negations
are equal for both labels: every model that ignores the order of words is right on exactly half of the rows of each
operation, and so is a model that reads the hypothesis alone. Each premise has two hypotheses, one of which it entails,
so that the premise alone says nothing either.

A premise has two claims: the source sentence, and a distractor sentence about another thing. The card of the set shows
the premises and hypotheses of each operation, and the rules from which the labels follow.

The set has two labels. For training with three labels, each mirror also has the label of O and H: contradiction where
O denies H, neutral where O leaves H open. As in SNLI, both sentences describe one event, so that "A man is not asleep"
denies "A man is asleep".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from unbag.challenge_sets.perturbations.content_words import collect_content_stems
from unbag.challenge_sets.perturbations.negation_claims import Claim, parse_claim
from unbag.challenge_sets.perturbations.negation_words import (
    ADJECTIVES,
    DISTRACTOR_SENTENCES,
    DOWNWARD,
    FRAMES,
    HYPERNYMS,
    NOT,
    PERSON_ANTONYMS,
    PERSON_PREFIXES,
    PERSON_PROPERTIES,
    PLACES,
    QUANTIFIERS,
    RESTATEMENTS,
    THING_ANTONYMS,
    THING_PREFIXES,
    THING_PROPERTIES,
    DistractorSentence,
    OppositePhrases,
    inflect_be,
)
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_vocabulary_half
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT
from unbag.data.text.grammar import pluralize_noun
from unbag.data.text.parses import Parse
from unbag.utils import rng

NO_CLAIM: Final = "no sentence of one plain clause"
OTHER_WORDS: Final = "words that are not all in the requested half"

T = TypeVar("T")


class NegationPair(NamedTuple):
    """A pair of the negation set."""

    operation: str  # one of `OPERATIONS`
    mirror: int  # number of the mirrored pairs within the operation and the claim, from 0
    premise: str
    hypothesis: str
    label: str
    negation: str  # phrase that negates in the premise, in lower case
    three_way: str | None  # name of the label among three; None if it depends on the words


class Mirror(NamedTuple):
    """Two premises with the same words, of which only the first one entails the hypothesis."""

    entailing: str  # premise that entails the hypothesis
    other: str  # premise that does not
    hypothesis: str
    negation: str  # phrase that negates, in lower case
    other_label: str | None  # label of the other premise among three; None if it depends on the words


Mirrors = Iterator[Mirror]
"""The mirrors of one operation, none if the operation does not fit the claim."""


class ClaimSampler:
    """Sampler that chooses the words and sentences to combine with a claim.

    The choices depend on the seed and on the part of the vocabulary: all words, or the training or held-out half.
    """

    def __init__(self, claim: Claim, seed: int, words: str) -> None:
        self._words = words
        self._key = int(rng.compute_key(seed, "negation", str(claim.parse)))
        self._is_anaphoric = claim.is_anaphoric
        self._stems = collect_content_stems(str(claim.parse))
        fitting = [each for each in DISTRACTOR_SENTENCES if self.filter_unused([f"{each.noun} {each.place}"])]
        self._distractors = self._in_half(fitting, lambda each: each.noun)
        self.allows_not = are_in_vocabulary_half(words, [NOT])

    def choose(self, items: Sequence[T], name: str, phrase: Callable[[T], str] | None = None) -> T | None:
        """Choose a random item whose phrase is in the requested vocabulary half. Return None if there is none."""
        items = items if phrase is None else self._in_half(items, phrase)
        return items[int(rng.compute_key(self._key, name)) % len(items)] if items else None

    def choose_distractor(self, name: str) -> DistractorSentence | None:
        """Choose an additional sentence that shares no content word with the claim."""
        # The name is a part of the random key: another word would change the rows.
        return self.choose(self._distractors, f"companion {name}")

    def filter_unused(self, phrases: Sequence[str]) -> list[str]:
        """Select the phrases that share no content word with the claim."""
        return [each for each in phrases if self._stems.isdisjoint(collect_content_stems(each))]

    def join_premise(self, claim: str, distractor: str, name: str) -> str:
        """Join the claim and the added sentence into a premise, in random order."""
        # A pronoun must not refer to the distractor.
        is_first = self._is_anaphoric or int(rng.compute_key(self._key, f"order {name}")) % 2
        return f"{claim} {distractor}" if is_first else f"{distractor} {claim}"

    def _in_half(self, items: Sequence[T], phrase: Callable[[T], str]) -> list[T]:
        return [each for each in items if are_in_vocabulary_half(self._words, [phrase(each)])]


def _sentence(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    distractor = sampler.choose_distractor("sentence")
    if claim.has_auxiliary and distractor and sampler.allows_not:
        first, second = (
            sampler.join_premise(
                claim.text(is_negated=is_other),
                distractor.text(is_past=claim.is_past, is_negated=not is_other),
                "sentence",
            )
            for is_other in (False, True)
        )
        yield from _of_two(first, second, claim.text(), claim.text(is_negated=True))


def _clause(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    distractor = sampler.choose_distractor("clause")
    if not claim.is_anaphoric and claim.has_auxiliary and distractor and sampler.allows_not:
        first, second = (
            f"Although t{distractor.text(is_past=claim.is_past, is_negated=not is_other).removesuffix('.')[1:]}, "
            f"{claim.decapitalized_text(is_negated=is_other)}"
            for is_other in (False, True)
        )
        yield from _of_two(first, second, claim.text(), claim.text(is_negated=True))


def _relative(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    properties = sampler.filter_unused(PERSON_PROPERTIES if claim.relative_pronoun == "who" else THING_PROPERTIES)
    chosen = sampler.choose(properties, "property")
    if chosen and _takes_clause(claim, sampler):
        first, second = _with_clauses(claim, _be(claim), chosen)
        yield from _of_two(first, second, claim.text(is_negated=True), claim.text())


def _takes_clause(claim: Claim, sampler: ClaimSampler) -> bool:
    """Check whether a relative clause fits between the subject and its verb, and *not* is in the half."""
    is_last = claim.noun == claim.finite - 1 and claim.parse.deps[0] in ("det", "poss")
    return claim.has_auxiliary and is_last and claim.relative_pronoun is not None and sampler.allows_not


def _with_clauses(claim: Claim, auxiliary: str, rest: str) -> tuple[str, str]:
    """Build the claim with a relative clause: first *not* is in the claim, then in the clause."""
    # "A man who is not tall": after an indefinite article, the clause is restrictive and has no commas.
    mark = "" if claim.parse.lower_words[0] in ("a", "an") else ","
    clause, negated = (f"{claim.relative_pronoun} {auxiliary}{other} {rest}" for other in ("", " not"))
    return (
        f"{claim.subject}{mark} {clause}{mark} {claim.predicate(is_negated=True)}",
        f"{claim.subject}{mark} {negated}{mark} {claim.predicate()}",
    )


def _be(claim: Claim) -> str:
    return inflect_be(is_past=claim.is_past, is_plural=claim.is_plural)


def _restated(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    distractor = sampler.choose_distractor("restated")
    frames = sampler.choose(FRAMES, "frame", lambda each: each[0].lower())
    restatements = sampler.choose(RESTATEMENTS, "restatement", lambda each: each[0].lower())
    if distractor and frames and restatements:
        negative, positive = frames
        other = distractor.text(is_past=claim.is_past)
        first, second = (
            sampler.join_premise(f"{a} {claim.decapitalized_text()}", f"{b} t{other[1:]}", "restated")
            for a, b in ((positive, negative), (negative, positive))
        )
        denied, asserted = (f"{each} {claim.decapitalized_text()}" for each in restatements)
        yield from _of_two(first, second, asserted, denied, negation=negative)


def _double(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    distractor = sampler.choose_distractor("double")
    frames = sampler.choose(FRAMES, "frame", lambda each: each[0].lower())
    # Without a definite subject, both "a man is sleeping" and "a man is not sleeping" can be true.
    if claim.has_auxiliary and claim.is_definite and distractor and frames and sampler.allows_not:
        negated = claim.decapitalized_text(is_negated=True)
        first, second = (
            sampler.join_premise(
                f"{frame} {negated}", distractor.text(is_past=claim.is_past, is_negated=is_negated), "double"
            )
            for frame, is_negated in zip(frames, (False, True), strict=True)
        )
        yield from _of_two(first, second, claim.text(), claim.text(is_negated=True), negation=frames[0])


def _quantifier(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    distractor, noun = sampler.choose_distractor("quantifier"), claim.countable_subject
    fitting = [
        each
        for each in QUANTIFIERS
        if each.is_plural == claim.is_plural and (each.from_negative or claim.has_auxiliary)
    ]
    chosen = sampler.choose(fitting, "quantifier", lambda each: each.negative.lower())
    if distractor and noun is not None and chosen:
        of_claim = f"{noun} {claim.predicate()}"
        other = distractor.quantified_text(is_past=claim.is_past, is_plural=claim.is_plural)
        first, second = (
            sampler.join_premise(f"{a} {of_claim}", f"{b} {other}", "quantifier")
            for a, b in ((chosen.negative, chosen.positive), (chosen.positive, chosen.negative))
        )
        from_negative = f"{chosen.from_negative} {of_claim}"
        if not chosen.from_negative:
            some = "Some" if chosen.is_plural else "At least one"
            from_negative = f"{some} {noun} {claim.predicate(is_negated=True)}"
        # "At most three" contradicts "more than three", but not "more than two", which is the hypothesis.
        label = CONTRADICTION if chosen.is_exclusive else NEUTRAL
        from_positive = f"{chosen.from_positive} {of_claim}"
        yield from _of_two(first, second, from_negative, from_positive, negation=chosen.negative, labels=(label, label))


def _hypernym(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    noun, place = claim.countable_subject, sampler.choose(sampler.filter_unused(PLACES), "place")
    above = HYPERNYMS.get(claim.parse.lemmas[claim.noun].lower())
    # "the members of the board", "a former member", "a fire truck": the noun alone does not name the kind.
    has_kind = any(
        claim.parse.deps[i] in ("compound", "nmod") or claim.parse.lower_words[i] in _NOT_A_KIND
        for i in range(claim.noun)
    )
    if noun is not None and above and place and claim.noun == claim.finite - 1 and not has_kind:
        above = pluralize_noun(above) if claim.is_plural else above
        yield from _monotone(claim, sampler, (noun, above), (noun, above), f"{_be(claim)} {place}.", "hypernym")


_NOT_A_KIND: Final = frozenset("former future potential alleged fake false stuffed toy artificial would-be".split())


def _modifier(claim: Claim, sampler: ClaimSampler) -> Mirrors:
    noun, distractor = claim.countable_subject, sampler.choose_distractor("modifier")
    adjective = sampler.choose(sampler.filter_unused(ADJECTIVES), "adjective")
    if noun is not None and distractor and adjective and claim.is_single_noun_subject:
        other = distractor.inflect_noun(is_plural=claim.is_plural)
        place = distractor.predicate(is_past=claim.is_past, is_plural=claim.is_plural)
        own, others = (f"{adjective} {noun}", noun), (f"{adjective} {other}", other)
        yield from _monotone(claim, sampler, own, others, place, "modifier")


def _monotone(
    claim: Claim, sampler: ClaimSampler, own: tuple[str, str], other: tuple[str, str], place: str, name: str
) -> Mirrors:
    """Build the mirrors that widen and that narrow the subject; `own` and `other` are narrow and wide subjects."""
    # Under "no", a noun may be replaced by a narrower one, and under "some" by a wider one, but not conversely.
    fitting = [each for each in DOWNWARD if each.is_plural == claim.is_plural]
    chosen = sampler.choose(fitting, f"determiner {name}", lambda each: each.negative.lower())
    if chosen is None:
        return
    (below, above), (other_below, other_above), predicate = own, other, claim.predicate()
    no, some = chosen.negative, chosen.positive

    def premise(determiner: str, noun: str, other_determiner: str, other_noun: str) -> str:
        return sampler.join_premise(
            f"{determiner} {noun} {predicate}", f"{other_determiner} {other_noun} {place}", name
        )

    wide, narrow = premise(no, above, no, other_below), premise(no, below, no, other_above)
    none, any_ = premise(no, above, some, other_below), premise(some, above, no, other_below)
    no_above, no_other = f"{no} {above} {predicate}", f"{no} {other_above} {place}"
    yield from _of_two(wide, narrow, no_above, no_other, negation=no, labels=(NEUTRAL, NEUTRAL))
    no_below, some_above = f"{no} {below} {predicate}", f"{some} {above} {predicate}"
    yield from _of_two(none, any_, no_below, some_above, negation=no, labels=(NEUTRAL, CONTRADICTION))


def _opposite(
    claim: Claim,
    sampler: ClaimSampler,
    *,
    of_people: Sequence[OppositePhrases],
    of_things: Sequence[OppositePhrases],
    name: str,
    from_denied: str | None,
) -> Mirrors:
    """Build the mirrors of a phrase and its opposite; `from_denied` is the label of "not x" and "not y"."""
    opposites = of_people if claim.relative_pronoun == "who" else of_things
    fitting = [
        each for each in opposites if sampler.filter_unused([each.stated]) and sampler.filter_unused([each.opposite])
    ]
    chosen = sampler.choose(fitting, name)
    if chosen and _takes_clause(claim, sampler):
        auxiliary = _be(claim)
        if chosen.is_perfect:
            auxiliary = "had" if claim.is_past else "have" if claim.is_plural else "has"
        first, second = _with_clauses(claim, auxiliary, chosen.stated)
        not_opposite = f"{claim.subject} {auxiliary} not {chosen.opposite}."
        yield from _of_two(first, second, not_opposite, claim.text(), labels=(from_denied, CONTRADICTION))


def _of_two(
    first: str,
    second: str,
    from_first: str,
    from_second: str,
    *,
    negation: str = NOT,
    labels: tuple[str | None, str | None] = (CONTRADICTION, CONTRADICTION),
) -> Mirrors:
    """Build the mirrors of two premises, each with what follows from it and not from the other."""
    # The labels are those of `second` with `from_first`, and of `first` with `from_second`.
    yield Mirror(first, second, from_first, negation.lower(), labels[0])
    yield Mirror(second, first, from_second, negation.lower(), labels[1])


_MIRRORS: Final[Mapping[str, Callable[[Claim, ClaimSampler], Mirrors]]] = {
    "sentence": _sentence,
    "clause": _clause,
    "relative": _relative,
    "restated": _restated,
    "double": _double,
    "quantifier": _quantifier,
    "hypernym": _hypernym,
    "modifier": _modifier,
    # What is not unmarried is married, but what is not unhappy need not be happy.
    "prefix": partial(_opposite, of_people=PERSON_PREFIXES, of_things=THING_PREFIXES, name="prefix", from_denied=None),
    "antonym": partial(
        _opposite, of_people=PERSON_ANTONYMS, of_things=THING_ANTONYMS, name="antonym", from_denied=NEUTRAL
    ),
}
OPERATIONS: Final = tuple(_MIRRORS)
"""Operations, in the order of tables."""


def build_negation_pairs(parse: Parse, *, seed: int = 0, words: str = ALL) -> list[NegationPair] | str:
    """Build all negation pairs of a sentence, or return the reason why there are none.

    `words` is the vocabulary of the claim's subject and verb, the added sentence and the negating phrase: `all`, or one
    half (`vocabulary_split`).
    """
    claim = parse_claim(parse)
    if claim is None:
        return NO_CLAIM
    if not are_in_vocabulary_half(words, claim.lemmas):
        return OTHER_WORDS
    return list(_pairs(claim, ClaimSampler(claim, seed, words))) or OTHER_WORDS


def _pairs(claim: Claim, sampler: ClaimSampler) -> Iterator[NegationPair]:
    for operation, build_mirrors in _MIRRORS.items():
        for number, mirror in enumerate(build_mirrors(claim, sampler)):
            entailing, other, hypothesis, negation, label = mirror
            yield NegationPair(operation, number, entailing, hypothesis, ENTAILMENT, negation, ENTAILMENT)
            yield NegationPair(operation, number, other, hypothesis, NOT_ENTAILMENT, negation, label)
