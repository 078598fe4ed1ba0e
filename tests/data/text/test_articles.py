import pytest

from unbag.data.text.grammar import agree, fits

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
def test_an(word):
    assert agree("a", word) == "an"
    assert fits("an", word)
    assert not fits("a", word)


@pytest.mark.parametrize("word", A)
def test_a(word):
    assert agree("an", word) == "a"
    assert fits("a", word)
    assert not fits("an", word)


def test_the_capital_stays():
    assert (agree("A", "apple"), agree("An", "pear")) == ("An", "A")


def test_other_words_are_left_alone():
    assert agree("The", "apple") == "The"
    assert fits("some", "apples")
