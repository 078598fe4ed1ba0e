"""Rows of the plain set: the unchanged labelled pairs of a corpus."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import pyarrow as pa

from unbag.data.columns import PAIR, ROWS_PER_TABLE
from unbag.data.labels import get_gold_id
from unbag.data.sources import Example
from unbag.utils import rng

SCHEMA: Final = pa.schema(PAIR)


def iter_plain_set_tables(examples: Iterator[Example], *, has_document_sources: bool = False) -> Iterator[pa.Table]:
    """Convert examples to tables with the schema `SCHEMA`, one row per example.

    Args:
        examples: Examples of a corpus or of the user's own data.
        has_document_sources: Whether examples with the same premise have one `source_id`. Their predictions are not
            independent, so that intervals must be over documents. By default, every example is a source, as in
            published results.
    """
    while some := list(islice(examples, ROWS_PER_TABLE)):
        names, premises, hypotheses, labels, _ = zip(*some, strict=True)
        sources = list(map(compute_document_id, premises)) if has_document_sources else names
        yield pa.table([names, sources, premises, hypotheses, list(map(get_gold_id, labels))], schema=SCHEMA)


def compute_document_id(premise: str) -> str:
    """Compute the id of a document from its text, so that it does not depend on other rows.

    >>> compute_document_id("A man rides.") == compute_document_id(" A man rides. ")
    True
    >>> compute_document_id("A man rides.") == compute_document_id("A dog runs.")
    False
    """
    return f"document-{int(rng.compute_key('document', premise.strip())):016x}"
