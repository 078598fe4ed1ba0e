"""Tests of data hashes: two tables have the same hash if and only if their rows are equal."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.utils.hashing import hash_columns, hash_texts

TEXTS = st.none() | st.text(alphabet="ab-:;012\x1e\x1f\0\u00e9\U0001f600", max_size=4)
ROWS = st.lists(st.tuples(TEXTS, TEXTS), max_size=4)


def of(rows, columns=("premise", "hypothesis")):
    cells = [[row[n] for row in rows] for n in range(2)]
    return hash_columns([pa.table(dict(zip(columns, map(pa.array, cells, [pa.string()] * 2), strict=True)))], columns)


@settings(max_examples=300)
@given(ROWS, ROWS)
def test_different_rows_have_different_hashes(one, other):
    assert (of(one) == of(other)) == (one == other)


@given(ROWS, st.integers(0, 4))
def test_batch_boundaries_do_not_change_hash(rows, where):
    table = pa.table({"a": pa.array([row[0] for row in rows], pa.string())})
    assert hash_columns([table], ["a"]) == hash_columns([table[:where], table[where:]], ["a"])


@settings(max_examples=300)
@given(*[st.lists(st.lists(st.text(alphabet="a1:;\x1f", max_size=3), max_size=3), max_size=3)] * 2)
def test_different_texts_have_different_hashes(one, other):
    assert (hash_texts(one) == hash_texts(other)) == (one == other)
