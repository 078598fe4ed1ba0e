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


def _list_pairs(lists, *relations):
    """Return the pairs of words of all lists, or of those with the given relations."""
    return {(old, new) for g in lists if not relations or g.relation in relations for old in g.old for new in g.new}


def test_categories_include_those_of_paper():
    assert set(CATEGORIES) >= {
        *("cardinals", "ordinals", "colors", "countries", "nationalities", "materials", "rooms", "instruments"),
        *("planets", "vegetables", "drinks", "antonyms", "synonyms"),
    }


def test_lists_contain_distinct_whole_tokens():
    for group in (*WORD_LISTS, *NEUTRAL_LISTS):
        assert len({*group.old, *group.new}) > 1
        assert group.relation in LABEL_BY_RELATION
        for side in (group.old, group.new):
            assert len(set(side)) == len(side) > 0, group.category
            for phrase in side:
                assert phrase == " ".join(word.text for word in tokenize_words(phrase))


def test_no_word_pair_has_two_labels():
    labels = defaultdict(set)
    for group in (*WORD_LISTS, *NEUTRAL_LISTS):
        for old, new in _list_pairs([group]):
            if old != new:
                labels[old, new].add(LABEL_BY_RELATION[group.relation])
    assert len(labels) > 1000
    assert [pair for pair, found in labels.items() if len(found) > 1] == []


def test_antonyms_and_synonyms_are_symmetric():
    for group in WORD_LISTS:
        if group.relation in (WordNetRelation.ANTONYM, WordNetRelation.SYNONYM) and set(group.old) == set(group.new):
            assert group.old == group.new


def test_irregular_plurals_are_in_lists():
    new = {word for _, word in _list_pairs(WORD_LISTS)}
    assert {"people", "children", "tomatoes", "strawberries", "buses"} <= new
    assert not {"persons", "childs", "tomatos", "womans", "mans"} & new


def test_fixed_phrases_are_lowercase_with_two_to_four_words():
    assert all(phrase == phrase.lower() and 2 <= len(phrase.split()) <= 4 for phrase in FIXED_PHRASES)


def test_neutral_lists_are_reversed_hypernyms():
    below = {(new, old) for old, new in _list_pairs(NEUTRAL_LISTS)}
    assert below <= _list_pairs(WORD_LISTS, WordNetRelation.HYPONYM)
    assert ("dog", "animal") in below
    assert not any(old in ("building", "talking") for _, old in below)  # these are also verbs
    assert {LABEL_BY_RELATION[g.relation] for g in NEUTRAL_LISTS} == {"neutral"}


def test_text_lists_replace_unambiguous_words_by_antonyms_synonyms_and_singular_hypernyms():
    assert {g.category for g in TEXT_LISTS} == {"antonyms", "synonyms", "hypernyms"}
    for group in TEXT_LISTS:
        assert _list_pairs([group]) <= _list_pairs(WORD_LISTS, group.relation)
    pairs = _list_pairs(TEXT_LISTS)
    assert {("always", "never"), ("film", "movie"), ("dog", "animal"), ("large", "small")} <= pairs
    assert pairs.isdisjoint({("small", "large"), ("old", "young"), ("dogs", "animals"), ("school", "building")})


def test_words_with_preposition_are_in_place_lists():
    listed = {word for g in WORD_LISTS if g.category in ("rooms", "vehicles") for word in g.new}
    assert {word.replace("_", " ") for word in PREPOSITION_BY_NOUN} <= listed
    assert set(PREPOSITION_BY_NOUN.values()) == {"in", "on"}


@pytest.mark.parametrize(
    ("word", "relation", "new"),
    [
        ("jackets", WordNetRelation.HYPONYM, "coats"),  # with the same number
        ("attempted", WordNetRelation.SYNONYM, "tried"),  # with the same tense
    ],
)
def test_most_frequent_sense_gives_inflected_candidates(wordnet, word, relation, new):
    candidates = WordNetCandidates(wordnet).get_candidates(word)
    assert (relation, new) in {(candidate.relation, candidate.new) for candidate in candidates}
    assert all(candidate.category.endswith("_wordnet") for candidate in candidates)


@pytest.mark.parametrize("word", ["run", "another", "there", "xyzzyx"])
def test_ambiguous_word_has_no_candidates(wordnet, word):
    assert not WordNetCandidates(wordnet).get_candidates(word)
