"""Rows of the SOSwap and AddAmod set: one pair per operator and distinct premise, if the operator applies."""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

import pyarrow as pa

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
from unbag.data import columns
from unbag.data.columns import PAIR
from unbag.data.labels import CONTRADICTION, NEUTRAL, get_label_id
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser

logger = logging.getLogger(__name__)

T = TypeVar("T")

SOSWAP: Final = "soswap"
ADDAMOD: Final = "addamod"
BOTH: Final = "both"
KINDS: Final = (BOTH, SOSWAP, ADDAMOD)
"""Pairs in a set: those of both operators, or of one."""

OTHER_WORDS: Final = "words that are not all in the requested half"
"""Reason for the exclusion of a possible swap whose words are not in the requested half of the vocabulary."""

LABEL_BY_KIND: Final = {SOSWAP: CONTRADICTION, ADDAMOD: NEUTRAL}

SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source id is that of the first example with this premise
        ("kind", pa.string()),
        ("source_premise", pa.string()),
        # SOSwap: the exchanged phrases, as written in the premise; null for AddAmod.
        ("subject", pa.string()),
        ("object", pa.string()),
        # AddAmod: the added adjective, and the noun that it modifies in each sentence; null for SOSwap.
        ("adjective", pa.string()),
        ("premise_noun", pa.string()),
        ("hypothesis_noun", pa.string()),
    ]
)
_ROWS_PER_TABLE: Final = 1_000  # small, because parsing is slow and progress is shown per table


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
    operators: dict[str, PairOperator] = {
        SOSWAP: partial(swap_within_vocabulary_half, words=words, is_written_text=is_written_text),
        ADDAMOD: partial(
            build_addamod_pair,
            adjectives=adjectives or AdjectiveCounts(),
            seed=seed,
            min_count=min_count,
            words=words,
            is_written_text=is_written_text,
        ),
    }
    return {name: operator for name, operator in operators.items() if kind in (name, BOTH)}


def iter_soswap_addamod_tables(
    examples: Iterable[Example],
    parser: Parser,
    operators: Mapping[str, PairOperator],
    counts: Counter[str] | None = None,
) -> Iterator[pa.Table]:
    """Build the SOSwap and AddAmod rows from distinct premises of examples, as Arrow tables with the schema `SCHEMA`.

    `counts` is updated while tables are consumed. Its keys are `premises`, and for each kind the generated pairs
    (`soswap`) and the excluded premises by reason (`soswap: a passive`).
    """
    counts = Counter() if counts is None else counts
    yield from columns.iter_tables(_rows(examples, parser, operators, counts), SCHEMA, size=_ROWS_PER_TABLE)
    logger.info("pairs and excluded premises of %d premises: %s", counts["premises"], dict(counts.most_common()))


def _rows(
    examples: Iterable[Example], parser: Parser, operators: Mapping[str, PairOperator], counts: Counter[str]
) -> Iterator[dict[str, Any]]:
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
                "premise": str(parse),
                "label": get_label_id(LABEL_BY_KIND[kind]),
                "source_premise": str(parse),
                **{column: value for column, value in result._asdict().items() if column in SCHEMA.names},
            }


def swap_within_vocabulary_half(
    parse: Parse, words: str = ALL, *, is_written_text: bool = False
) -> SwappedSentence | str:
    """Swap the subject and object of a sentence if its verb and nouns are in the requested half of the vocabulary.

    Return the reason if the swap is not possible or if a word is in the other half.
    """
    result = swap_subject_and_object(parse, is_written_text=is_written_text)
    return (
        OTHER_WORDS
        if isinstance(result, SwappedSentence) and not are_in_vocabulary_half(words, result.lemmas)
        else result
    )


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
    # The parser consumes sentences in chunks before it yields their parses. The queue holds the items in between.
    waiting: deque[T] = deque()

    def sentences() -> Iterator[str]:
        for item, sentence in items:
            waiting.append(item)
            yield sentence

    for parse in parser.parse(sentences()):
        yield waiting.popleft(), parse
