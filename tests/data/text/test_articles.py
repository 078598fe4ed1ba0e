import pytest

from unbag.data.text.grammar import adapt_article, is_matching_article

AN = [
    *("apple", "egg", "ice", "orange", "umbrella", "hour", "honest", "heir", "honor", "unimportant", "uninteresting"),
    *("ugly", "uncle", "8", "80", "8th", "11", "11th", "18", "18th", "11,000", "800", "X", "MRI", "F-16", "undershirt"),
    *("urn", "usher", "understated", "utter", "unusual", "unidentified", "us", "old-fashioned", "oboe", "Indian"),
]
A = [
    *("banana", "house", "horse", "union", "unicycle", "uniform", "university", "useful", "user", "European", "ewe"),
    *("one", "one-way", "once", "ukulele", "utility", "urinal", "UFO", "1", "10", "7th", "110", "1,100", "yellow", "B"),
    *("US", "unique", "unanimous", "usual", "ouija", "hot", "Utah", "12-year-old", "uterus", "TV", "onesie"),
]


@pytest.mark.parametrize("word", AN)
def test_an_matches_vowel_sound(word):
    assert adapt_article("a", word) == "an"
    assert is_matching_article("an", word)
    assert not is_matching_article("a", word)


@pytest.mark.parametrize("word", A)
def test_a_matches_consonant_sound(word):
    assert adapt_article("an", word) == "a"
    assert is_matching_article("a", word)
    assert not is_matching_article("an", word)


def test_capital_letter_is_kept():
    assert (adapt_article("A", "apple"), adapt_article("An", "pear")) == ("An", "A")


def test_other_words_are_unchanged():
    assert adapt_article("The", "apple") == "The"
    assert is_matching_article("some", "apples")
