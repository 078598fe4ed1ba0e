from collections import defaultdict

import pytest

from unbag.baselines.wordnet.relations import WordNetRelation
from unbag.challenge_sets.perturbations.word_lists import (
    CATEGORIES,
    FIXED_PHRASES,
    LABEL_BY_RELATION,
    NEUTRAL_LISTS,
    PREPOSITION_BY_NOUN,
    TEXT_LISTS,
    WORD_LISTS,
)
from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates
from unbag.data.text.tokens import tokenize_words

OFFICIAL = {
    *("cardinals", "ordinals", "colors", "countries", "nationalities", "materials", "rooms", "instruments", "planets"),
    *("vegetables", "drinks", "antonyms", "synonyms"),
}


def test_categories_include_those_of_paper():
    assert set(CATEGORIES) >= OFFICIAL


@pytest.mark.parametrize("group", [*WORD_LISTS, *NEUTRAL_LISTS], ids=lambda group: f"{group.category}-{group.new[0]}")
def test_lists_contain_distinct_whole_tokens(group):
    for side in (group.old, group.new):
        assert side
        assert len(set(side)) == len(side)
        for phrase in side:
            assert phrase == " ".join(word.text for word in tokenize_words(phrase))
    assert len({*group.old, *group.new}) > 1
    assert group.relation in LABEL_BY_RELATION


def test_no_word_pair_has_two_labels():
    labels = defaultdict(set)
    for group in (*WORD_LISTS, *NEUTRAL_LISTS):
        for old in group.old:
            for new in set(group.new) - {old}:
                labels[old, new].add(LABEL_BY_RELATION[group.relation])
    assert len(labels) > 1000
    assert [pair for pair, found in labels.items() if len(found) > 1] == []


def test_antonyms_and_synonyms_are_symmetric():
    for group in WORD_LISTS:
        if group.relation in (WordNetRelation.ANTONYM, WordNetRelation.SYNONYM) and set(group.old) == set(group.new):
            assert group.old == group.new


def test_co_hyponyms_are_not_hypernyms():
    above = {(o, n) for g in WORD_LISTS if g.relation is WordNetRelation.HYPONYM for o in g.old for n in g.new}
    exclusive = {(o, n) for g in WORD_LISTS if g.relation is WordNetRelation.CO_HYPONYM for o in g.old for n in g.new}
    assert not above & exclusive


def test_irregular_plurals_are_in_lists():
    new = {word for group in WORD_LISTS for word in group.new}
    assert {"people", "children", "tomatoes", "strawberries", "buses"} <= new
    assert not {"persons", "childs", "tomatos", "womans", "mans"} & new


def test_fixed_phrases_are_lowercase_with_two_to_four_words():
    assert all(phrase == phrase.lower() and 2 <= len(phrase.split()) <= 4 for phrase in FIXED_PHRASES)


def test_neutral_lists_are_reversed_hypernyms():
    above = {(o, n) for g in WORD_LISTS if g.relation is WordNetRelation.HYPONYM for o in g.old for n in g.new}
    below = {(n, o) for g in NEUTRAL_LISTS for o in g.old for n in g.new}
    assert below
    assert below <= above
    assert ("dog", "animal") in below
    assert not any(old in ("building", "talking") for _, old in below)  # these are also verbs
    assert {LABEL_BY_RELATION[g.relation] for g in NEUTRAL_LISTS} == {"neutral"}


def test_text_lists_replace_unambiguous_words_by_antonyms_synonyms_and_singular_hypernyms():
    every, of_text = (
        {(o, n, g.relation) for g in lists for o in g.old for n in g.new} for lists in (WORD_LISTS, TEXT_LISTS)
    )
    assert of_text < every
    assert {g.category for g in TEXT_LISTS} == {"antonyms", "synonyms", "hypernyms"}
    pairs = {(old, new) for old, new, _ in of_text}
    assert {("always", "never"), ("film", "movie"), ("dog", "animal"), ("large", "small")} <= pairs
    assert pairs.isdisjoint({("small", "large"), ("old", "young"), ("dogs", "animals"), ("school", "building")})


def test_words_with_preposition_are_in_place_lists():
    listed = {word for g in WORD_LISTS if g.category in ("rooms", "vehicles") for word in g.new}
    assert {word.replace("_", " ") for word in PREPOSITION_BY_NOUN} <= listed
    assert set(PREPOSITION_BY_NOUN.values()) == {"in", "on"}


@pytest.fixture(scope="module")
def candidates(wordnet):
    return WordNetCandidates(wordnet)


@pytest.mark.parametrize(
    ("word", "relation", "new"),
    [
        ("jackets", WordNetRelation.HYPONYM, "coats"),  # with the same number
        ("attempted", WordNetRelation.SYNONYM, "tried"),  # with the same tense
        ("baskets", WordNetRelation.HYPONYM, "containers"),
    ],
)
def test_most_frequent_sense_gives_inflected_candidates(candidates, word, relation, new):
    assert (relation, new) in {(candidate.relation, candidate.new) for candidate in candidates.get_candidates(word)}


@pytest.mark.parametrize("word", ["run", "another", "there", "xyzzyx", "the"])
def test_ambiguous_word_has_no_candidates(candidates, word):
    assert not candidates.get_candidates(word)


def test_categories_end_with_wordnet(candidates):
    found = {
        candidate.category for word in ("jackets", "attempted", "sit") for candidate in candidates.get_candidates(word)
    }
    assert found
    assert all(category.endswith("_wordnet") for category in found)
