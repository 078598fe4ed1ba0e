import pytest

from unbag.text.articles import article


@pytest.mark.parametrize(
    "word", "university European one-armed useful ukulele unicorn united unilateral red ewe".split()
)
def test_a_goes_before_a_consonant_sound(word):
    assert article(word) == "a"


AN = """old hour honest honorable heir unusual uninteresting unimportant umbrella umpire 8-year-old 18-wheeler
    X-ray""".split()


@pytest.mark.parametrize("word", AN)
def test_an_goes_before_a_vowel_sound(word):
    assert article(word) == "an"
