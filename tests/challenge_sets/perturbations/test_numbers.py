import re

import pytest

from unbag.challenge_sets.perturbations.numbers import (
    NOTATIONS,
    VALUES,
    NumberKind,
    build_number_pairs,
    change_number,
    find_numbers,
    rewrite_number,
)

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
