"""Rows of the swapped set: the original pairs, and pairs with premise and hypothesis exchanged (ReSNLI paper, 5.2)."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, TypeVar

import pyarrow as pa

from unbag.data.columns import PAIR, iter_tables
from unbag.data.labels import ENTAILMENT, get_label_id
from unbag.data.sources import Example

SCHEMA: Final = pa.schema(
    [
        *PAIR,
        ("swapped", pa.bool_()),
    ]
)


def iter_swapped_set_tables(examples: Iterable[Example]) -> Iterator[pa.Table]:
    """Build the rows of the swapped set from examples, as Arrow tables with the schema `SCHEMA`.

    Each example yields a row with the original pair. An example labelled neutral or contradiction yields a second row
    with premise and hypothesis exchanged, because these two labels are taken to hold in both orders. Entailment need
    not, so an entailment pair has no second row.
    """
    return iter_tables((row for example in examples for row in _rows(example)), SCHEMA)


def _rows(example: Example) -> Iterator[dict[str, Any]]:
    name, premise, hypothesis, label = example[:4]
    shared = {"source_id": name, "label": get_label_id(label)}
    yield {"id": name, "premise": premise, "hypothesis": hypothesis, "swapped": False, **shared}
    if label != ENTAILMENT:
        yield {"id": f"{name}#swapped", "premise": hypothesis, "hypothesis": premise, "swapped": True, **shared}


T = TypeVar("T")


def deduplicate(items: Iterable[T], get_sentence: Callable[[T], str]) -> Iterator[T]:
    """Iterate over items in order, and drop items whose sentence has already occurred.

    The function stores a hash of 64 bits per sentence, which is the same in every process. All premises of SNLI take
    some MB. The probability of any collision among a million sentences is 3 in 100 million.

    Args:
        items: Items, e.g. examples.
        get_sentence: Function that returns the sentence of an item.

    >>> list(deduplicate(["A dog", "a dog", "A dog"], str))
    ['A dog', 'a dog']
    """
    seen: set[bytes] = set()
    for item in items:
        # Not Python's `hash`, whose values for strings differ between processes.
        key = blake2b(get_sentence(item).encode(), digest_size=8).digest()
        if key not in seen:
            seen.add(key)
            yield item
