"""Tests of sampling from pair generators, of pairs in groups, and of the two halves of the vocabulary."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from unbag.baselines.natlog.labeler import NatlogResult
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations.addamod import AdjectiveCounts, modify_noun
from unbag.challenge_sets.perturbations.augmentation import (
    MAY_FOLLOW,
    NO_PROOF,
    NOT_SYMMETRIC,
    OFFICIAL,
    UNBALANCED,
    GeneratedPair,
    PairGenerator,
    create_reversed_generator,
    create_swapped_generator,
    get_proved_label,
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
from unbag.challenge_sets.perturbations.negation import TEMPLATES, create_mirror_generator
from unbag.challenge_sets.perturbations.negation_operations import build_negation_pairs
from unbag.challenge_sets.perturbations.substitution import Substituter
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
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.sources import Example
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


def test_group_with_official_sentence_is_skipped(monkeypatch):
    def generate(order, seed):
        for i in order:
            yield [GeneratedPair(f"A {who} number {i}.", "A dog.", "entailment") for who in ("dog", "cat")]

    monkeypatch.setattr(
        "unbag.challenge_sets.perturbations.augmentation.is_official_sentence", lambda text: text == "A dog number 1."
    )
    counts = Counter()
    made = sample_generated_pairs(
        PairGenerator("three", range(3), generate, group_size=2), epoch=0, n_pairs=8, counts=counts
    )
    assert {pair.premise for pair in made} == {f"A {who} number {i}." for who in ("dog", "cat") for i in (0, 2)}
    assert counts[OFFICIAL] in (1, 2)


def _sample_letters(labels, n_pairs, *, balanced):
    """Sample pairs from a generator of one pair per label, and count the exclusions."""

    def generate(order, seed):
        for i in order:
            yield [GeneratedPair(str(i), label, label) for label in labels[i]] or "none"

    counts = Counter()
    generator = PairGenerator("letters", labels, generate, balanced=balanced)
    return list(sample_generated_pairs(generator, epoch=2, n_pairs=n_pairs, counts=counts)), counts


def test_sample_epoch_prefers_rarest_label_or_limits_each_to_half():
    made, _ = _sample_letters(["EC", "EC", "EC", "EC"], 4, balanced=False)
    assert Counter(pair.label for pair in made) == {"E": 2, "C": 2}
    made, counts = _sample_letters(["C"] * 30 + ["E"] * 5 + ["N"] * 5 + [""], 20, balanced=True)
    assert Counter(pair.label for pair in made)["C"] in (10, 11)
    assert counts[UNBALANCED] > 0
    made, _ = _sample_letters(["C"] * 30, 20, balanced=True)
    assert {pair.label for pair in made} == {"C"}


PAIRS = [
    Example("a", "A man sleeps in a bed.", "A man is awake.", "contradiction"),
    Example("b", "A man reads.", "A tall man reads a letter.", "neutral"),
    Example("c", "An old man in a hat reads a letter.", "A man is at home.", "neutral"),
    Example("d", "A poodle barks.", "A dog barks.", "entailment"),
]


def test_swapped_pairs_keep_only_symmetric_labels(parser):
    made = list(create_swapped_generator(PAIRS, parser).generate([0, 1, 2, 3], seed=1))
    assert made == [
        [("A man is awake.", "A man sleeps in a bed.", "contradiction")],
        MAY_FOLLOW,
        [("A man is at home.", "An old man in a hat reads a letter.", "neutral")],
        NOT_SYMMETRIC,
    ]
    assert list(create_swapped_generator(PAIRS, parser).generate([3, 0], seed=2)) == [made[3], made[0]]


class FixedLabeler:
    """A labeller with fixed verdicts that counts its calls."""

    def __init__(self, relations):
        self.relations, self.asked = relations, 0

    def iter_verdicts(self, premises, hypotheses):
        for pair in zip(premises, hypotheses, strict=True):
            self.asked += 1
            yield NatlogResult(None, self.relations.get(pair))


def test_reversed_pairs_require_proof_in_both_orders():
    forward, independence = Relation.FORWARD_ENTAILMENT, Relation.INDEPENDENCE
    known = {(pair.premise, pair.hypothesis): forward for pair in PAIRS}  # as d is labelled, unlike the others
    known |= {(pair.hypothesis, pair.premise): forward.converse for pair in PAIRS}
    labeller = FixedLabeler(known)
    maker = create_reversed_generator(PAIRS, labeller)
    expected = [NO_PROOF, NO_PROOF, NO_PROOF, [("A dog barks.", "A poodle barks.", "neutral")]]
    assert list(maker.generate(range(4), seed=1)) == expected
    assert list(maker.generate([3, 2], seed=2)) == expected[:1:-1]
    assert labeller.asked == 5, "the reverse order only for d, and each pair once"
    known["A dog barks.", "A poodle barks."] = independence
    assert list(create_reversed_generator(PAIRS, FixedLabeler(known)).generate([3], seed=1)) == [NO_PROOF]


def test_proved_label_of_independence_is_none():
    labels = {relation: get_proved_label(NatlogResult("neutral", relation)) for relation in Relation}
    assert labels.pop(Relation.INDEPENDENCE) is get_proved_label(NatlogResult(None, None)) is None
    neutral = {relation for relation, label in labels.items() if label == "neutral"}
    assert neutral == {Relation.REVERSE_ENTAILMENT, Relation.COVER}
    assert None not in labels.values()


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
