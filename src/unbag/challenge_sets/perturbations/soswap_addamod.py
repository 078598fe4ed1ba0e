"""The rows of the SOSwap and AddAmod set: each distinct premise of a source, once a kind."""

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

import pyarrow as pa

from unbag.challenge_sets.perturbations.addamod import (
    ADJECTIVE,
    DEFAULT_MIN_COUNT,
    DEFAULT_SEED,
    Addition,
    AdjectiveCounts,
    addamod,
)
from unbag.challenge_sets.perturbations.soswap import Swap, soswap, swap_lemmas
from unbag.challenge_sets.perturbations.swapped import distinct_by
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_half
from unbag.data import columns
from unbag.data.columns import PAIR
from unbag.data.labels import CONTRADICTION, NEUTRAL, label_id
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser

logger = logging.getLogger(__name__)

SOSWAP: Final = "soswap"
ADDAMOD: Final = "addamod"
BOTH: Final = "both"
KINDS: Final = (BOTH, SOSWAP, ADDAMOD)
"""What a set holds: the pairs of either operator, or of both."""

OTHER_WORDS: Final = "words that are not all of the half asked for"
"""Why a swap is left out that could be made."""

LABELS_OF: Final = {SOSWAP: CONTRADICTION, ADDAMOD: NEUTRAL}

SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source is the first example with this premise
        ("kind", pa.string()),
        ("source_premise", pa.string()),
        # SOSwap: the phrases that change places, as they stand in the premise; null for AddAmod.
        ("subject", pa.string()),
        ("object", pa.string()),
        # AddAmod: what is added, and the noun it is added to in each sentence; null for SOSwap.
        ("adjective", pa.string()),
        ("premise_noun", pa.string()),
        ("hypothesis_noun", pa.string()),
    ]
)
_ROWS_PER_TABLE: Final = 1_000  # few, since a parser is slow and they are shown as they come


def soswap_addamod_tables(
    examples: Iterable[Example],
    parser: Parser,
    *,
    kind: str = BOTH,
    adjectives: AdjectiveCounts | None = None,
    seed: int = DEFAULT_SEED,
    min_count: int = DEFAULT_MIN_COUNT,
    words: str = ALL,
    counts: Counter[str] | None = None,
) -> Iterator[pa.Table]:
    """Yield the pairs made from some examples' premises as Arrow tables of `SCHEMA`.

    Args:
        examples: pairs of a corpus; a premise that was met before makes none.
        parser: parses the premises.
        kind: one of `KINDS`.
        adjectives: which adjectives go with which nouns, for AddAmod (`adjective_counts`).
        seed: decides the adjectives and where they go.
        min_count: how often an adjective must occur with a noun.
        words: `all`, or the half of the vocabulary that verb, adjective and nouns are of
            (`challenge_sets.perturbations.vocabulary_split`).
        counts: counts up, while tables are taken: `premises`, and for each kind the pairs made (`soswap`) and the
            premises refused (`soswap: a passive`).
    """
    counts = Counter() if counts is None else counts
    kinds = [name for name in (SOSWAP, ADDAMOD) if kind in (name, BOTH)]
    rows = _rows(examples, parser, kinds, adjectives or AdjectiveCounts(), seed, min_count, words, counts)
    yield from columns.tables(rows, SCHEMA, size=_ROWS_PER_TABLE)
    logger.info("of %d premises: %s", counts["premises"], dict(counts.most_common()))


def _rows(
    examples: Iterable[Example],
    parser: Parser,
    kinds: Sequence[str],
    adjectives: AdjectiveCounts,
    seed: int,
    min_count: int,
    words: str,
    counts: Counter[str],
) -> Iterator[dict[str, Any]]:
    for source_id, parse in parse_premises(distinct_premises(examples), parser):
        counts["premises"] += 1
        for kind in kinds:
            result: Swap | Addition | str = (
                swap_within_half(parse, words)
                if kind == SOSWAP
                else addamod(parse, adjectives, seed=seed, min_count=min_count, words=words)
            )
            if isinstance(result, str):
                counts[f"{kind}: {result}"] += 1
                continue
            counts[kind] += 1
            yield {
                "id": f"{source_id}#{kind}",
                "source_id": source_id,
                "kind": kind,
                "premise": str(parse),
                "label": label_id(LABELS_OF[kind]),
                "source_premise": str(parse),
                **{column: value for column, value in result._asdict().items() if column in SCHEMA.names},
            }


def swap_within_half(parse: Parse, words: str = ALL) -> Swap | str:
    """Swap a sentence's subject and object, or say why not: as `soswap`, with words of one half of the vocabulary."""
    result = soswap(parse)
    return OTHER_WORDS if isinstance(result, Swap) and not are_in_half(words, swap_lemmas(parse)) else result


def adjective_counts(
    examples: Iterable[Example], parser: Parser, adjectives: AdjectiveCounts | None = None
) -> AdjectiveCounts:
    """Count the adjectives of the nouns in some examples, each distinct sentence once.

    Args:
        examples: pairs of a corpus, both sentences of which count.
        parser: parses those that have an adjective.
        adjectives: what to count on to; a new one by default.
    """
    adjectives = adjectives or AdjectiveCounts()
    sentences = (text for example in examples for text in (example.premise, example.hypothesis))
    for parse in parser.parses_with(ADJECTIVE, distinct_by(sentences, str)):
        adjectives.add(parse)
    return adjectives


def distinct_premises(examples: Iterable[Example]) -> Iterator[tuple[str, str]]:
    """Return, one by one, the source id of the first example with each premise, and the premise."""
    return ((example.source_id, example.premise) for example in distinct_by(examples, attrgetter("premise")))


def parse_premises(premises: Iterable[tuple[str, str]], parser: Parser) -> Iterator[tuple[str, Parse]]:
    """Yield the ids of some premises with their parses, in order."""
    waiting: deque[str] = deque()  # ids of sentences that the parser has taken and not given back

    def sentences() -> Iterator[str]:
        for source_id, premise in premises:
            waiting.append(source_id)
            yield premise

    for parse in parser.parses(sentences()):
        yield waiting.popleft(), parse
