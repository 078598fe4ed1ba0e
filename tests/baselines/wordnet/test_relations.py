import pytest

from tests.baselines.wordnet.tiny_lexicon import TinyLexicon
from unbag.baselines.wordnet.relations import (
    WordNetRelation,
    are_antonyms,
    are_co_hyponyms,
    are_synonyms,
    compute_hyponym_distance,
    find_wordnet_relation,
)

LEXICON = TinyLexicon()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("dog", "hound", WordNetRelation.SYNONYM),
        ("dog", "rogue", WordNetRelation.SYNONYM),  # for one of the senses
        ("dog", "dogs", WordNetRelation.SYNONYM),
        ("poodle", "dog", WordNetRelation.HYPONYM),
        ("poodles", "animals", WordNetRelation.HYPONYM),
        ("animal", "cat", WordNetRelation.HYPERNYM),
        ("hot", "cold", WordNetRelation.ANTONYM),
        ("dog", "cat", WordNetRelation.CO_HYPONYM),
        ("dog", "rose", None),  # the only common hypernym is `thing`
        ("dog", "unheard-of", None),
    ],
)
def test_each_relation_is_found(first, second, expected):
    assert find_wordnet_relation(LEXICON, first, second, max_edges=2) is expected


def test_distance_is_shortest_hypernym_path():
    # dog - pet - animal, shorter than dog - canine - carnivore - animal
    assert compute_hyponym_distance(LEXICON, "dog", "animal") == 2
    assert compute_hyponym_distance(LEXICON, "poodle", "animal") == 3
    assert compute_hyponym_distance(LEXICON, "hound", "dog") == 0
    assert compute_hyponym_distance(LEXICON, "animal", "dog") is None


def test_edges_limit_distance_of_common_hypernym():
    # poodle - dog - canine - carnivore: 3 edges, cat - feline - carnivore: 2
    assert [are_co_hyponyms(LEXICON, "poodle", "cat", edges) for edges in (1, 2, 3)] == [False, False, True]


def test_find_relation_is_symmetric():
    pairs = [(a, b) for a in ("dog", "cat", "poodle", "hot", "cold", "rose") for b in ("dog", "animal", "cold", "hot")]
    for a, b in pairs:
        assert are_synonyms(LEXICON, a, b) == are_synonyms(LEXICON, b, a)
        assert are_antonyms(LEXICON, a, b) == are_antonyms(LEXICON, b, a)
        assert are_co_hyponyms(LEXICON, a, b) == are_co_hyponyms(LEXICON, b, a)
    mirrored = {WordNetRelation.HYPONYM: WordNetRelation.HYPERNYM, WordNetRelation.HYPERNYM: WordNetRelation.HYPONYM}
    for a, b in pairs:
        found = find_wordnet_relation(LEXICON, a, b)
        assert find_wordnet_relation(LEXICON, b, a) == mirrored.get(found, found)
