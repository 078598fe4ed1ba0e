import pytest

from unbag.baselines.natlog.determiners import ANY, EVERY, FEW, NO, Determiner, DeterminerKind, replace_determiners


@pytest.mark.parametrize(
    ("sentence", "text", "determiner"),
    [
        ("At least three students read.", "Some students read.", Determiner(DeterminerKind.SOME, 3)),
        ("More than five of the boys left.", "Some boys left.", Determiner(DeterminerKind.SOME, 6)),
        ("At most 12 boys left.", "Some boys left.", Determiner(DeterminerKind.AT_MOST, 12)),
        ("Fewer than ten boys left.", "Some boys left.", Determiner(DeterminerKind.AT_MOST, 9)),
        ("Exactly two dogs bark.", "Some dogs bark.", Determiner(DeterminerKind.EXACTLY, 2)),
        ("All but one man sat.", "Some man sat.", Determiner(DeterminerKind.ALL_BUT, 1)),
        ("Most of the people slept.", "Some people slept.", Determiner(DeterminerKind.MOST)),
        ("Not every man sat.", "Some man sat.", Determiner(DeterminerKind.NOT_EVERY)),
        ("Every one of the two dogs sat.", "Some dogs sat.", EVERY),
        ("None of the men left.", "No men left.", NO),
        ("Nobody left.", "No person left.", NO),
        ("He saw anything.", "He saw some thing.", ANY),
        ("Few of the delegates ran.", "Some delegates ran.", FEW),
        ("He sings every morning.", "He sings some morning.", EVERY),
        ("He sings most nights.", "He sings some nights.", Determiner(DeterminerKind.MOST)),
        ("At no time did he sing.", "At no time did he sing.", NO),
        ("He likes all dogs.", "He likes some dogs.", EVERY),
        ("Nobody's dog barked.", "No person's dog barked.", NO),
        ("Thirty percent of the boys left.", "Some boys left.", Determiner(DeterminerKind.SHARE, 30)),
        ("At least two thirds of the boys left.", "Some boys left.", Determiner(DeterminerKind.SHARE, 66)),
        ("He sings every other day.", "He sings some day.", Determiner(DeterminerKind.OTHER, words="every other")),
        ("Almost every boy left.", "Some boy left.", Determiner(DeterminerKind.OTHER, words="almost every")),
        ("Three out of ten boys left.", "Some boys left.", Determiner(DeterminerKind.OTHER, words="three out of ten")),
    ],
)
def test_replace_determiners_merges_several_words(sentence, text, determiner):
    found = replace_determiners(sentence)
    assert found.text == text
    assert [each for each, _ in found.determiners.values()] == [determiner]
    [place] = found.determiners
    assert text[place:].lower().startswith(("some", "no"))


@pytest.mark.parametrize(
    "sentence",
    [
        "It was the most beautiful town.",
        "He did not like it at all.",
        "She slept all day.",
        "He jumped over a fence.",
        "The boys all sang.",
        "He no longer sings.",
        "They hugged each other.",
    ],
)
def test_replace_determiners_keeps_other_uses(sentence):
    assert replace_determiners(sentence) == (sentence, {})
