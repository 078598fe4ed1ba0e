"""The rows of the swapped set: pairs as given, and with premise and hypothesis exchanged (ReSNLI paper, 5.2)."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from unbag.examples import Example
from unbag.labels import ENTAILMENT, label_id

SCHEMA: Final = pa.schema(
    [
        ("id", pa.string()),  # unique: the source's id, and `#swapped`
        ("source_id", pa.string()),
        ("premise", pa.string()),
        ("hypothesis", pa.string()),
        ("label", pa.int64()),
        ("swapped", pa.bool_()),
    ]
)
_ROWS_PER_TABLE: Final = 10_000


def swapped_tables(examples: Iterable[Example]) -> Iterator[pa.Table]:
    """Yield each example as given and, if its label is neutral or contradiction, exchanged: tables of `SCHEMA`.

    Those two labels say the same of both orders; entailment need not, so such a pair has no second row.
    """
    rows = (row for example in examples for row in _rows(example))
    while some := list(islice(rows, _ROWS_PER_TABLE)):
        yield pa.Table.from_pylist(some, schema=SCHEMA)


def _rows(example: Example) -> Iterator[dict[str, Any]]:
    name, premise, hypothesis, label = example[:4]
    shared = {"source_id": name, "label": label_id(label)}
    yield {"id": name, "premise": premise, "hypothesis": hypothesis, "swapped": False, **shared}
    if label != ENTAILMENT:
        yield {"id": f"{name}#swapped", "premise": hypothesis, "hypothesis": premise, "swapped": True, **shared}
