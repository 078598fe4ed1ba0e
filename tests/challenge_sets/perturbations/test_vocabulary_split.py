import pytest

from unbag.challenge_sets.perturbations import vocabulary_split
from unbag.challenge_sets.perturbations.negation import TEMPLATES
from unbag.challenge_sets.perturbations.vocabulary_split import (
    HELD_OUT,
    TRAINING,
    are_in_vocabulary_half,
    get_vocabulary_half,
    stem_phrase,
)
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, WORD_LISTS
from unbag.data.text.grammar import pluralize_noun


def test_vocabulary_half_is_stable():
    """The halves must not change, because a model may be tested years later and on another machine."""
    some = "dog woman man person red blue hold ride wear".split()
    assert [word for word in some if get_vocabulary_half(word) == TRAINING] == ["dog", "man", "red", "ride"]
    assert {get_vocabulary_half("it is not true that"), get_vocabulary_half("no")} == {TRAINING}
    assert {get_vocabulary_half("not"), get_vocabulary_half("n't")} == {HELD_OUT}


@pytest.mark.parametrize(
    "forms",
    [
        *("cry cries crying cried", "lie lies lying", "ride rides riding", "hug hugs hugging", "go goes going"),
        *("dress dresses", "policewoman policewomen", "child children", "Dog dogs"),
    ],
)
def test_inflected_forms_have_same_stem(forms):
    assert len({stem_phrase(form) for form in forms.split()}) == 1


def test_noun_and_plural_are_in_same_half():
    some = ("animals", "vehicles", "fruits", "rooms")
    nouns = [old for each in WORD_LISTS if each.category in some for old in each.old]
    assert len(nouns) > 80
    assert all(
        get_vocabulary_half(noun) == get_vocabulary_half(pluralize_noun(noun))
        for noun in nouns
        if pluralize_noun(noun) in nouns
    )


def test_both_halves_have_all_word_classes():
    for chosen in (TRAINING, HELD_OUT):
        assert any(are_in_vocabulary_half(chosen, [template]) for template in TEMPLATES)
        pairs = [
            (each.relation, old, new)
            for each in (*WORD_LISTS, *NEUTRAL_LISTS)
            for old in each.old
            for new in each.new
            if old != new and are_in_vocabulary_half(chosen, (old, new))
        ]
        assert len({relation for relation, _, _ in pairs}) == 5
        assert len(pairs) > 150


def test_are_in_half_mixed_pair_is_in_neither():
    assert not are_in_vocabulary_half(TRAINING, ["dog", "woman"])
    assert not are_in_vocabulary_half(HELD_OUT, ["dog", "woman"])
    assert are_in_vocabulary_half("all", ["dog", "woman"])


def test_validate_words_unknown_value_raises():
    with pytest.raises(ValueError, match="words: expected one of all, training, held_out, got 'test'"):
        vocabulary_split.validate_vocabulary_option("test")
