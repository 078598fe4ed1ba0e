"""Tests of added pairs in groups: negation mirrors and contrast sets."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from unbag.challenge_sets.perturbations.addamod import AdjectiveCounts, modify_noun
from unbag.challenge_sets.perturbations.augmentation import parse_pair_group, parse_pair_kind, sample_generated_pairs
from unbag.challenge_sets.perturbations.contrast_sets import (
    NO_EXCLUSIVE,
    OTHER_ARTICLE,
    build_contrast_set,
    create_contrast_generator,
)
from unbag.challenge_sets.perturbations.corpus_counts import count_words_and_bigrams
from unbag.challenge_sets.perturbations.negation import create_mirror_generator
from unbag.challenge_sets.perturbations.negation_operations import build_negation_pairs
from unbag.challenge_sets.perturbations.substitution import Substituter
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.sources import Example

CORPUS = (
    "A man in a white hat chases a white dog.",
    "A white man in a black hat chases a black dog.",
    "A black man sees a white hat and a black dog.",
    "A white dog and a black dog chase a white man and a black man in a white hat and in a black hat.",
)
"""Sentences with both colors before each noun, often enough for AddAmod."""


def count_words(text):
    return Counter(re.findall(r"[\w'-]+|[.,]", text.lower()))


@pytest.fixture(scope="module")
def small_corpus(parser):
    """Return the adjective counts and the substituter of a small corpus."""
    examples = [Example(str(i), text, text, "neutral") for i, text in enumerate(CORPUS)]
    return AdjectiveCounts(list(parser.parse(CORPUS)) * 2), Substituter(count_words_and_bigrams(examples), q=100)


def group_pairs(pairs):
    groups = {}
    for pair in pairs:
        groups.setdefault(parse_pair_group(pair.source_id), []).append(pair)
    return groups


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "A man in a hat is near a dog.",
            [
                ("A man in a white hat is near a dog.", "A man in a white hat is near a dog.", ENTAILMENT),
                ("A man in a hat is near a white dog.", "A man in a white hat is near a dog.", NEUTRAL),
                ("A man in a white hat is near a dog.", "A man in a black hat is near a dog.", CONTRADICTION),
                ("A man in a hat is near a white dog.", "A man in a black hat is near a dog.", NEUTRAL),
            ],
        ),
        (
            "A man chases a dog.",  # subject and object are exchanged
            [
                ("A man chases a white dog.", "A man chases a white dog.", ENTAILMENT),
                ("A white dog chases a man.", "A man chases a white dog.", CONTRADICTION),
                ("A man chases a white dog.", "A man chases a black dog.", CONTRADICTION),
                ("A white man chases a dog.", "A man chases a black dog.", NEUTRAL),
            ],
        ),
    ],
)
def test_contrast_set_equals_manual_example(parse, small_corpus, sentence, expected):
    adjectives, substituter = small_corpus
    assert expected in [
        build_contrast_set(parse(sentence), adjectives, replace(substituter, seed=seed)) for seed in range(30)
    ]


def test_contrast_set_without_exclusive_adjective_has_reason(parser, parse, small_corpus):
    adjectives, substituter = small_corpus
    without_lists = Substituter(substituter.counts, lists=(), q=100)
    assert build_contrast_set(parse("A man in a hat is near a dog."), adjectives, without_lists) == NO_EXCLUSIVE
    old = AdjectiveCounts(list(parser.parse(["An old man sees an old dog and an old hat."])) * 2)
    parsed = parse("A man in a hat is near the dog.")
    made = {build_contrast_set(parsed, old, replace(substituter, seed=seed)) for seed in range(20)}
    assert made == {OTHER_ARTICLE, NO_EXCLUSIVE}, "beside the dog, and for man and hat"
    few = "fewer than two nouns that take an adjective"
    assert build_contrast_set(parse("A man sleeps."), *small_corpus) == few


@pytest.mark.parametrize(
    ("noun", "adjective", "expected"),
    [
        ("man", "old", "An old man rides a big horse."),
        ("horse", "old", "A man rides a big old horse."),
        ("horse", "small", None),  # the same class as "big"
        ("park", "old", None),  # not in the sentence
    ],
)
def test_modify_noun_inserts_suitable_adjective(parse, noun, adjective, expected):
    modified = modify_noun(parse("A man rides a big horse."), noun, adjective)
    assert (modified and str(modified)) == expected


def test_bag_of_words_does_not_solve_contrast_sets(parser, real_premises, real_adjectives):
    substituter = Substituter(count_words_and_bigrams(Example("", text, "", "neutral") for text in real_premises))
    generator = create_contrast_generator(real_premises, parser, adjectives=real_adjectives, substituter=substituter)
    pairs = list(sample_generated_pairs(generator, epoch=0, n_pairs=203))
    groups = group_pairs(pairs)
    assert len(pairs) == 200, "whole groups"
    assert set(map(len, groups.values())) == {4}
    for group in groups.values():
        labels = {}
        for pair in group:
            bag = frozenset(count_words(pair.premise).items())
            labels.setdefault((bag, pair.hypothesis), set()).add(pair.label)
        assert len(labels) == 2
        assert all(len(each) == 2 for each in labels.values()), "equal words, two labels"
        assert [pair.label for pair in group][::2] == [ENTAILMENT, CONTRADICTION]
        assert group[3].label == NEUTRAL
    assert {parse_pair_kind(pair.source_id) for pair in pairs} == {"contrast"}


@pytest.mark.parametrize(
    ("words", "premise", "colors"),
    [(TRAINING, "A hat is near a car.", {"black", "white"}), (HELD_OUT, "A bike is near a van.", {"blue", "green"})],
)
def test_contrast_sets_use_only_words_of_their_half(parser, words, premise, colors):
    phrases = [f"a {color} {noun}" for color in _COLORS for noun in ("hat", "car", "bike", "van")]
    corpus = [f"{phrase.capitalize()} is near a thing." for phrase in phrases]
    adjectives = AdjectiveCounts(list(parser.parse(corpus)) * 2)
    corpus += [f"Something is near {phrase}." for phrase in phrases]
    counts = count_words_and_bigrams([Example("0", text, "", "neutral") for text in corpus])
    premises = ["A hat is near a car.", "A bike is near a van.", "A hat is near a bike."]
    made = create_contrast_generator(
        premises, parser, adjectives=adjectives, substituter=Substituter(counts, words=words)
    )
    pairs = list(sample_generated_pairs(made, epoch=0, n_pairs=80))
    allowed = {*count_words(premise), *colors}
    assert {word for pair in pairs for word in count_words(pair.premise)} <= allowed
    assert {word for pair in pairs for word in count_words(pair.hypothesis)} == allowed


_COLORS = ("black", "white", "blue", "green")


SLEEPING = "The man is sleeping in a tent."


def _sample_mirrors(parser, premises, words="all"):
    generator = create_mirror_generator([*premises, SLEEPING], parser, words=words)
    return list(sample_generated_pairs(generator, epoch=1, n_pairs=81))


def test_mirrors_are_sampled_in_pairs_whose_premises_have_the_same_words(parser, real_premises):
    pairs, training, held_out = (_sample_mirrors(parser, real_premises, words) for words in ("all", TRAINING, HELD_OUT))
    groups = group_pairs(pairs)
    assert (len(pairs), len(groups)) == (80, 40)
    for entailing, other in groups.values():
        assert entailing.hypothesis == other.hypothesis
        assert count_words(entailing.premise) == count_words(other.premise)
        assert entailing.label == ENTAILMENT != other.label
    assert {pair.label for pair in pairs} == {ENTAILMENT, NEUTRAL, CONTRADICTION}
    assert {pair[1:3] for pair in training}.isdisjoint(pair[1:3] for pair in held_out)


def test_negation_mirrors_equal_set_pairs_with_three_labels(parser, parse):
    of_set = {(pair.premise, pair.hypothesis): pair for pair in build_negation_pairs(parse(SLEEPING), seed=5)}
    [group] = create_mirror_generator([SLEEPING], parser).generate([0], 5)
    assert [of_set[each[:2]].three_way for each in group] == [each.label for each in group]
    assert len(group) == 2


def test_group_with_official_sentence_is_skipped(parser, real_premises, monkeypatch):
    official = _sample_mirrors(parser, real_premises)[3].premise
    monkeypatch.setattr(
        "unbag.challenge_sets.perturbations.augmentation.is_official_sentence", lambda text: text == official
    )
    made = _sample_mirrors(parser, real_premises)
    assert official not in {pair.premise for pair in made}
    assert set(map(len, group_pairs(made).values())) == {2}
