"""Rows of the SOSwap and AddAmod set: one pair per operator and distinct premise, if the operator applies."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import tee
from operator import attrgetter
from typing import Any, Final, Literal, TypeVar, get_args

from unbag.challenge_sets.pairs import deduplicate
from unbag.challenge_sets.perturbations.addamod import (
    ADJECTIVE,
    DEFAULT_MIN_COUNT,
    DEFAULT_SEED,
    AddAmodPair,
    AdjectiveCounts,
    build_addamod_pair,
)
from unbag.challenge_sets.perturbations.soswap import SwappedSentence, swap_subject_and_object
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_vocabulary_half
from unbag.data.labels import CONTRADICTION, NEUTRAL, get_label_id
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser

logger = logging.getLogger(__name__)

T = TypeVar("T")

SOSWAP: Final = "soswap"
ADDAMOD: Final = "addamod"
BOTH: Final = "both"
Kind = Literal["both", "soswap", "addamod"]
"""Pairs in a set: those of both operators, or of one."""
KINDS: Final = get_args(Kind)

OTHER_WORDS: Final = "words that are not all in the requested half"
"""Reason for the exclusion of a possible swap whose words are not in the requested half of the vocabulary."""

LABEL_BY_KIND: Final = {SOSWAP: CONTRADICTION, ADDAMOD: NEUTRAL}

PairOperator = Callable[[Parse], SwappedSentence | AddAmodPair | str]
"""A function that builds a pair from a premise, or returns the reason why there is none."""


def build_soswap_addamod_operators(
    kind: str = BOTH,
    *,
    adjectives: AdjectiveCounts | None = None,
    seed: int = DEFAULT_SEED,
    min_count: int = DEFAULT_MIN_COUNT,
    words: str = ALL,
    is_written_text: bool = False,
) -> dict[str, PairOperator]:
    """Build the operators that generate a set, SOSwap or AddAmod or both (one of `KINDS`), by the kind of pair.

    `adjectives` are counts for AddAmod (`count_adjectives`). For written text, both operators are stricter (default:
    captions). The other arguments are those of `build_addamod_pair`.
    """
    addamod = partial(
        build_addamod_pair,
        adjectives=adjectives or AdjectiveCounts(),
        seed=seed,
        min_count=min_count,
        words=words,
        is_written_text=is_written_text,
    )
    soswap = partial(swap_within_vocabulary_half, words=words, is_written_text=is_written_text)
    operators: dict[str, PairOperator] = {SOSWAP: soswap, ADDAMOD: addamod}
    return {name: operator for name, operator in operators.items() if kind in (name, BOTH)}


def iter_soswap_addamod_rows(
    examples: Iterable[Example],
    parser: Parser,
    operators: Mapping[str, PairOperator],
    counts: Counter[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Build the SOSwap and AddAmod rows from distinct premises of examples.

    `counts` is updated while rows are consumed. Its keys are `premises`, and for each kind the generated pairs
    (`soswap`) and the excluded premises by reason (`soswap: a passive`).
    """
    counts = Counter() if counts is None else counts
    for source_id, parse in parse_items(iter_distinct_premises(examples), parser):
        counts["premises"] += 1
        for kind, operator in operators.items():
            result = operator(parse)
            if isinstance(result, str):
                counts[f"{kind}: {result}"] += 1
                continue
            counts[kind] += 1
            yield {
                "id": f"{source_id}#{kind}",
                "source_id": source_id,
                "kind": kind,
                "label": get_label_id(LABEL_BY_KIND[kind]),
                "source_premise": str(parse),
                "premise": str(parse),
                **result._asdict(),  # with another premise for AddAmod
            }
    logger.info("pairs and excluded premises of %d premises: %s", counts["premises"], dict(counts.most_common()))


def swap_within_vocabulary_half(
    parse: Parse, words: str = ALL, *, is_written_text: bool = False
) -> SwappedSentence | str:
    """Swap the subject and object of a sentence if its verb and nouns are in the requested half of the vocabulary.

    Return the reason if the swap is not possible or if a word is in the other half.
    """
    result = swap_subject_and_object(parse, is_written_text=is_written_text)
    is_other = isinstance(result, SwappedSentence) and not are_in_vocabulary_half(words, result.lemmas)
    return OTHER_WORDS if is_other else result


def count_adjectives(
    examples: Iterable[Example], parser: Parser, adjectives: AdjectiveCounts | None = None
) -> AdjectiveCounts:
    """Count the adjectives of each noun in the premises and hypotheses of examples. Repeated sentences count once.

    Only sentences with an adjective are parsed. Given counts are extended (default: new counts).
    """
    adjectives = adjectives or AdjectiveCounts()
    sentences = (text for example in examples for text in (example.premise, example.hypothesis))
    for parse in parser.parse(deduplicate(sentences, str), tag=ADJECTIVE):
        adjectives.add(parse)
    return adjectives


def iter_distinct_premises(examples: Iterable[Example]) -> Iterator[tuple[str, str]]:
    """Iterate over the distinct premises, as tuples (source id of the first example, premise)."""
    return ((example.source_id, example.premise) for example in deduplicate(examples, attrgetter("premise")))


def parse_items(items: Iterable[tuple[T, str]], parser: Parser) -> Iterator[tuple[T, Parse]]:
    """Parse the sentence of each item, given as tuples (item, sentence). Yields tuples (item, parse), in order."""
    # The parser consumes sentences in chunks before it yields their parses. `tee` holds the items in between.
    items, consumed = tee(items)
    parses = parser.parse(sentence for _, sentence in consumed)
    return zip((item for item, _ in items), parses, strict=True)
