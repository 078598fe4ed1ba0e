"""Rows of the negation set: the pairs of each distinct premise that is a plain claim."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from unbag.challenge_sets.perturbations.negation_operations import negation_pairs
from unbag.challenge_sets.perturbations.soswap_addamod import iter_distinct_premises, parse_premises
from unbag.challenge_sets.perturbations.vocabulary_split import ALL
from unbag.data import columns
from unbag.data.columns import PAIR
from unbag.data.labels import get_label_id
from unbag.data.sources import Example
from unbag.data.text.parses import Parser

DEFAULT_SEED: Final = 0
SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source id is that of the first example with this premise
        ("operation", pa.string()),
        ("mirror", pa.string()),  # the two rows of a mirror share it
    ]
)
_ROWS_PER_TABLE: Final = 1_000  # small, because parsing is slow and progress is shown per table


def negation_tables(
    examples: Iterable[Example],
    parser: Parser,
    *,
    seed: int = DEFAULT_SEED,
    words: str = ALL,
    counts: Counter[str] | None = None,
) -> Iterator[pa.Table]:
    """Build the pairs from the premises of some examples, as Arrow tables of `SCHEMA`.

    Args:
        examples: Examples of a corpus; a repeated premise yields pairs only once.
        parser: Parser of the premises.
        seed: Random seed of the frames and the modifiers (default: `DEFAULT_SEED`).
        words: Vocabulary of frames, verb and subject: `all`, or one half (`vocabulary_split`).
        counts: Counter that is updated while tables are consumed. Keys are `premises`, the operations, and the excluded
            premises by reason (`excluded: ...`).
    """
    counts = Counter() if counts is None else counts
    yield from columns.iter_tables(_rows(examples, parser, seed, words, counts), SCHEMA, size=_ROWS_PER_TABLE)


def _rows(
    examples: Iterable[Example], parser: Parser, seed: int, words: str, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    for source_id, parse in parse_premises(iter_distinct_premises(examples), parser):
        counts["premises"] += 1
        pairs = negation_pairs(parse, seed=seed, words=words)
        if isinstance(pairs, str):
            counts[f"excluded: {pairs}"] += 1
            continue
        for number, pair in enumerate(pairs):
            counts[pair.operation] += 1
            yield {
                "id": f"{source_id}#{number}",
                "source_id": source_id,
                "premise": pair.premise,
                "hypothesis": pair.hypothesis,
                "label": get_label_id(pair.label),
                "operation": pair.operation,
                "mirror": f"{source_id}#{pair.operation}#{pair.mirror}",
            }
