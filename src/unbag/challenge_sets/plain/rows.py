"""Rows of the plain set: the unchanged labelled pairs of a corpus."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import pyarrow as pa

from unbag.data.columns import PAIR, ROWS_PER_TABLE
from unbag.data.labels import gold_id
from unbag.data.sources import Example

SCHEMA: Final = pa.schema(PAIR)


def plain_tables(examples: Iterator[Example]) -> Iterator[pa.Table]:
    """Iterate over tables of `SCHEMA`, one row per example."""
    while some := list(islice(examples, ROWS_PER_TABLE)):
        names, premises, hypotheses, labels, _ = zip(*some, strict=True)
        yield pa.table([names, names, premises, hypotheses, list(map(gold_id, labels))], schema=SCHEMA)
