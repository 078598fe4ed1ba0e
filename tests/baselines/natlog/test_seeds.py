import pytest

from unbag.baselines.natlog.parsing import Quantifier, WordRelations
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.natlog.seeds import SeedNoun, build_clauses, infer_word_relations, split_constituents

R = Relation


def test_parts_equal_manual_examples():
    found = split_constituents("Two small cats are sleeping on the wall.")
    assert found.subject == SeedNoun("two", "small cats", is_plural=True)
    assert (found.auxiliary, found.negation, found.verb) == ("are", "", "sleeping on")
    assert found.object == SeedNoun("the", "wall")
    assert split_constituents("the box is empty").object is None
    assert split_constituents("the box is full of apples").object == SeedNoun("", "apples", is_plural=True)
    assert split_constituents("a cat is on the wall").verb == "on"
    for negation in ("isn't", "is n't", "is not"):
        found = split_constituents(f"a cat {negation} eating")
        assert (found.is_negated, found.verb) == (True, "eating")


@pytest.mark.parametrize(
    "sentence",
    [
        "A cat is eating and a dog is sleeping",
        "There is a cat on the wall",
        "No cat is eating a fish",
        "A cat sleeps on the wall",
        "is eating a fish",
        "A cat is eating every fish",
        "The dogs' bowl is empty",
        "A dog are barking",
        "",
    ],
)
def test_parts_of_other_sentence_forms_are_none(sentence):
    assert split_constituents(sentence) is None


def test_tags_identify_verb_without_auxiliary():
    def split(verb):
        tags = [("A", "DET"), ("cat", "NOUN"), (verb, "VERB"), ("a", "DET"), ("mouse", "NOUN"), (".", "PUNCT")]
        return split_constituents(f"A cat {verb} a mouse.", tags)

    found = split("chases")
    assert (found.auxiliary, found.verb, found.object) == ("", "chases", SeedNoun("a", "mouse"))
    # A past tense has no "does not", and a plural verb does not agree with "a cat".
    assert split("chased") is split("chase") is None


@pytest.mark.parametrize(
    ("premise", "hypothesis", "label", "relations"),
    [
        ("a black cat is eating a fish", "a cat is eating a fish", "entailment", {"subject": R.FORWARD_ENTAILMENT}),
        ("a cat is eating a raw fish", "a cat is eating a fried fish", "contradiction", {"object": R.ALTERNATION}),
        ("a cat is eating", "a dog is sitting", "neutral", {"subject": R.INDEPENDENCE, "verb": R.INDEPENDENCE}),
        # A contradiction relates verbs before nouns.
        (
            "a cat is catching a fish",
            "an animal is missing a fish",
            "contradiction",
            {"subject": R.INDEPENDENCE, "verb": R.ALTERNATION},
        ),
        # A label is projected through a negation.
        ("a cat is eating a fish", "an animal isn't eating a fish", "contradiction", {"subject": R.FORWARD_ENTAILMENT}),
        ("a box is empty", "a box is not full", "entailment", {"verb": R.ALTERNATION}),
        (
            "a cat is chasing the dog",
            "the dog is chasing a cat",
            "contradiction",
            {"verb": R.ALTERNATION, "exchanged": True},
        ),
        (
            "a cat is beside the dog",
            "the dog is beside a cat",
            "entailment",
            {"verb": R.FORWARD_ENTAILMENT, "exchanged": True},
        ),
    ],
)
def test_lexicon_relates_differing_words_by_label(premise, hypothesis, label, relations):
    """The words of contradictions refer to the same scene."""
    found = infer_word_relations(split_constituents(premise), split_constituents(hypothesis), label)
    assert found == WordRelations(**relations, coreferent=label == "contradiction")


def test_only_order_of_numbers_matters():
    premise, hypothesis = split_constituents("ten cats are sleeping"), split_constituents("three cats are sleeping")
    first, second = build_clauses(premise, hypothesis)
    assert (first.subject.number, second.subject.number) == (3, 2)
    assert first.subject.quantifier is Quantifier.A
    assert infer_word_relations(premise, hypothesis, "entailment").subject is R.EQUIVALENCE
    assert infer_word_relations(hypothesis, premise, "entailment") is None
