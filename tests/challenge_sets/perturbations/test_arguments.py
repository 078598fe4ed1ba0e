import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.arguments import (
    Argument,
    ArgumentRole,
    find_claim_arguments,
    is_counted_noun_unique,
    is_valid_replacement,
    iter_replacement_arguments,
    replace_argument,
)
from unbag.challenge_sets.perturbations.content_words import collect_content_stems, expand_stems

SUBJECT, OBJECT, NUMBER = ArgumentRole
VAGUE = "nothing specific besides subject and verb (sits, is outside, does a trick)"
NO_ARGUMENT = "no argument that is a plain noun phrase with a specific noun"


def _build_argument(role, noun, *, verb="", text="", is_plural=False):
    return Argument(role, text or f"a {noun}", noun, verb, is_plural, range(2))


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("A man is carrying a wooden ladder.", [(SUBJECT, "a man", "man"), (OBJECT, "a wooden ladder", "ladder")]),
        ("Two men are standing on a ladder.", [(SUBJECT, "two men", "man"), (NUMBER, "two", "man")]),
    ],
)
def test_claim_has_subject_object_and_number(parse, claim, expected):
    assert [(each.role, each.text, each.noun) for each in find_claim_arguments(parse(claim))] == expected


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("A man is standing on a street.", VAGUE),  # a place that may have another description
        ("A dog is doing a trick.", VAGUE),
        ("A person is performing.", NO_ARGUMENT),  # the subject is not specific either
        ("A men are carrying a ladder.", "a determiner that does not fit its noun"),
        ("A man are carrying a ladder.", "a verb that does not agree with its subject"),
        ("A man is not riding a horse.", "a negation, a question or a modal verb"),
        ("A man is riding his horse.", NO_ARGUMENT),  # the subject with a pronoun is kept
    ],
)
def test_unsuitable_claim_has_exclusion_reason(parse, claim, reason):
    assert find_claim_arguments(parse(claim)) == reason


def _parse_walk(bound, after=""):
    """Parse "A man walks BOUND three blocks AFTER", where all words of the bound depend on the number."""
    before, behind = bound.split(), after.split()
    number = 3 + len(before)
    lines = ["A a DET DT 2 det", "man man NOUN NN 3 nsubj", "walks walk VERB VBZ 3 ROOT"]
    lines += [f"{word} {word} ADV RB {number + 1} advmod" for word in before]
    lines += [f"three three NUM CD {number + 2} nummod", "blocks block NOUN NNS 3 npadvmod"]
    lines += [f"{word} {word} ADV RB {number + 2} advmod" for word in behind]
    return build_parse("\n".join(lines))


@pytest.mark.parametrize(
    ("bound", "after"),
    [
        ("less than", ""),
        ("over", ""),
        ("", "or more"),
        ("", "at most"),
    ],
)
def test_bounded_number_is_not_exchanged(bound, after):
    found = find_claim_arguments(_parse_walk(bound, after))
    # "no" negates the claim, and "more" or "most" refer to the context, so no argument of the claim is exchanged.
    refers = {"no", "more", "most"} & set(f"{bound} {after}".split())
    assert isinstance(found, str) if refers else [each.role for each in found] == [SUBJECT]
    assert NUMBER not in {each.role for each in iter_replacement_arguments(_parse_walk(bound, after))}


def test_number_of_time_period_is_exchanged_only_in_donors():
    parse = _parse_walk("the last")
    found = find_claim_arguments(parse)
    assert isinstance(found, str) or [each.role for each in found] == [SUBJECT]
    assert NUMBER in {each.role for each in iter_replacement_arguments(parse)}


@pytest.mark.parametrize("before", ["", "only"])
def test_number_without_bound_is_exchanged(before):
    assert (NUMBER, "three") in {(each.role, each.text) for each in find_claim_arguments(_parse_walk(before))}


def test_donor_arguments_are_lowercase_plain_phrases(parse):
    def find_arguments(sentence):
        return {(each.role, each.text) for each in iter_replacement_arguments(parse(sentence))}

    assert find_arguments("A young woman is carrying three ladders.") == {
        (SUBJECT, "a young woman"),
        (OBJECT, "three ladders"),
        (NUMBER, "three"),
    }
    assert find_arguments("The girls are holding another flag.") == {(SUBJECT, "the girls")}
    assert find_arguments("A boy is taking a nap.") == {(SUBJECT, "a boy")}, "a nap is not acted on"
    assert find_arguments("A men is holding a flag.") == set(), "the determiner does not fit"


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("man", "woman", True),
        ("woman", "girl", False),  # a young woman can be called a girl
        ("child", "boy", False),
        ("man", "person", False),
        ("man", "chef", False),  # a man can be a chef
        ("chef", "soldier", True),
        ("dog", "cat", True),
        ("dog", "animal", False),
        ("dog", "man", False),  # a different kind of subject
        ("car", "boat", False),  # boats do not do everything that cars do
        ("ladder", "flag", False),  # things that do not act
    ],
)
def test_can_replace_accepts_mutually_exclusive_subjects(old, new, fits):
    assert is_valid_replacement(_build_argument(SUBJECT, old), _build_argument(SUBJECT, new)) is fits


def test_can_replace_requires_same_grammatical_number():
    assert not is_valid_replacement(_build_argument(SUBJECT, "man"), _build_argument(SUBJECT, "woman", is_plural=True))


@pytest.mark.parametrize(
    ("verb", "old", "new", "objects", "fits"),
    [
        ("carry", "ladder", "flag", {("carry", "flag")}, True),
        ("carry", "ladder", "flag", {("wave", "flag")}, False),  # the verb never occurs with this object
        ("carry", "bicycle", "bike", {("carry", "bike")}, False),
        ("play", "guitar", "piano", (), True),  # the verb takes any instrument
        ("carry", "guitar", "piano", (), False),
        ("wear", "hat", "shirt", (), False),  # most people wear one
        ("wear", "hat", "red shirt", (), True),
    ],
)
def test_can_replace_accepts_exclusive_objects_of_same_verb(verb, old, new, objects, fits):
    replacement = _build_argument(OBJECT, new.split()[-1], text=f"a {new}")
    assert is_valid_replacement(_build_argument(OBJECT, old, verb=verb), replacement, set(objects)) is fits


@pytest.mark.parametrize(("old", "new", "fits"), [("two", "three", True), ("three", "two", False), ("2", "five", True)])
def test_can_replace_requires_larger_number(old, new, fits):
    numbers = [_build_argument(NUMBER, noun, text=text, is_plural=True) for noun, text in (("man", old), ("dog", new))]
    assert is_valid_replacement(*numbers) is fits


@pytest.mark.parametrize(
    ("sentence", "once"),
    [
        ("Two men carry a ladder.", True),
        ("Two men carry a ladder, and another follows.", False),
        ("A ladder.", False),
    ],
)
def test_is_counted_once_rejects_further_members(sentence, once):
    assert is_counted_noun_unique(sentence, _build_argument(NUMBER, "man", text="two")) is once


@pytest.mark.parametrize(
    ("claim", "donor", "role", "expected"),
    [
        ("A man is carrying a ladder.", "The girl is sleeping.", SUBJECT, "The girl is carrying a ladder."),
        ("a man is carrying a ladder", "The girl is sleeping.", SUBJECT, "the girl is carrying a ladder"),
        ("A man is carrying a ladder.", "A boy is waving a flag.", OBJECT, "A man is carrying a flag."),
        ("Two men are carrying a ladder.", "Four dogs are sleeping.", NUMBER, "Four men are carrying a ladder."),
    ],
)
def test_exchange_argument_changes_only_argument(parse, claim, donor, role, expected):
    parsed = parse(claim)
    [old] = [each for each in find_claim_arguments(parsed) if each.role is role]
    [new] = [each for each in iter_replacement_arguments(parse(donor)) if each.role is role]
    assert replace_argument(parsed, old, new) == expected


def test_exchange_argument_capitalizes_word_for_initial_digit():
    parse = build_parse("2 2 NUM CD 2 nummod\ndogs dog NOUN NNS 3 nsubj\nrun run VERB VBP 3 ROOT")
    old, new = (_build_argument(NUMBER, "dog", text=text, is_plural=True) for text in ("2", "four"))
    assert replace_argument(parse, old._replace(span=range(1)), new) == "Four dogs run"


def test_implied_stems_include_hypernyms_but_not_hyponyms():
    pairs = (("girl", "child"), ("poodle", "dog"), ("road", "street"), ("two", "2"), ("child", "girl"))
    implied = [collect_content_stems(above) <= expand_stems(collect_content_stems(word)) for word, above in pairs]
    assert implied == [True, True, True, True, False]
