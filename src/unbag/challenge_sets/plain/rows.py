"""Rows of the plain set: the unchanged labelled pairs of a corpus."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import pyarrow as pa

from unbag.data.columns import PAIR, ROWS_PER_TABLE
from unbag.data.labels import LABELS, get_gold_id
from unbag.data.sources import Example, compute_source_id

SCHEMA: Final = pa.schema(PAIR)


def iter_plain_set_tables(examples: Iterator[Example], *, label_space: Sequence[str] = LABELS) -> Iterator[pa.Table]:
    """Convert examples to tables with the schema `SCHEMA`, one row per example.

    Examples with the same document have one `source_id`: their predictions are not independent, so that intervals must
    be over documents. In a corpus, every example is a source, as in published results.

    Args:
        examples: Examples of a corpus or of the user's own data.
        label_space: Label space of the examples.
    """
    while some := list(islice(examples, ROWS_PER_TABLE)):
        names, premises, hypotheses, labels, _, _ = zip(*some, strict=True)
        sources = list(map(compute_source_id, some))
        ids = [get_gold_id(label, label_space) for label in labels]
        yield pa.table([names, sources, premises, hypotheses, ids], schema=SCHEMA)
