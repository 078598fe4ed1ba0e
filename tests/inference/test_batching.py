import random

import pytest

from unbag.inference.tokenization import build_token_batches, pad_sequences


def test_batches_cover_rows_within_token_budget():
    lengths = [random.Random(0).randint(1, 60) for _ in range(500)]
    batches = [batch.tolist() for batch in build_token_batches(lengths, max_tokens=256)]
    assert sorted(row for batch in batches for row in batch) == list(range(500))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 256 for batch in batches)


def test_batches_sort_by_length_then_row():
    order = [row for batch in build_token_batches([2, 5, 2, 5, 2], max_tokens=10) for row in batch.tolist()]
    assert order == [1, 3, 0, 2, 4]


def test_row_above_budget_forms_single_batch():
    assert [batch.tolist() for batch in build_token_batches([3, 50, 3], max_tokens=8)] == [[1], [0, 2]]


def test_budget_below_one_is_rejected():
    with pytest.raises(ValueError, match="at least 1 token"):
        list(build_token_batches([1], max_tokens=0))


def test_padding_side_follows_tokenizer():
    assert pad_sequences([[1], [2, 3]], 9, "right").tolist() == [[1, 9], [2, 3]]
    assert pad_sequences([[1], [2, 3]], 9, "left").tolist() == [[9, 1], [2, 3]]
