from unbag.baselines.lexical.words import PENN, UNIVERSAL, select_content_words


def test_content_words_are_selected_once():
    tagged = (("The", "DT"), ("Dogs", "NNS"), ("dogs", "NNS"), ("in", "IN"), ("Rome", "NNP"), ("quickly", "RB"))
    assert select_content_words(tagged) == ("dogs", "quickly", "rome")


def test_not_there_and_auxiliaries_are_content_words():
    """In Figure 2 of Nie et al. 2019, *not* and *there* are features; *will* and *that* have other tags."""
    tagged = (("There", "EX"), ("are", "VBP"), ("n't", "RB"), ("will", "MD"), ("that", "WDT"), ("when", "WRB"))
    assert select_content_words(tagged) == ("are", "n't", "there")


def test_other_languages_use_universal_tags():
    assert select_content_words((("A", "NN"), ("b", "NOUN"), ("c", "PART")), UNIVERSAL) == ("b",)
    assert not PENN & UNIVERSAL
