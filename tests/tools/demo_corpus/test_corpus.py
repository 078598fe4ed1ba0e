"""Tests of the corpus of the demonstration: words, labels and shipped files.

The shipped files contain every form of sentence, and equal the output of the tool byte for byte.
"""

import gzip
import re
from collections import Counter
from itertools import product

import pytest

from tools.demo_corpus.__main__ import iter_files
from tools.demo_corpus.corpus import SPLITS, DemoPair, generate_pairs, generate_scene_pairs
from tools.demo_corpus.lexicon import (
    ADJECTIVE,
    ADJECTIVES,
    INDEPENDENT,
    NOUN,
    PLACE,
    TIME,
    VERB,
    VERBS,
    Taxonomy,
    get_implied_adjectives,
)
from tools.demo_corpus.scenes import is_sound
from tools.demo_corpus.semantics import are_captions_clear, label_captions
from unbag.data import demo, labels

pytestmark = pytest.mark.nightly  # the shipped corpus changes only if somebody generates it again


def test_words_belong_to_one_concept_and_exist():
    kinds = [
        [singular for noun in NOUN.values() for singular, _ in noun.words],
        [plural for noun in NOUN.values() for _, plural in noun.words if not noun.mass],
        [word for adjective in ADJECTIVE.values() for word in adjective.words],
        [word for phrase in (*PLACE.values(), *TIME.values()) for word in phrase.words],
        [word for verb in VERB.values() if verb.patients for word, _ in verb.words],
        [word for verb in VERB.values() if not verb.patients for word, _ in verb.words],
    ]
    for words in kinds:
        assert words
        assert [word for word, times in Counter(words).items() if times > 1] == []
    for noun in NOUN.values():
        assert set(noun.adjectives) | set(noun.implies) <= set(ADJECTIVE), noun
        for trait in get_implied_adjectives(noun.concept):
            assert not any(ADJECTIVES.excludes(trait, adjective) for adjective in noun.adjectives), noun
    for verb in VERB.values():
        assert set(verb.agents) | set(verb.patients) <= set(NOUN), verb
        assert set(verb.where) <= set(PLACE), verb
    assert INDEPENDENT
    for one, other in map(sorted, INDEPENDENT):
        assert not VERBS.excludes(one, other), (one, other)
        assert not VERBS.are_related(one, other), (one, other)


@pytest.mark.parametrize(
    ("parents", "groups", "message"),
    [
        ({"lion": (), "goat": (), "chimera": ("lion", "goat")}, [("lion", "goat")], "expected disjoint concepts, got"),
        ({"dog": ("animal",)}, [], "expected an entry for 'animal', the parent of 'dog', got none"),
        ({"dog": ()}, [("dog", "cat")], "expected concepts with an entry, got ['cat']"),
        ({"a": ("b",), "b": ("a",)}, [], "expected no cycle, got a < b < a"),
    ],
)
def test_invalid_taxonomy_is_rejected(parents, groups, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Taxonomy(parents, groups)


@pytest.fixture(scope="module")
def corpus():
    """Load the shipped splits, and generate the third split."""
    shipped = {
        split: [DemoPair(pair.source_id, pair.premise, pair.hypothesis, pair.label) for pair in pairs]
        for split in demo.SPLITS
        for pairs in [demo.iter_demo_pairs(split)]
    }
    return {split: shipped.get(split) or list(generate_pairs(split)) for split in SPLITS}


def test_pairs_are_unique_and_labels_balanced(corpus):
    assert {split: len(pairs) for split, pairs in corpus.items()} == {"train": 6000, "validation": 2400, "test": 1500}
    assert corpus["validation"][123].id == "demo-validation-000123"
    assert len({pair.id for pairs in corpus.values() for pair in pairs}) == sum(SPLITS.values())
    for pairs in corpus.values():
        assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs)
        assert all(pair.premise != pair.hypothesis for pair in pairs)
        assert Counter(pair.label for pair in pairs) == dict.fromkeys(labels.LABELS, len(pairs) // 3)
    other = list(generate_pairs("train", 1_500, seed=1))
    train, validation, test = ({pair.premise for pair in corpus[split]} for split in SPLITS)
    assert not train & (validation | test)
    assert not (validation | {pair.premise for pair in other}) & test
    assert len(train) > 0.98 * len(corpus["train"])


def test_position_and_length_do_not_reveal_label(corpus):
    def count_words(sentence):
        return len(re.findall(r"\w+", sentence))

    for place in range(3):
        shares = Counter(pair.label for pair in corpus["train"][place::3])
        assert all(0.28 < count / 2_000 < 0.39 for count in shares.values()), shares
    mean = {
        name: sum(count_words(p.hypothesis) for p in corpus["train"] if p.label == name) / 2_000
        for name in labels.LABELS
    }
    assert max(mean.values()) - min(mean.values()) < 2.5, mean
    long = [p for p in corpus["validation"] if min(count_words(p.premise), count_words(p.hypothesis)) >= 8]
    assert len(long) / 2_400 >= 0.6, "most pairs are long enough for permutation"


def test_same_words_occur_with_every_label(corpus):
    grammar = set("a an the is are being by who there with and in wearing".split())

    def bag(sentence):
        return frozenset(re.findall(r"\w+", sentence.lower())) - grammar

    same = Counter(pair.label for pair in corpus["train"] if bag(pair.premise) == bag(pair.hypothesis))
    assert min(same[name] for name in labels.LABELS) >= 15, same


def test_label_equals_label_of_meanings_also_with_negation():
    seen = set()
    for meant in generate_scene_pairs("test", 900, seed=4):
        assert all(is_sound(each.scene) for each in (*meant.premise, meant.hypothesis))
        evidence = meant.premise[meant.evidence]
        assert are_captions_clear(evidence, meant.hypothesis)
        assert label_captions(evidence, meant.hypothesis) == meant.pair.label
        seen.add((meant.pair.label, evidence.is_negated, meant.hypothesis.is_negated))
    # So a negation does not reveal the label.
    assert {("entailment", True, True), ("contradiction", True, False), ("contradiction", False, True)} <= seen
    assert {("neutral", *negated) for negated in product((False, True), repeat=2)} <= seen


def test_shipped_files_equal_tool_output():
    made = dict(iter_files())
    assert set(made) == {*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS}
    for path, text in made.items():
        assert gzip.decompress(path.read_bytes()).decode() == text, f"{path.name}: run `python -m tools.demo_corpus`"
