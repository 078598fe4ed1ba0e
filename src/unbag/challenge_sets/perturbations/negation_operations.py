"""Pairs of claims and their negations, two by two as mirrors, in which no negation word reveals the label.

Let S be a claim, T a weaker claim that S entails, and "not S" a sentence that is true exactly if S is false. The
mirrors, as (premise, hypothesis), are:

- of one claim, with N and R two wordings of "not S" and D the negation of N: (S, N) contradiction and (S, D)
  entailment; (D, R) contradiction and (N, R) entailment; both also with the sides exchanged.
- of two claims: (S, T) entailment and (T, S) neutral; (not T, not S) entailment and (not S, not T) neutral; (S, not T)
  contradiction and (T, not S) neutral; (not T, S) contradiction and (not S, T) neutral.

In every operation, no hypothesis has one label in more than half of its rows. A model that reads only the hypothesis is
therefore right on at most half of an operation, like the best constant prediction. For premises this holds in
`restated` only: with two claims, T and "not S" are premises of neutral pairs alone. The two sentences together may
reveal the label without their order: a count of the negations of both decides `restated`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from unbag.challenge_sets.perturbations.negation import NO, NOT_TRUE, THERE_IS_NO, negations, plain_clause
from unbag.challenge_sets.perturbations.negation_claims import hypernym_claims, is_claim, shorter_claims
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_half
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.text.grammar import decapitalize
from unbag.data.text.parses import Parse
from unbag.utils import rng

RESTATED: Final = "restated"
SHORTENED: Final = "shortened"
HYPERNYM: Final = "hypernym"
OPERATIONS: Final = (RESTATED, SHORTENED, HYPERNYM)
"""Operations, in the order of tables."""

FRAMES: Final = (NOT_TRUE, "it is not the case that", "it is false that")
"""Clauses that negate the sentence after them."""

NO_CLAIM: Final = "no plain claim with an indefinite subject"
OTHER_WORDS: Final = "words that are not all in the requested half"


class NegationPair(NamedTuple):
    """One pair.

    Attributes:
        operation: One of `OPERATIONS`.
        mirror: Number of its mirror within the operation and the claim, from 0 to 3.
        premise: First sentence.
        hypothesis: Second sentence.
        label: Name of the gold label.
    """

    operation: str
    mirror: int
    premise: str
    hypothesis: str
    label: str


def negation_pairs(parse: Parse, *, seed: int = 0, words: str = ALL) -> list[NegationPair] | str:
    """Build all pairs of a premise, or return the reason why there are none.

    Args:
        parse: Parse of the premise.
        seed: Random seed of the frames and the modifiers.
        words: Vocabulary of frames, verb and subject: `all`, or one half (`vocabulary_split`).
    """
    clause = plain_clause(parse) if is_claim(parse) else None
    if clause is None:
        return NO_CLAIM
    frames = [frame for frame in FRAMES if are_in_half(words, [frame])]
    chosen = [parse.lemmas[clause.noun], parse.lemmas[clause.verb]]
    if not are_in_half(words, chosen) or not frames:
        return OTHER_WORDS
    key = int(rng.compute_key(seed, "negation", str(parse)))
    frame = frames[key % len(frames)]
    pairs = _of_one_claim(parse, frame, words)
    for operation, weaker in ((SHORTENED, shorter_claims(parse)), (HYPERNYM, hypernym_claims(parse))):
        claims = [each for each in weaker if operation == SHORTENED or are_in_half(words, [each.lemmas[clause.noun]])]
        if claims:
            claim = claims[int(rng.compute_key(key, operation)) % len(claims)]
            pairs += _of_two_claims(operation, parse, claim, frame)
    return pairs or OTHER_WORDS


def framed(parse: Parse, frame: str) -> str:
    """Build the negation of a claim by a frame: "It is false that a man sleeps."."""
    return f"{frame[0].upper()}{frame[1:]} {_lowered(str(parse), parse)}"


def _lowered(text: str, parse: Parse) -> str:
    first = parse.words[0]
    return decapitalize(first, parse.pos[0]) + text.removeprefix(first)


def _of_one_claim(parse: Parse, frame: str, words: str) -> list[NegationPair]:
    clause = plain_clause(parse)
    by_template = negations(parse, clause) if clause else {}
    short = [by_template[name] for name in (NO, THERE_IS_NO) if name in by_template and are_in_half(words, [name])]
    short += [framed(parse, other) for other in FRAMES if other != frame and are_in_half(words, [other])]
    if not short:
        return []
    claim, negated, restated = str(parse), short[0], framed(parse, frame)
    double = f"{frame[0].upper()}{frame[1:]} {negated[0].lower()}{negated[1:]}"
    mirrors = (
        ((claim, negated, CONTRADICTION), (claim, double, ENTAILMENT)),
        ((negated, claim, CONTRADICTION), (double, claim, ENTAILMENT)),
        ((double, restated, CONTRADICTION), (negated, restated, ENTAILMENT)),
        ((restated, double, CONTRADICTION), (restated, negated, ENTAILMENT)),
    )
    return list(_pairs(RESTATED, mirrors))


def _of_two_claims(operation: str, parse: Parse, weaker: Parse, frame: str) -> list[NegationPair]:
    strong, weak = str(parse), str(weaker)
    not_strong, not_weak = framed(parse, frame), framed(weaker, frame)
    mirrors = (
        ((strong, weak, ENTAILMENT), (weak, strong, NEUTRAL)),
        ((not_weak, not_strong, ENTAILMENT), (not_strong, not_weak, NEUTRAL)),
        ((strong, not_weak, CONTRADICTION), (weak, not_strong, NEUTRAL)),
        ((not_weak, strong, CONTRADICTION), (not_strong, weak, NEUTRAL)),
    )
    return list(_pairs(operation, mirrors))


def _pairs(operation: str, mirrors: Sequence[Sequence[tuple[str, str, str]]]) -> Iterator[NegationPair]:
    for number, mirror in enumerate(mirrors):
        for premise, hypothesis, label in mirror:
            yield NegationPair(operation, number, premise, hypothesis, label)
