from collections import Counter

import pytest

from tools.demo_corpus.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    INDEPENDENT,
    NOUN,
    NOUNS,
    PLACE,
    PLACES,
    TIME,
    TIMES,
    VERB,
    VERBS,
    get_implied_adjectives,
)
from tools.demo_corpus.taxonomy import Taxonomy


@pytest.mark.parametrize(
    "words",
    [
        [singular for noun in NOUN.values() for singular, _ in noun.words],
        [plural for noun in NOUN.values() for _, plural in noun.words if not noun.mass],
        [word for adjective in ADJECTIVE.values() for word in adjective.words],
        [word for phrase in (*PLACE.values(), *TIME.values()) for word in phrase.words],
        [word for verb in VERB.values() if verb.patients for word, _ in verb.words],
        [word for verb in VERB.values() if not verb.patients for word, _ in verb.words],
    ],
)
def test_words_belong_to_one_concept_per_kind(words: list[str]):
    assert words
    assert [word for word, times in Counter(words).items() if times > 1] == []


@pytest.mark.parametrize(
    ("taxonomy", "names"), [(NOUNS, NOUN), (ADJECTIVES, ADJECTIVE), (PLACES, PLACE), (TIMES, TIME), (VERBS, VERB)]
)
def test_related_concepts_do_not_exclude_each_other(taxonomy: Taxonomy, names: dict[str, object]):
    assert names
    for one in names:
        for other in names:
            assert not (taxonomy.are_related(one, other) and taxonomy.excludes(one, other)), (one, other)
            assert taxonomy.excludes(one, other) == taxonomy.excludes(other, one)


def test_names_used_by_entries_exist():
    for noun in NOUN.values():
        assert set(noun.adjectives) | set(noun.implies) <= set(ADJECTIVE), noun
    for verb in VERB.values():
        assert set(verb.agents) | set(verb.patients) <= set(NOUN), verb
        assert set(verb.where) <= set(PLACE), verb


def test_adjectives_do_not_contradict_their_nouns():
    for noun in NOUN.values():
        for trait in get_implied_adjectives(noun.concept):
            assert not any(ADJECTIVES.excludes(trait, adjective) for adjective in noun.adjectives), noun


def test_independent_verbs_are_unrelated():
    assert INDEPENDENT
    for one, other in map(sorted, INDEPENDENT):
        assert not VERBS.excludes(one, other), (one, other)
        assert not VERBS.are_related(one, other), (one, other)
