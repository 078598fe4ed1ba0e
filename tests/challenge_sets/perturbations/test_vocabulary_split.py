from collections import Counter

import numpy as np
import pytest

from unbag.challenge_sets.perturbations.augmentation import (
    OFFICIAL,
    GeneratedPair,
    PairGenerator,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.negation import TEMPLATES
from unbag.challenge_sets.perturbations.vocabulary_split import (
    HASHES,
    HELD_OUT,
    TRAINING,
    are_in_vocabulary_half,
    get_vocabulary_half,
    hash_sentences,
    is_official_sentence,
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
    nouns = {noun for each in WORD_LISTS if each.category in ("animals", "vehicles", "fruits") for noun in each.old}
    with_plural = [noun for noun in nouns if pluralize_noun(noun) in nouns]
    assert len(with_plural) > 20
    assert all(get_vocabulary_half(noun) == get_vocabulary_half(pluralize_noun(noun)) for noun in with_plural)


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
    halves = [half for half in ("all", TRAINING, HELD_OUT) if are_in_vocabulary_half(half, ["dog", "woman"])]
    assert halves == ["all"]


@pytest.mark.nightly
def test_hashes_match_official_files(shared):
    from tools.official_sentences import iter_sentences

    files = ("breaking_nli/breaking_nli_dataset.zip", "sicck/SICCK-Ground-Truth-apr24.csv")
    official = sorted(set(iter_sentences([str(shared / "data" / file) for file in files])))
    assert np.array_equal(hash_sentences(official), np.fromfile(HASHES, dtype="<u4"))
    assert all(map(is_official_sentence, official))
    assert is_official_sentence(official[0].upper().rstrip(".") + " !")


def test_other_sentences_are_not_official(real_premises):
    assert not any(map(is_official_sentence, real_premises))


def test_pairs_contain_no_official_sentence(monkeypatch):
    def generate(order, seed):
        for i in order:
            yield [GeneratedPair(f"A dog number {i}.", "A dog.", "entailment")]

    monkeypatch.setattr(
        "unbag.challenge_sets.perturbations.augmentation.is_official_sentence", lambda text: text == "A dog number 1."
    )
    counts = Counter()
    made = sample_generated_pairs(PairGenerator("three", range(3), generate), epoch=0, n_pairs=4, counts=counts)
    assert {pair.premise for pair in made} == {"A dog number 0.", "A dog number 2."}
    assert counts[OFFICIAL] in (1, 2)
