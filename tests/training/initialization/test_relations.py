"""Tests of the relation features of KIM (Chen et al. 2018, section 3.1), with a small lexicon."""

import numpy as np
import pytest

from tests.baselines.wordnet.tiny_lexicon import TinyLexicon
from unbag.training.initialization import ANTONYM, CO_HYPONYM, HYPERNYM, HYPONYM, SYNONYM, compute_word_relations

WORDS = ["poodle", "dogs", "hound", "animal", "cat", "hot", "cold", "rose", "unheard", "kitchen"]


@pytest.fixture(scope="module")
def relation():
    pairs, features = compute_word_relations(WORDS, TinyLexicon())
    assert np.array_equal(pairs, pairs[np.lexsort(pairs.T[::-1])]), "in ascending order"
    known = {(WORDS[w], WORDS[v]): row for (w, v), row in zip(pairs.tolist(), features, strict=True)}
    return lambda w, v: known.get((w, v), np.zeros(5)).tolist()


def features(**named):
    numbers = {"synonym": SYNONYM, "antonym": ANTONYM, "hypernym": HYPERNYM, "hyponym": HYPONYM, "co": CO_HYPONYM}
    row = [0.0] * 5
    for name, value in named.items():
        row[numbers[name]] = value
    return row


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("dogs", "hound", features(synonym=1)),
        ("poodle", "dogs", features(hypernym=7 / 8)),
        ("dogs", "poodle", features(hyponym=7 / 8)),
        ("poodle", "animal", features(hypernym=5 / 8)),  # dog, pet, animal: the shortest path
        ("hot", "cold", features(synonym=0, antonym=1)),
        ("rose", "cat", features()),
        ("unheard", "unheard", features()),
        ("cat", "dogs", features()),  # feline and canine differ
    ],
)
def test_features_equal_hand_computed_values(relation, first, second, expected):
    assert relation(first, second) == expected


def test_words_with_same_hypernym_are_co_hyponyms():
    pairs, rows = compute_word_relations(["kitchen", "living room"], TinyLexicon())
    assert dict(zip(map(tuple, pairs.tolist()), rows.tolist(), strict=True)) == {
        (0, 0): features(synonym=1),
        (0, 1): features(co=1),
        (1, 0): features(co=1),
        (1, 1): features(synonym=1),
    }


def test_features_equal_examples_of_paper(wordnet):
    """Chen et al. 2018, section 3.1: [dog, wolf] 0 and 1, [dog, canid] 0.875, [dog, carnivore] 0.75, [wet, dry] 1."""
    words = ["dog", "wolf", "canid", "carnivore", "wet", "dry"]
    pairs, rows = compute_word_relations(words, wordnet)
    known = {(words[w], words[v]): row for (w, v), row in zip(pairs.tolist(), rows, strict=True)}
    assert known["dog", "wolf"][[SYNONYM, CO_HYPONYM]].tolist() == [0, 1]
    assert (
        known["dog", "canid"][HYPERNYM] == known["wolf", "canid"][HYPERNYM] == known["canid", "dog"][HYPONYM] == 0.875
    )
    assert known["canid", "dog"][HYPERNYM] == known["dog", "canid"][HYPONYM] == 0
    assert known["dog", "carnivore"][HYPERNYM] == 0.75
    assert known["wet", "dry"][ANTONYM] == 1
