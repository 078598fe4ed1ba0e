import random

import pytest

from unbag.inference.tokenization import build_token_batches, pad_sequences


def test_every_row_is_in_one_batch_within_the_budget():
    lengths = [random.Random(0).randint(1, 60) for _ in range(500)]
    batches = [batch.tolist() for batch in build_token_batches(lengths, budget=256)]
    assert sorted(row for batch in batches for row in batch) == list(range(500))
    assert all(len(batch) * max(lengths[row] for row in batch) <= 256 for batch in batches)


def test_longest_first_and_ties_in_row_order():
    order = [row for batch in build_token_batches([2, 5, 2, 5, 2], budget=10) for row in batch.tolist()]
    assert order == [1, 3, 0, 2, 4]


def test_a_row_above_the_budget_is_a_batch_of_its_own():
    assert [batch.tolist() for batch in build_token_batches([3, 50, 3], budget=8)] == [[1], [0, 2]]


def test_no_rows_make_no_batches():
    assert list(build_token_batches([], budget=8)) == []


def test_a_budget_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1 token"):
        list(build_token_batches([1], budget=0))


def test_padding_goes_to_the_side_of_the_tokenizer():
    assert pad_sequences([[1], [2, 3]], 9, "right").tolist() == [[1, 9], [2, 3]]
    assert pad_sequences([[1], [2, 3]], 9, "left").tolist() == [[9, 1], [2, 3]]
