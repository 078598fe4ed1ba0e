import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.inference.llm.reading import compute_label_probabilities, parse_label


def test_probabilities_are_normalized_over_words():
    top = [("Yes", math.log(0.5)), (" yes", math.log(0.1)), ("No", math.log(0.2)), ("May", math.log(0.1)), ("I", -3)]
    assert compute_label_probabilities(top) == pytest.approx([6 / 9, 1 / 9, 2 / 9])


def test_unrelated_first_token_has_no_probabilities():
    assert compute_label_probabilities([("The", math.log(0.6)), ("Yes", math.log(0.4))]) is None
    assert compute_label_probabilities([]) is None
    assert compute_label_probabilities([("", 0.0), (" ", 0.0), ("Yesterday", 0.0)]) is None


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text(max_size=6), st.floats(max_value=0, allow_nan=False)), max_size=20))
def test_probabilities_sum_to_one_or_are_none(top):
    found = compute_label_probabilities(top)
    assert found is None or (sum(found) == pytest.approx(1) and min(found) >= 0)


@settings(max_examples=50)
@given(st.text())
def test_parse_label_accepts_any_text(text):
    assert parse_label(text) in (ENTAILMENT, NEUTRAL, CONTRADICTION, None)
