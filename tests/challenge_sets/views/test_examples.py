from hypothesis import given
from hypothesis import strategies as st

from unbag.challenge_sets.views.examples import mark_phrases, mark_unchanged_sequences


def _list_marked_words(text, marks):
    return [text[start:end] for start, end, _ in marks]


def test_whole_words_are_marked_ignoring_case():
    text = "Dogs chase a dog; the dogged DOG sleeps."
    assert _list_marked_words(text, mark_phrases(text, ["dog"], "misleads")) == ["dog", "DOG"]


def test_phrase_is_one_mark_and_longest_wins():
    text = "Two men play an electric  guitar in a guitar shop."
    assert _list_marked_words(text, mark_phrases(text, ["guitar", "electric guitar"], "replaced")) == [
        "electric  guitar",
        "guitar",
    ]


def test_word_part_is_marked_if_no_whole_word_matches():
    assert _list_marked_words("He doesn't run.", mark_phrases("He doesn't run.", ["n't"], "misleads")) == ["n't"]
    assert _list_marked_words("两只狗在跑", mark_phrases("两只狗在跑", ["狗"], "misleads")) == ["狗"]


def test_empty_phrases_give_no_marks():
    assert mark_phrases("A man.", [None, "", " ", "woman"], "moved") == ()


def test_adjacent_words_are_marked_as_runs():
    original = "The old man feeds small birds in the park."
    permuted = "birds in the man The old park feeds small ."
    assert _list_marked_words(permuted, mark_unchanged_sequences(original, permuted)) == [
        "birds in the",
        "The old",
        "feeds small",
    ]


def test_order_without_adjacent_words_has_no_marks():
    assert mark_unchanged_sequences("A dog runs fast", "fast runs dog A") == ()


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_marks_are_ordered_and_disjoint(text, phrases):
    ends = [0]
    for start, end, _ in mark_phrases(text, phrases, "moved"):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
