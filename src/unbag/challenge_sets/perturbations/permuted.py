"""Rows of the permuted set: each selected example in original word order, followed by q permutations."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from unbag.challenge_sets.perturbations.minitrees import MiniTreeRatioCalculator
from unbag.challenge_sets.perturbations.permutation import (
    BLEU_ORDERS,
    PermutedSentences,
    Permuter,
    TooFewPermutationsError,
)
from unbag.data.columns import declare_float_field, round_to_field
from unbag.data.labels import get_gold_id
from unbag.data.sources import Example
from unbag.data.text.tokens import TokenizedSentence, tokenize
from unbag.scoring.permutation_acceptance import ORIGINAL

_SIDES: Final = ("premise", "hypothesis")
BLEU_COLUMNS: Final = tuple(f"{side}_bleu_{n}" for side in _SIDES for n in BLEU_ORDERS)
MINITREE_COLUMNS: Final = tuple(f"{side}_minitree" for side in _SIDES)
SCHEMA: Final = pa.schema(
    [
        ("id", pa.string()),  # unique: the source's id and the index of the permutation
        ("source_id", pa.string()),
        ("permutation", pa.int32()),
        ("premise", pa.string()),
        ("hypothesis", pa.string()),
        ("label", pa.int64()),
        *((f"{side}_words", pa.int32()) for side in _SIDES),
        *(declare_float_field(name, 6) for name in BLEU_COLUMNS),
        *(declare_float_field(name, 6) for name in MINITREE_COLUMNS),  # β^k; null if not requested or not defined
    ]
)
TOO_FEW: Final = "too few permutations"
_ROWS_PER_TABLE: Final = 10_000  # rows in memory at the same time: some MB


def iter_permuted_set_tables(
    examples: Iterable[Example],
    permuter: Permuter,
    *,
    min_words: int,
    language: str,
    characters: bool = False,
    ratios: MiniTreeRatioCalculator | None = None,
    counts: Counter[str] | None = None,
) -> Iterator[pa.Table]:
    """Build the rows of the permuted set from examples. Yields Arrow tables with about 10,000 rows and schema `SCHEMA`.

    An example is used if both sentences have at least `min_words` tokens that are not punctuation, and if the pair has
    q different permutations. A used example yields q + 1 rows. The first row is the original pair (permutation -1).
    `counts` is updated while tables are consumed. The key `TOO_FEW` counts the examples with enough words but fewer
    than q different permutations.

    Args:
        characters: Whether Chinese is split into characters instead of words, which require rjieba.
        ratios: Source of the columns `*_minitree`, the mini-tree overlap β^k of each sentence, the original included
            (default: these columns are null).
    """
    counts = Counter() if counts is None else counts
    blocks: list[dict[str, Any]] = []
    for example in examples:
        premise, hypothesis = (
            tokenize(text, language, characters=characters) for text in (example.premise, example.hypothesis)
        )
        if min(premise.length, hypothesis.length) < min_words:
            continue
        try:
            sides = permuter.permute_pair(example.source_id, premise, hypothesis)
        except TooFewPermutationsError:
            counts[TOO_FEW] += 1
            continue
        blocks.append(_block(example, (premise, hypothesis), sides))
        if len(blocks) * (permuter.q + 1) >= _ROWS_PER_TABLE:
            yield _table(blocks, ratios)
            blocks = []
    if blocks:
        yield _table(blocks, ratios)


def _block(
    example: Example,
    tokens: tuple[TokenizedSentence, TokenizedSentence],
    sides: tuple[PermutedSentences, PermutedSentences],
) -> dict[str, Any]:
    """Build the columns of one example's rows."""
    numbers = np.arange(ORIGINAL, len(sides[0].texts))
    rows = len(numbers)
    bleu = np.concatenate([side.bleu for side in sides], axis=1)  # (q, 6)
    bleu = np.concatenate([np.ones((1, bleu.shape[1])), bleu])  # BLEU of the original against itself is 1
    return {
        "id": [f"{example.source_id}#{number}" for number in numbers.tolist()],
        "source_id": [example.source_id] * rows,
        "permutation": numbers,
        "premise": [example.premise, *sides[0].texts],
        "hypothesis": [example.hypothesis, *sides[1].texts],
        "label": np.full(rows, get_gold_id(example.label)),
        **{f"{name}_words": np.full(rows, side.length) for name, side in zip(_SIDES, tokens, strict=True)},
        **dict(zip(BLEU_COLUMNS, bleu.T, strict=True)),
        **{name: np.full(rows, np.nan) for name in MINITREE_COLUMNS},
        "orders": [side.orders for side in sides],
    }


def _table(blocks: list[dict[str, Any]], ratios: MiniTreeRatioCalculator | None) -> pa.Table:
    if ratios is not None:
        for number, (side, name) in enumerate(zip(_SIDES, MINITREE_COLUMNS, strict=True)):
            texts = [block[side] for block in blocks]
            orders = [block["orders"][number] for block in blocks]
            overlaps = ratios.compute_terms([text[0] for text in texts], [text[1:] for text in texts], orders)
            for block, overlap in zip(blocks, overlaps, strict=True):
                block[name] = overlap
    columns = []
    for field in SCHEMA:
        parts = [block[field.name] for block in blocks]
        values = (
            np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [cell for part in parts for cell in part]
        )
        if pa.types.is_floating(field.type):
            values = round_to_field(values, field)
        columns.append(pa.array(values, from_pandas=field.name in MINITREE_COLUMNS).cast(field.type))
    return pa.table(columns, schema=SCHEMA)
