import pytest

from unbag.data import demo


def test_pairs_have_fixed_order_and_triples_of_labels():
    pairs = list(demo.iter_demo_pairs("validation"))
    assert [pair.source_id for pair in pairs] == [f"demo-validation-{i:06d}" for i in range(2_400)]
    assert all(len({pair.label for pair in pairs[i : i + 3]}) == 3 for i in range(0, len(pairs), 3))
    assert sum(1 for _ in demo.iter_demo_pairs("train")) == 6_000


def test_unknown_split_error_lists_splits():
    with pytest.raises(ValueError, match="expected one of the demo splits train, validation, got 'test'"):
        demo.iter_demo_pairs("test")
