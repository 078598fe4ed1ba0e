"""Tests of added pairs in groups: negation mirrors and contrast sets."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from unbag.challenge_sets.perturbations.addamod import AdjectiveCounts, modify_noun
from unbag.challenge_sets.perturbations.augmentation import (
    GeneratedPair,
    parse_pair_group,
    parse_pair_kind,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.contrast_sets import (
    NO_EXCLUSIVE,
    OTHER_ARTICLE,
    build_contrast_set,
    create_contrast_generator,
)
from unbag.challenge_sets.perturbations.corpus_counts import count_words_and_bigrams
from unbag.challenge_sets.perturbations.negation import NO_LABEL, create_mirror_generator
from unbag.challenge_sets.perturbations.negation_operations import build_negation_pairs
from unbag.challenge_sets.perturbations.negation_words import DISTRACTOR_SENTENCES, DOWNWARD, QUANTIFIERS
from unbag.challenge_sets.perturbations.substitution import Substituter
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING, get_vocabulary_half
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


def test_contrast_set_of_two_nouns_equals_manual_example(parser, small_corpus):
    [parse] = parser.parse(["A man in a hat is near a dog."])
    made = [build_contrast_set(parse, small_corpus[0], replace(small_corpus[1], seed=seed)) for seed in range(30)]
    white, other, black = (
        "A man in a white hat is near a dog.",
        "A man in a hat is near a white dog.",
        "A man in a black hat is near a dog.",
    )
    assert [
        GeneratedPair(white, white, ENTAILMENT),
        GeneratedPair(other, white, NEUTRAL),
        GeneratedPair(white, black, CONTRADICTION),
        GeneratedPair(other, black, NEUTRAL),
    ] in made


def test_contrast_set_of_clause_swaps_subject_and_object(parser, small_corpus):
    [parse] = parser.parse(["A man chases a dog."])
    made = [build_contrast_set(parse, small_corpus[0], replace(small_corpus[1], seed=seed)) for seed in range(30)]
    white, swapped, other, black = (
        "A man chases a white dog.",
        "A white dog chases a man.",
        "A white man chases a dog.",
        "A man chases a black dog.",
    )
    assert [
        GeneratedPair(white, white, ENTAILMENT),
        GeneratedPair(swapped, white, CONTRADICTION),
        GeneratedPair(white, black, CONTRADICTION),
        GeneratedPair(other, black, NEUTRAL),
    ] in made


def test_contrast_set_without_exclusive_adjective_has_reason(parser, small_corpus):
    [parse] = parser.parse(["A man in a hat is near a dog."])
    assert (
        build_contrast_set(parse, small_corpus[0], Substituter(small_corpus[1].counts, lists=(), q=100)) == NO_EXCLUSIVE
    )
    [parse] = parser.parse(["A man in a hat is near the dog."])
    old = AdjectiveCounts(list(parser.parse(["An old man sees an old dog and an old hat."])) * 2)
    made = {build_contrast_set(parse, old, replace(small_corpus[1], seed=seed)) for seed in range(20)}
    assert made == {OTHER_ARTICLE, NO_EXCLUSIVE}, "beside the dog, and for man and hat"
    [parse] = parser.parse(["A man sleeps."])
    assert build_contrast_set(parse, *small_corpus) == "fewer than two nouns that take an adjective"


@pytest.mark.parametrize(
    ("noun", "adjective", "expected"),
    [
        ("man", "old", "An old man rides a big horse."),
        ("horse", "old", "A man rides a big old horse."),
        ("horse", "small", None),  # the same class as "big"
        ("park", "old", None),  # not in the sentence
    ],
)
def test_modify_noun_inserts_suitable_adjective(parser, noun, adjective, expected):
    [parse] = parser.parse(["A man rides a big horse."])
    modified = modify_noun(parse, noun, adjective)
    assert (modified and str(modified)) == expected
    if modified:
        i = modified.lower_words.index(adjective)
        assert (modified.words[modified.heads[i]], modified.deps[i]) == (noun, "amod")
        without = [(w, d) for j, (w, d) in enumerate(zip(modified.words, modified.deps, strict=True)) if j != i]
        assert [d for _, d in without] == list(parse.deps)
        assert modified.deps.index("ROOT") == modified.words.index("rides")


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
    corpus = [f"A {color} {noun} is near a thing." for color in _COLORS for noun in ("hat", "car", "bike", "van")]
    adjectives = AdjectiveCounts(list(parser.parse(corpus)) * 2)
    corpus += [f"Something is near a {color} {noun}." for color in _COLORS for noun in ("hat", "car", "bike", "van")]
    substituter = Substituter(
        count_words_and_bigrams([Example("0", text, "", "neutral") for text in corpus]), words=words
    )
    premises = ["A hat is near a car.", "A bike is near a van.", "A hat is near a bike."]
    made = create_contrast_generator(premises, parser, adjectives=adjectives, substituter=substituter)
    pairs = list(sample_generated_pairs(made, epoch=0, n_pairs=80))
    for pair in pairs:
        assert {*count_words(pair.premise), *count_words(pair.hypothesis)} <= {*count_words(premise), *colors}
    assert {word for pair in pairs for word in count_words(pair.hypothesis)} == {*count_words(premise), *colors}


_COLORS = ("black", "white", "blue", "green")


@pytest.fixture(scope="module")
def mirror_pairs(parser, real_premises):
    """Return negation mirrors of real premises and two more sentences, in an epoch with half of the vocabulary."""
    premises = [*real_premises, "The man is sleeping in a tent.", "The women were sleeping in a tent."]
    return {
        words: list(sample_generated_pairs(create_mirror_generator(premises, parser, words=words), epoch=1, n_pairs=81))
        for words in ("all", TRAINING, HELD_OUT)
    }


def test_bag_of_words_does_not_solve_negation_mirrors(mirror_pairs):
    for pairs in mirror_pairs.values():
        groups = group_pairs(pairs)
        assert len(pairs) == 80
        assert len(groups) == 40
        for entailing, other in groups.values():
            assert entailing.hypothesis == other.hypothesis
            assert entailing.premise != other.premise
            assert count_words(entailing.premise) == count_words(other.premise)
            assert entailing.label == ENTAILMENT
            assert other.label in (NEUTRAL, CONTRADICTION)
    assert {pair.label for pair in mirror_pairs["all"]} == {ENTAILMENT, NEUTRAL, CONTRADICTION}


def test_training_mirrors_use_no_held_out_word(mirror_pairs):
    held_out = [each for each in DISTRACTOR_SENTENCES if get_vocabulary_half(each.noun) == HELD_OUT]
    determiners = {
        each.negative for each in (*QUANTIFIERS, *DOWNWARD) if get_vocabulary_half(each.negative) == HELD_OUT
    }
    for pair in mirror_pairs[TRAINING]:
        assert not any(re.search(rf"{each.noun}s? (is|are|was|were) {each.place}", pair.premise) for each in held_out)
        assert not any(pair.premise.startswith(f"{each} ") for each in determiners if each != "Not")
        assert " not " not in pair.premise
    of_set = {pair[1:3] for pair in mirror_pairs[HELD_OUT]}
    assert of_set.isdisjoint(pair[1:3] for pair in mirror_pairs[TRAINING])


def test_negation_mirrors_equal_set_pairs_with_three_labels(parser):
    sentence = "The man is sleeping in a tent."
    [parse] = parser.parse([sentence])
    of_set = {(pair.premise, pair.hypothesis): pair for pair in build_negation_pairs(parse, seed=5)}
    [group] = create_mirror_generator([sentence], parser).generate([0], 5)
    assert [of_set[each[:2]].three_way for each in group] == [each.label for each in group]
    assert len(group) == 2
    assert NO_LABEL != group


def test_group_with_official_sentence_is_skipped(mirror_pairs, parser, real_premises, monkeypatch):
    official = mirror_pairs["all"][3].premise
    monkeypatch.setattr(
        "unbag.challenge_sets.perturbations.augmentation.is_official_sentence", lambda text: text == official
    )
    made = list(sample_generated_pairs(create_mirror_generator(real_premises, parser), epoch=1, n_pairs=80))
    assert official not in {pair.premise for pair in made}
    assert set(map(len, group_pairs(made).values())) == {2}
