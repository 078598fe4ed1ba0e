import pytest

from unbag.baselines.natlog.parsing import Quantifier
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.natlog.seeds import SeedNoun, build_clauses, infer_word_relations, split_constituents

R = Relation


def test_parts_equal_manual_example():
    found = split_constituents("Two small cats are sleeping on the wall.")
    assert found.subject == SeedNoun("two", "small cats", is_plural=True)
    assert (found.auxiliary, found.negation, found.verb) == ("are", "", "sleeping on")
    assert found.object == SeedNoun("the", "wall")


@pytest.mark.parametrize("sentence", ["a cat isn't eating", "a cat is n't eating", "a cat is not eating"])
def test_parts_detect_all_spellings_of_negation(sentence):
    assert split_constituents(sentence).is_negated
    assert split_constituents(sentence).verb == "eating"


def test_parts_of_predicates_and_prepositional_plurals():
    assert split_constituents("the box is empty").object is None
    assert split_constituents("the box is full of apples").object == SeedNoun("", "apples", is_plural=True)
    assert split_constituents("a cat is on the wall").verb == "on"


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
    tags = [("A", "DET"), ("cat", "NOUN"), ("chases", "VERB"), ("a", "DET"), ("mouse", "NOUN"), (".", "PUNCT")]
    found = split_constituents("A cat chases a mouse.", tags)
    assert (found.auxiliary, found.verb, found.object) == ("", "chases", SeedNoun("a", "mouse"))
    # A past tense has no "does not", and a plural verb does not agree with "a cat".
    for verb in ("chased", "chase"):
        assert (
            split_constituents(
                f"A cat {verb} a mouse.", [(verb, tag) if tag == "VERB" else (w, tag) for w, tag in tags]
            )
            is None
        )


def _infer_lexicon(premise, hypothesis, label):
    return infer_word_relations(split_constituents(premise), split_constituents(hypothesis), label)


def test_lexicon_relates_differing_words_by_label():
    found = _infer_lexicon("a black cat is eating a fish", "a cat is eating a fish", "entailment")
    assert (found.subject, found.verb, found.object) == (R.FORWARD_ENTAILMENT, R.EQUIVALENCE, R.EQUIVALENCE)
    assert not found.coreferent
    found = _infer_lexicon("a cat is eating a raw fish", "a cat is eating a fried fish", "contradiction")
    assert found.object is R.ALTERNATION
    assert found.coreferent
    found = _infer_lexicon("a cat is eating a fish", "a dog is washing a fish", "neutral")
    assert (found.subject, found.verb, found.object) == (R.INDEPENDENCE, R.INDEPENDENCE, R.EQUIVALENCE)


def test_contradiction_relates_verbs_before_nouns():
    found = _infer_lexicon("a cat is catching a fish", "an animal is missing a fish", "contradiction")
    assert (found.subject, found.verb) == (R.INDEPENDENCE, R.ALTERNATION)


def test_lexicon_projects_label_through_negation():
    found = _infer_lexicon("a cat is eating a fish", "an animal isn't eating a fish", "contradiction")
    assert (found.subject, found.verb) == (R.FORWARD_ENTAILMENT, R.EQUIVALENCE)
    found = _infer_lexicon("a box is empty", "a box is not full", "entailment")
    assert found.verb is R.ALTERNATION


def test_exchanged_pairs_are_detected():
    assert _infer_lexicon("a cat is chasing the dog", "the dog is chasing a cat", "contradiction").exchanged
    assert (
        _infer_lexicon("a cat is beside the dog", "the dog is beside a cat", "entailment").verb is R.FORWARD_ENTAILMENT
    )


def test_only_order_of_numbers_matters():
    premise, hypothesis = split_constituents("ten cats are sleeping"), split_constituents("three cats are sleeping")
    first, second = build_clauses(premise, hypothesis)
    assert (first.subject.number, second.subject.number) == (3, 2)
    assert first.subject.quantifier is Quantifier.A
    assert infer_word_relations(premise, hypothesis, "entailment").subject is R.EQUIVALENCE
    assert infer_word_relations(hypothesis, premise, "entailment") is None
