"""The rows of the swapped set: pairs as given, and with premise and hypothesis exchanged (ReSNLI paper, 5.2)."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, TypeVar

import pyarrow as pa

from unbag.data.columns import PAIR, tables
from unbag.data.labels import ENTAILMENT, label_id
from unbag.data.sources import Example

SCHEMA: Final = pa.schema(
    [
        *PAIR,
        ("swapped", pa.bool_()),
    ]
)


def swapped_tables(examples: Iterable[Example]) -> Iterator[pa.Table]:
    """Return each example as given and, if its label is neutral or contradiction, exchanged: tables of `SCHEMA`.

    Those two labels say the same of both orders; entailment need not, so such a pair has no second row.
    """
    return tables((row for example in examples for row in _rows(example)), SCHEMA)


def _rows(example: Example) -> Iterator[dict[str, Any]]:
    name, premise, hypothesis, label = example[:4]
    shared = {"source_id": name, "label": label_id(label)}
    yield {"id": name, "premise": premise, "hypothesis": hypothesis, "swapped": False, **shared}
    if label != ENTAILMENT:
        yield {"id": f"{name}#swapped", "premise": hypothesis, "hypothesis": premise, "swapped": True, **shared}


T = TypeVar("T")


def distinct(items: Iterable[T], sentence: Callable[[T], str]) -> Iterator[T]:
    """Yield the items whose sentence no item before had, in order.

    Of a sentence 64 bits are remembered, the same in every process, so that all premises of SNLI take some MB: two of a
    million sentences are taken for the same with a probability of 3 in 100 million.

    Args:
        items: examples, say.
        sentence: returns what must differ.

    >>> list(distinct(["A dog", "a dog", "A dog"], str))
    ['A dog', 'a dog']
    """
    seen: set[bytes] = set()
    for item in items:
        key = blake2b(sentence(item).encode(), digest_size=8).digest()
        if key not in seen:
            seen.add(key)
            yield item
