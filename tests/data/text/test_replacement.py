import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.data.text.grammar import find_phrase_difference


def _difference(premise, hypothesis):
    found = find_phrase_difference(premise, hypothesis)
    return found and (" ".join(found.old), " ".join(found.new))


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("A man has a violin.", "A man has a cello.", ("violin", "cello")),
        ("A man has a violin.", "A man has an accordion.", ("violin", "accordion")),
        ("An old man sits.", "A young man sits.", ("old", "young")),
        ("He stands near the wall.", "He stands far away from the wall.", ("near", "far away from")),
        ("A four-wheeled cart.", "A 10-wheeled cart.", ("four", "10")),
        ("Red hat, red coat.", "Blue hat, blue coat.", ("Red", "Blue")),  # the same replacement twice
        ("A man sits, a man eats.", "A man stands, a man sleeps.", None),  # two different replacements
        ("A man sits.", "A man sits.", None),
        ("A man sits.", "Two dogs run over the wide green field.", None),
        ("He is not here.", "He is here.", ("not", "")),
    ],
)
def test_find_replacement_equals_manual_example(premise, hypothesis, expected):
    assert _difference(premise, hypothesis) == expected


def test_phrases_extend_to_neighboring_words():
    difference = find_phrase_difference(
        "They sit in the living room, at a table.", "They sit in the dining room, at a table."
    )
    assert (difference.left, difference.right) == (("in", "the"), ("room",))  # up to the comma
    assert next(iter(difference.phrases())) == ("living", "dining")
    assert ("living room", "dining room") in difference.phrases()


def test_deleted_word_is_shown_with_neighbor():
    difference = find_phrase_difference("A kitchen in a living room.", "A kitchen in a room.")
    assert ("living room", "room") in difference.phrases()
    assert all(old and new for old, new in difference.phrases())


WORDS = st.lists(st.sampled_from(["red", "dog", "runs", "tree", "here"]), min_size=1, max_size=6)


@given(WORDS, WORDS)
def test_single_inserted_word_is_found(before, after):
    premise, hypothesis = (" ".join([*before, word, *after]) for word in ("apple", "pear"))
    assert _difference(premise, hypothesis) == ("apple", "pear")
