"""Tests of the replacement of numbers and names in written text."""

import random
import re
from collections import Counter

import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.names import (
    FEW,
    JOINED,
    NOT_LISTED,
    OTHER_PLACE,
    PLACE_LEVELS,
    PRONOUN,
    REPEATED,
    ROLE,
    SAME,
    SCOPE,
    UNSURE,
    are_names_possibly_coreferent,
    build_name_pairs,
    collect_names,
    replace_name,
)
from unbag.challenge_sets.perturbations.numbers import (
    NOTATIONS,
    VALUES,
    NumberKind,
    build_number_pairs,
    change_number,
    find_numbers,
    rewrite_number,
)
from unbag.data.text.entities import Entity

SENTENCES = {
    NumberKind.QUANTITY: "The farmer has twelve goats in the barn.",
    NumberKind.CURRENCY: "The house was sold for $1.5 million in the end.",
    NumberKind.PERCENTAGE: "The price of milk rose, and that of bread fell 40 percent.",
    NumberKind.YEAR: "The church was built in 1623 and has a tower.",
    NumberKind.DATE: "They arrived on July 4 and left soon.",
    NumberKind.ORDINAL: "She lives on the third floor of the house.",
}


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("He saw twelve goats there.", "He saw 12 goats there."),
        ("He saw at least 42 white goats.", "He saw at least forty-two white goats."),
        ("It costs $12 in the shop.", "It costs 12 dollars in the shop."),
        ("They paid $1.5 million for it.", "They paid $1,500,000 for it."),
        ("The price fell 12 percent then.", "The price fell 12% then."),
        ("He left on July 4, 1995, by ship.", "He left on 4 July 1995, by ship."),
        ("It is an 18th-century palace.", "It is an eighteenth-century palace."),
    ],
)
def test_rewrite_number_gives_other_notation(premise, hypothesis):
    assert rewrite_number(premise).hypothesis == hypothesis


@pytest.mark.parametrize("kind", SENTENCES)
def test_change_number_changes_only_value(kind):
    sentence = SENTENCES[kind]
    for seed in range(20):
        edit = change_number(sentence, seed)
        assert edit.old != edit.new
        assert edit.hypothesis == sentence.replace(edit.old, edit.new)
        old, new = ([n for n in find_numbers(text) if n.kind is kind] for text in (sentence, edit.hypothesis))
        assert [n.unit for n in old] == [n.unit for n in new]
        assert old[0].value != new[0].value
        if kind in (NumberKind.QUANTITY, NumberKind.CURRENCY, NumberKind.PERCENTAGE):
            assert new[0].value > old[0].value


@pytest.mark.parametrize(
    "sentence",
    [
        "The farmer has over 12 goats.",
        "The farmer has twelve goats or more.",
        "The farmer has between ten and twelve goats.",
        "The farmer sold two of the twelve goats.",
        "The farmer has twelve goats, not sheep.",
        "If the farmer has twelve goats, he is rich.",
        "The goats eat for two hours a day.",
        "The garden has 37 hectares (91 acres) of land.",
        "The family has two dogs: a poodle and a collie.",
        "They can live to an age of 100 years.",
    ],
)
def test_change_number_excludes_bounds_and_ranges(sentence):
    assert change_number(sentence) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "No one is here for one reason.",
        "The shop is open 24/7 for people.",
        "He read page 12 of chapter 3.",
        "Two thirds of them ate three quarters.",
        "A third of them had second thoughts.",
        "In the 1990s, he flew a Boeing 767.",
        "It is a twelve-year-old whisky.",
    ],
)
def test_find_numbers_ignores_names_fractions_and_idioms(sentence):
    assert find_numbers(sentence) == []
    assert build_number_pairs(sentence) == []


@pytest.mark.parametrize("sentence", SENTENCES.values())
def test_repeated_rewrite_number_keeps_value(sentence):
    values = [(n.kind, n.value) for n in find_numbers(sentence)]
    rewritten = 0
    while rewritten < 2 and (edit := rewrite_number(sentence)) is not None:
        sentence, rewritten = edit.hypothesis, rewritten + 1
        assert [(n.kind, n.value) for n in find_numbers(sentence)] == values
    assert rewritten > 0 or values[0][0] is NumberKind.YEAR


def test_substitute_numbers_labels_follow_operation():
    sentence = SENTENCES[NumberKind.QUANTITY]
    pairs = {each.category: each for each in build_number_pairs(sentence)}
    assert (pairs[VALUES].label, pairs[NOTATIONS].label) == ("contradiction", "entailment")
    assert len({change_number(sentence, seed).new for seed in range(40)}) == 4


def test_change_number_of_first_word_keeps_capital():
    edit = change_number("Twelve goats sleep in the barn.")
    assert re.fullmatch(r"[A-Z][a-z-]+ goats sleep in the barn\.", edit.hypothesis)


@pytest.mark.parametrize(
    "sentence", ["Twelve goats sleep in the barn.", "The city gave 60 percent and the state 10 percent."]
)
def test_rewrite_number_at_start_or_next_to_similar_number_is_excluded(sentence):
    assert rewrite_number(sentence) is None


LEMMAS = {"nodded": "nod", "walked": "walk", "arrived": "arrive", "was": "be", "issued": "issue"}


def annotate(text, label="PERSON"):
    """Annotate a sentence `[Name] verb [preposition Name] word … .` with names in brackets.

    The first name is the subject of the verb. The other words depend on the verb, and a second name on the word before
    it. The verb is the first word in `LEMMAS`.
    """
    tokens = text.removesuffix(".").split()
    words = [token.strip("[]") for token in tokens]
    verb = next(i for i, word in enumerate(words) if word in LEMMAS)
    rows = [[word, LEMMAS.get(word, word.lower()), "ADV", "RB", verb + 1, "advmod"] for word in words]
    rows[verb][2:] = ["VERB", "VBD", verb + 1, "ROOT"]
    entities, start = [], 0
    for end, token in enumerate(tokens, start=1):
        start = end - 1 if token.startswith("[") else start
        if token.endswith("]"):
            for row in rows[start:end]:
                row[2:] = ["PROPN", "NNP", end, "compound"]
            is_subject = end <= verb
            rows[end - 1][4:] = [verb + 1, "nsubj"] if is_subject else [start, "pobj"]
            if not is_subject:
                rows[start - 1][5] = "prep"
            entities.append(Entity(start, end, label))
    rows.append(["+.", ".", "PUNCT", ".", verb + 1, "punct"])
    return build_parse("\n".join(" ".join(map(str, row)) for row in rows)), entities


PERSONS = [annotate(f"[{name}] nodded slowly.") for name in ("Jones", "Smith", "Baker", "Carter")]
CITIES = [annotate(f"They arrived in [{name}] today.", "GPE") for name in ("Paris", "Rome", "Oslo")]
AGENCIES = [annotate(f"[{name}] issued rules today.", "ORG") for name in ("EPA", "FDA", "GAO")]
FULL = [annotate(f"[{name}] nodded slowly.") for name in ("Ann Lee", "Bob Ray", "Cy Fox")]
TEXT = [*PERSONS, *CITIES, *AGENCIES, *FULL]


def _count_exclusions(sentence, text=TEXT):
    rejected = Counter()
    assert replace_name(*sentence, collect_names([*text, sentence]), rejection_counts=rejected) is None
    return rejected


@pytest.mark.parametrize(("group", "start"), [(PERSONS, 0), (CITIES, 3), (AGENCIES, 0), (FULL, 0)])
def test_exchange_name_uses_name_of_same_class(group, start):
    words = {str(parse).split()[start] for parse, _ in group}
    for parse, entities in group:
        edit = replace_name(parse, entities, collect_names(TEXT))
        assert edit.new.split()[0] in words
        assert edit.new != edit.old
        assert edit.hypothesis == str(parse).replace(edit.old, edit.new)


def test_name_pairs_depend_on_seed_but_not_on_sentence_order():
    by_seed = [build_name_pairs(lambda: TEXT, seed) for seed in range(5)]
    assert len(by_seed[0]) == len(TEXT)
    assert len(set(map(str, by_seed))) > 1
    shuffled = random.Random(0).sample(TEXT, len(TEXT))
    assert [build_name_pairs(lambda: shuffled, seed) for seed in range(5)] == by_seed


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (annotate("[Jones] was there."), ROLE),  # a stative verb
        (annotate("They arrived with [Jones] today."), ROLE),
        (annotate("[Jones] nodded to [Jones]."), REPEATED),
        (annotate("[Jones] never nodded slowly."), SCOPE),
        (annotate("[Jones] nodded or walked."), SCOPE),
        (annotate("[Jones] walked to her slowly."), PRONOUN),
        (annotate("They arrived in [Atlantis] today.", "GPE"), NOT_LISTED),
        (annotate("They arrived in [Paris] from [Spain].", "GPE"), OTHER_PLACE),
        (annotate("[Chief Jones] nodded slowly.", "ORG"), JOINED),  # not the form of an organization
    ],
)
def test_exchange_name_excludes_unclear_sentence_with_reason(sentence, reason):
    assert reason in _count_exclusions(sentence)


def annotate_after(word, name):
    """Annotate `WORD Name nodded.`, given the line of the parse for a word that depends on the name."""
    lines = [word, f"{name} name PROPN NNP 3 nsubj", "nodded nod VERB VBD 3 ROOT", "+. . PUNCT . 3 punct"]
    return build_parse("\n".join(lines)), [Entity(1, 2, "PERSON")]


@pytest.mark.parametrize(("word", "name"), [("old old ADJ JJ 2 amod", "Jones"), ("ex- ex- ADJ JJ 2 amod", "+Jones")])
def test_exchange_name_excludes_modified_or_joined_name(word, name):
    assert _count_exclusions(annotate_after(word, name)) == {JOINED: 1}


def test_exchange_name_excludes_ambiguous_or_common_name():
    two_kinds = [annotate("They walked in [Jones] today.", "GPE")]
    common = [annotate("They walked to jones today.")]
    for others in (two_kinds, common):
        assert UNSURE in _count_exclusions(PERSONS[0], [*TEXT, *others])
        assert all(pair.new != "Jones" for pair in build_name_pairs(lambda more=others: [*TEXT, *more]).values())


def test_exchange_name_requires_enough_names():
    assert _count_exclusions(PERSONS[0], PERSONS[:2]) == {FEW: 1}
    assert build_name_pairs(lambda: PERSONS[:3])


def test_exchange_name_keeps_title():
    titled = [annotate_after("Mr. Mr. PROPN NNP 2 compound", name) for name in ("Hall", "King", "Wood")]
    for parse, entities in titled:
        edit = replace_name(parse, entities, collect_names([*titled, *TEXT]))
        assert edit.hypothesis.startswith("Mr. ")
        assert edit.new in {"Hall", "King", "Wood"} - {edit.old}


def test_exchange_name_excludes_possibly_coreferent_names():
    names = collect_names([annotate("[John Smith] nodded slowly.")])
    pairs = (("John", "Smith"), ("Smith", "John"), ("John", "Baker"))
    assert [are_names_possibly_coreferent(*pair, names) for pair in pairs] == [True, True, False]
    text = [annotate(f"[{name}] nodded slowly.") for name in ("Tom", "Tommy", "Tomas")]
    assert _count_exclusions(text[0], text) == {SAME: 1}


def test_city_is_not_exchanged_with_country():
    countries = [annotate(f"They arrived in [{name}] today.", "GPE") for name in ("France", "Italy", "Norway")]
    for premise, pair in build_name_pairs(lambda: [*CITIES, *countries]).items():
        assert PLACE_LEVELS[pair.old] is PLACE_LEVELS[pair.new], premise
