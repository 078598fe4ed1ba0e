"""The rows of the swapped set: pairs as given, and with premise and hypothesis exchanged (ReSNLI paper, 5.2)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

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
