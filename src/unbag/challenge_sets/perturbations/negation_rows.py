"""Rows of the negation set, and mirrors for training, built from each distinct premise that is a claim."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from unbag.challenge_sets.perturbations.augmentation import GeneratedPair
from unbag.challenge_sets.perturbations.negation_operations import NegationPair, build_negation_pairs
from unbag.challenge_sets.perturbations.soswap_addamod import iter_distinct_premises, parse_premises
from unbag.challenge_sets.perturbations.vocabulary_split import ALL
from unbag.data import columns
from unbag.data.columns import PAIR
from unbag.data.labels import get_gold_id
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser
from unbag.utils import rng

logger = logging.getLogger(__name__)

DEFAULT_SEED: Final = 13
SCHEMA: Final = pa.schema(
    [
        *PAIR,  # the source id is that of the first example with this premise
        ("operation", pa.string()),
        ("mirror", pa.string()),  # the two rows of a mirror share it
        ("negation", pa.string()),  # phrase that negates in the premise
        ("source_premise", pa.string()),
    ]
)
_ROWS_PER_TABLE: Final = 1_000  # small, because parsing is slow and progress is shown per table


def iter_negation_tables(
    examples: Iterable[Example],
    parser: Parser,
    *,
    seed: int = DEFAULT_SEED,
    words: str = ALL,
    counts: Counter[str] | None = None,
) -> Iterator[pa.Table]:
    """Build the rows of the negation set from the premises of examples, as Arrow tables with the schema `SCHEMA`.

    Args:
        examples: Examples of a corpus; a repeated premise yields pairs only once.
        parser: Parser of the premises.
        seed: Random seed of companions, frames, quantifiers, properties and adjectives (default: `DEFAULT_SEED`).
        words: Vocabulary of the pairs: `all`, or one half (`challenge_sets.perturbations.vocabulary_split`).
        counts: Counter that is updated while tables are consumed. Keys are `premises`, `claims`, the operations, and
            the excluded premises by reason (`excluded: ...`).
    """
    counts = Counter() if counts is None else counts
    yield from columns.iter_tables(_rows(examples, parser, seed, words, counts), SCHEMA, size=_ROWS_PER_TABLE)
    logger.info("negation: %s", dict(counts.most_common()))


def _rows(
    examples: Iterable[Example], parser: Parser, seed: int, words: str, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    for source_id, parse in parse_premises(iter_distinct_premises(examples), parser):
        counts["premises"] += 1
        pairs = build_negation_pairs(parse, seed=seed, words=words)
        if isinstance(pairs, str):
            counts[f"excluded: {pairs}"] += 1
            continue
        counts["claims"] += 1
        for number, pair in enumerate(pairs):
            counts[pair.operation] += 1
            yield {
                "id": f"{source_id}#{number}",
                "source_id": source_id,
                "premise": pair.premise,
                "hypothesis": pair.hypothesis,
                "label": get_gold_id(pair.label),
                "operation": pair.operation,
                "mirror": f"{source_id}#{pair.operation}#{pair.mirror}",
                "negation": pair.negation,
                "source_premise": str(parse),
            }


NO_LABEL: Final = "no mirror whose labels are certain among three"


class NegationMirrors:
    """Generator that builds mirrors with three labels: one hypothesis and two premises with the same words.

    The first premise entails the hypothesis. With the other one, the label is contradiction or neutral.
    """

    kind = "negation"
    balanced = False
    group_size = 2

    def __init__(self, premises: Sequence[str], parser: Parser, *, words: str = ALL) -> None:
        """Initialize the generator.

        Args:
            premises: Distinct sentences.
            parser: Parser of the premises, with a cache on disk.
            words: Vocabulary of the pairs: `all`, or one half (`challenge_sets.perturbations.vocabulary_split`).
        """
        self._premises, self._parser, self._words = premises, parser, words

    def __len__(self) -> int:
        return len(self._premises)

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Generate one mirror for each premise. The seed selects the operation, the mirror and the words."""
        for parse in self._parser.parse(self._premises[i] for i in order):
            pairs = build_negation_pairs(parse, seed=seed, words=self._words)
            yield pairs if isinstance(pairs, str) else _draw_mirror(parse, pairs, seed)


def _draw_mirror(parse: Parse, pairs: Sequence[NegationPair], seed: int) -> list[GeneratedPair] | str:
    """Draw an operation, and one of its mirrors whose labels are certain."""
    mirrors: dict[str, dict[int, list[GeneratedPair]]] = {}
    for pair in pairs:
        if pair.three_way is not None:
            mirror = mirrors.setdefault(pair.operation, {}).setdefault(pair.mirror, [])
            mirror.append(GeneratedPair(pair.premise, pair.hypothesis, pair.three_way))
    whole = {name: [each for each in some.values() if len(each) == 2] for name, some in mirrors.items()}
    names = [name for name, some in whole.items() if some]
    if not names:
        return NO_LABEL
    key = rng.compute_key(seed, "negation mirror", str(parse))
    operation, number = rng.generate_numbers(key, np.arange(2)).tolist()
    some = whole[names[operation % len(names)]]
    return some[number % len(some)]
