"""Tests of the default prompt, and of reading answers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.prompts import EXAMPLES, INSTRUCTION, WORDS, DefaultPrompt
from unbag.inference.llm.reading import compute_label_probabilities, parse_label


def test_few_shot_examples_are_not_in_label_probe():
    probed = {side for pair in PAIRS["en"] for side in pair[:2]}
    assert not probed & {side for example in EXAMPLES for side in example[:2]}


def test_text_and_conversation_have_same_content():
    text = DefaultPrompt(3).build_text("A dog runs.", "It moves.")
    turns = DefaultPrompt(3).build_messages("A dog runs.", "It moves.")
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 3 + ["user"]
    assert text.startswith(INSTRUCTION)
    assert turns[0]["content"].startswith(INSTRUCTION)
    assert text.count("Premise:") == sum(turn["content"].count("Premise:") for turn in turns) == 4
    for premise, hypothesis, label in EXAMPLES[:3]:
        assert f"Premise: {premise}\nHypothesis: {hypothesis}\nAnswer: {WORDS[label]}\n" in text
        at = next(i for i, turn in enumerate(turns) if premise in turn["content"])
        assert turns[at + 1]["content"] == WORDS[label]
    assert text.endswith("Premise: A dog runs.\nHypothesis: It moves.\nAnswer:")
    assert turns[-1]["content"] == "Premise: A dog runs.\nHypothesis: It moves."


def test_probabilities_are_normalized_over_words():
    top = [("Yes", math.log(0.5)), (" yes", math.log(0.1)), ("No", math.log(0.2)), ("May", math.log(0.1)), ("I", -3)]
    assert compute_label_probabilities(top) == pytest.approx([6 / 9, 1 / 9, 2 / 9])
    assert compute_label_probabilities([("The", math.log(0.6)), ("Yes", math.log(0.4))]) is None
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
