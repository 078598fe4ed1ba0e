from collections import Counter

import pytest

from unbag.baselines.natlog.relations import Relation, to_three_way_label
from unbag.baselines.natlog.seeds import split_constituents
from unbag.challenge_sets.perturbations.modifiers import (
    BOTH,
    MODIFIERS,
    MODIFIERS_BY_NAME,
    OBJECT,
    POSITIONS,
    SUBJECT,
    TYPES,
    VERB,
    SeedPair,
    build_modified_sentence,
    modify_seed_pair,
)

SEED = SeedPair.from_pair("A black cat is eating a fish.", "A cat is eating a fish.", "entailment")


def _modify_sentence(text, part, modifier, tags=None):
    return build_modified_sentence(split_constituents(text, tags), ((part, MODIFIERS_BY_NAME[modifier]),))


@pytest.mark.parametrize(
    ("text", "part", "modifier", "expected"),
    [
        ("a cat is eating a fish", SUBJECT, "every", "every cat is eating a fish"),
        ("a cat is eating a fish", SUBJECT, "every one of", "every one of the cats is eating a fish"),
        ("a cat is eating a fish", OBJECT, "abnormal", "a cat is eating an abnormal fish"),
        ("the cat is eating the fish", OBJECT, "no", "the cat is eating no fish"),
        ("two cats are eating", SUBJECT, "exactly one", "exactly two cats are eating"),
        ("two cats are eating", SUBJECT, "every one of", "every one of the two cats is eating"),
        ("cats are eating", SUBJECT, "every", "all cats are eating"),
        ("a box is empty", VERB, "not", "a box is not empty"),
        ("a cat isn't eating", VERB, "always", "a cat isn't always eating"),
        ("two cats can't swim", SUBJECT, "no", "no two cats can't swim"),
    ],
)  # fmt: skip
def test_modified_sentences_equal_manual_examples(text, part, modifier, expected):
    assert _modify_sentence(text, part, modifier) == expected


def test_verb_without_auxiliary_gets_do():
    one = [("a", "DET"), ("cat", "NOUN"), ("watches", "VERB"), ("a", "DET"), ("fish", "NOUN")]
    two = [("two", "NUM"), ("cats", "NOUN"), ("watch", "VERB"), ("a", "DET"), ("fish", "NOUN")]
    assert _modify_sentence("a cat watches a fish", VERB, "not", one) == "a cat does not watch a fish"
    assert _modify_sentence("two cats watch a fish", VERB, "not", two) == "two cats do not watch a fish"
    every = "every one of the two cats watches a fish"
    assert _modify_sentence("two cats watch a fish", SUBJECT, "every one of", two) == every


def test_all_modifiers_occur_at_all_positions():
    plain, *pairs = modify_seed_pair(SEED)
    per_position = sum(len(modifier.parts) for modifier in MODIFIERS)
    assert len(pairs) == 3 * per_position == 3 * (13 + 5 + 12)
    assert Counter(pair.position for pair in pairs) == dict.fromkeys(POSITIONS, per_position)
    assert {pair.type for pair in pairs} == {*TYPES}
    assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs)
    assert (plain.position, plain.type) == ("none", "none")
    for pair in pairs:
        assert (pair.premise == plain.premise) == (pair.position == "hypothesis")
        assert (pair.hypothesis == plain.hypothesis) == (pair.position == "premise")


def test_seed_keeps_its_label():
    for other, label in (("an animal is eating", "entailment"), ("a cat is sleeping", "contradiction")):
        seed = SeedPair.from_pair("a cat is eating", other, label)
        assert to_three_way_label(next(modify_seed_pair(seed)).relation) == label


def test_labels_equal_manual_examples():
    labels = {(pair.modifier, pair.part, pair.position): pair.relation for pair in modify_seed_pair(SEED)}
    assert labels["every", SUBJECT, BOTH] is Relation.REVERSE_ENTAILMENT
    assert labels["no", SUBJECT, BOTH] is Relation.REVERSE_ENTAILMENT
    assert labels["green", SUBJECT, "hypothesis"] is Relation.INDEPENDENCE
    assert labels["some", OBJECT, "hypothesis"] is Relation.FORWARD_ENTAILMENT
    assert labels["no", SUBJECT, "hypothesis"] is Relation.ALTERNATION


def test_modifiers_are_combined():
    pairs = [pair for pair in modify_seed_pair(SEED, combinations=True) if "+" in pair.part]
    assert Counter(pair.part for pair in pairs) == {"subject+object": 3 * 10, "verb+object": 3 * (2 + 1 + 2 * 7)}
    found = {pair.premise for pair in pairs if pair.position == "premise"}
    assert "no black cat is eating no fish" in found
    assert "a black cat is elegantly eating a green fish" in found
    assert {pair.modifier for pair in pairs} >= {"no", "elegantly+green"}


def test_modify_skips_ungrammatical_modifications():
    negated = SeedPair.from_pair("a cat is eating a fish", "a cat isn't eating a fish", "contradiction")
    found = {(pair.modifier, pair.position) for pair in modify_seed_pair(negated)}
    assert ("not", "premise") in found
    assert not {("not", "hypothesis"), ("not", "both"), ("never", "hypothesis")} & found
    plural = SeedPair.from_pair("cats are eating", "cats are sleeping", "neutral")
    assert not {"exactly one", "at least", "all but one"} & {pair.modifier for pair in modify_seed_pair(plural)}


def test_plurals_stay_plural_for_any_determiner():
    cats = "the cats are chasing some mice"
    made = {pair.premise for pair in modify_seed_pair(SeedPair.from_pair(cats, cats, "entailment"))}
    one = "every one of the cats is chasing some mice"
    assert {cats, one, "not all cats are chasing some mice", "the cats are chasing all mice"} <= made
    assert "some cats are chasing some mice" in made
    assert not any(wrong in text for text in made - {one} for wrong in ("cats is", "every mice", "exactly one"))


def test_seed_of_unsupported_pair_is_none():
    assert SeedPair.from_pair("the cat's bowl is empty", "the bowl is empty", "entailment") is None
    assert SeedPair.from_pair("a cat sleeps", "an animal sleeps", "entailment") is None
    assert SeedPair.from_pair("a cat is asleep", "a cat is asleep", "contradiction") is None
