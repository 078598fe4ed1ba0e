"""Tests of negations and iter_shortened_parses with manual examples, and of properties of the generated pairs."""

import re

import pytest

from unbag.baselines.natlog.labeler import NatlogLabeler
from unbag.challenge_sets.perturbations.augmentation import get_proved_label, sample_generated_pairs
from unbag.challenge_sets.perturbations.negation import (
    CONTRACTED,
    NO,
    NOBODY,
    NOT,
    NOT_TRUE,
    TEMPLATES,
    THERE_IS_NO,
    build_negations,
    create_negated_generator,
    find_simple_clause,
    iter_shortened_parses,
)
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING, get_vocabulary_half


@pytest.fixture(scope="module")
def labeller(parser, wordnet):
    return NatlogLabeler(parser, wordnet, wordnet.identity)


def parse_sentence(parser, sentence):
    [parse] = parser.parse([sentence])
    return parse


def test_negation_nobody_requires_sentence_without_pronoun(parser):
    parse = parse_sentence(parser, "A girl is washing her hands.")
    assert NOBODY not in build_negations(find_simple_clause(parse))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "A man is riding a horse.",
            {
                NOT: "A man is not riding a horse.",
                CONTRACTED: "A man isn't riding a horse.",
                NO: "No man is riding a horse.",
                THERE_IS_NO: "There is no man riding a horse.",
                NOBODY: "Nobody is riding a horse.",
                NOT_TRUE: "It is not true that a man is riding a horse.",
            },
        ),
        (
            "Two women carry bags",
            {
                NOT: "Two women do not carry bags",
                CONTRACTED: "Two women don't carry bags",
                NO: "No women carry bags",
                NOBODY: "Nobody carries bags",
                NOT_TRUE: "It is not true that two women carry bags",
            },
        ),
        (
            "His dog is in the garden.",
            {
                NOT: "His dog is not in the garden.",
                CONTRACTED: "His dog isn't in the garden.",
                NOT_TRUE: "It is not true that his dog is in the garden.",
            },
        ),
    ],
)
def test_each_template_negates_sentence(parser, sentence, expected):
    parse = parse_sentence(parser, sentence)
    assert build_negations(find_simple_clause(parse)) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        *("A man with a hat.", "No man is riding a horse.", "A man rides while a dog barks.", "Is a man riding?"),
        *("There is a man on a horse.", "Dog runs in snow.", "A man was riding a horse.", ""),
    ],
)
def test_plain_clause_other_sentences_are_none(parser, sentence):
    assert find_simple_clause(parse_sentence(parser, sentence)) is None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "A young man is riding a horse in a field.",
            ["A man is riding a horse in a field.", "A young man is riding a horse."],
        ),
        ("An old dog quickly eats a bone", ["A dog quickly eats a bone", "An old dog eats a bone"]),
        ("A man is looking at a hot dog.", []),  # an object of "look at", and a compound noun
        ("Two boys sit on a bench.", []),  # "sit" says more than the remaining sentence
        ("A martial artist rides a bike.", []),  # a martial artist is no artist
    ],
)
def test_shortenings_remove_optional_modifiers(parser, sentence, expected):
    assert [str(each) for each in iter_shortened_parses(parse_sentence(parser, sentence))] == expected


def test_labels_are_proved_and_templates_match_half(parser, real_premises, labeller):
    for words in (TRAINING, HELD_OUT):
        pairs = list(
            sample_generated_pairs(
                create_negated_generator(real_premises, parser, labeller, words=words), epoch=0, n_pairs=45
            )
        )
        labels = [pair.label for pair in pairs]
        assert min(map(labels.count, ("entailment", "neutral", "contradiction"))) >= 10
        verdicts = labeller.iter_verdicts([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
        assert [get_proved_label(verdict) for verdict in verdicts] == labels
        for pair in pairs:
            assert {get_vocabulary_half(name) for name in _templates(f"{pair.premise} {pair.hypothesis}")} == {words}


def _templates(text):
    text = f" {text.lower()} "
    for template in TEMPLATES:
        if (f" {template} " in text or (template == CONTRACTED and "n't " in text)) and not (
            (template == NOT and NOT_TRUE in text) or (template == NO and " there are no" in text)
        ):
            yield template
    if " there are no" in text:
        yield THERE_IS_NO


def test_negation_position_does_not_reveal_label(parser, real_premises, labeller):
    """Each position of the negation (premise, hypothesis, both) occurs with at least two labels."""
    made = {}
    for pair in sample_generated_pairs(create_negated_generator(real_premises, parser, labeller), epoch=0, n_pairs=120):
        side = tuple(re.search(r"\b(no|not|nobody)\b|n't", text.lower()) is not None for text in pair[1:3])
        made.setdefault(side, set()).add(pair.label)
    assert made == {
        (True, False): {"contradiction", "neutral"},
        (False, True): {"contradiction", "neutral"},
        (True, True): {"entailment", "neutral"},
    }
