"""Tests of modified seed pairs, and of the official SICCK file."""

import csv
from collections import Counter

import pytest

from benchmarks.sicck_reproduction import (
    ELSE,
    SAME,
    count_annotator_agreement,
    count_by_group,
    count_reproduced_pairs,
)
from unbag.baselines.natlog.relations import Relation
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
from unbag.challenge_sets.perturbations.sicck import FILE, PAIRS, SEED_PAIRS, SicckPair, assign_folds, read_sicck
from unbag.data.downloads import fetch_pinned_file

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


HEADER = [
    "Sno", "SICK_id", "Premise", "Hypothesis", "Modifier", "Premise/Hypothesis/Both",
    "Part of Premise/Hypothesis Modified", "Modifier Type", "Ground Truth \n(Total 7)", "CompressedGT\n(4)",
]  # fmt: skip


def test_values_are_normalized(tmp_path):
    path = tmp_path / "sicck.csv"
    rows = [
        ["0", "7", "a cat is up", "a cat is up", "NONE", "NONE", "NONE", "No Modifiers", "FE", "FE"],
        ["1", "7", " a cat", "b\n", "everyone of", "premise", "subject", "Universal", "Negation|Alternation",
         "Contradiction"],
        ["892", "7", "a", "b", "never", "FE", "Verb", "Universal", "RE", "RE"],
        ["3", "7", "a", "b", "an abnormal", "Both", "Object", "Adjectives/Adverbs", "Neutral", "Neutral"],
        # The paper excludes these from the four labels.
        ["4", "7", "a", "b", "no", "both", "verb", "Negation", "Equivalence", "Equivalence"],
        ["5", "7", "a", "b", "no", "both", "verb", "Negation", "Cover|FE", "x"],
    ]  # fmt: skip
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    found = read_sicck(path)
    assert [row.modifier for row in found[:4]] == ["none", "every one of", "never", "abnormal"]
    assert [row.position for row in found[:4]] == ["none", "premise", "both", "both"]
    assert found[1].premise == "a cat"
    assert found[1].relations == (Relation.NEGATION, Relation.ALTERNATION)
    four_way = ["forward_entailment", "contradiction", "reverse_entailment", "neutral", None, None]
    assert [row.four_way for row in found] == four_way
    three_way = ["entailment", "contradiction", "neutral", "neutral", "entailment", "neutral"]
    assert [row.label for row in found] == three_way


def test_official_file_has_known_counts(shared):
    """The counts are those of section 9 of the specification and of Tables 5 and 6 of the paper."""
    path = fetch_pinned_file(FILE, local_copy=shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")  # verifies the hash
    rows = read_sicck(path)
    assert len(rows) == 1304 == PAIRS
    assert len({row.source_id for row in rows}) == SEED_PAIRS == 15
    assert count_by_group(rows) == {
        "type": {"universal": 217, "existential": 303, "negation": 167, "adjective/adverb": 602, "none": 15},
        "part": {"subject": 560, "verb": 220, "object": 509, "none": 15},
    }
    assert Counter(row.four_way for row in rows) == {
        "neutral": 593, "contradiction": 422, "forward_entailment": 259, "reverse_entailment": 30,
    }  # fmt: skip
    assert len({row.id for row in rows}) == len(rows)
    # The card states how many cells are normalized: white space, spelling of modifiers, and case.
    with path.open(encoding="utf-8-sig", newline="") as file:
        raw = list(csv.reader(file))[1:]
    assert sum(cell != cell.strip() for cells in raw for cell in cells[2:4]) == 155
    assert sum(cells[4] != row.modifier != "none" for cells, row in zip(raw, rows, strict=True)) == 125
    assert sum(cell.strip().islower() for cells in raw for cell in cells[5:7]) == 46
    # The authors' column of four-way labels has the label that follows from their relations.
    names = {"FE": "forward_entailment", "RE": "reverse_entailment"}
    published = [names.get(cells[9], cells[9].lower()) for cells in raw]
    assert all(row.four_way in (None, label) for row, label in zip(rows, published, strict=True))


SEEDS = [f"seed {i % 7}" for i in range(100)]


def _assign_folds(seeds, n_folds, **options):
    pair = SicckPair("", "", "", "", "", "", "", "", ())
    return assign_folds([pair._replace(source_id=f"sick-{seed}") for seed in seeds], n_folds, **options)


def test_contiguous_folds_are_blocks_of_rows_sorted_by_seed():
    # By hand: seed b comes first, with rows 0, 2, 3, 6, then a with rows 1, 4, 5. The blocks have 3, 2 and 2 rows.
    assert _assign_folds(list("babbaab"), 3) == [0, 1, 0, 0, 2, 2, 1]


@pytest.mark.parametrize("method", ["spread", "whole_seeds"])
def test_folds_divide_or_keep_each_seed(method):
    found = _assign_folds(SEEDS, 5, method=method)
    assert set(found) == set(range(5))
    assert method == "whole_seeds" or Counter(found) == dict.fromkeys(range(5), 20)
    assert found == _assign_folds(SEEDS, 5, method=method) != _assign_folds(SEEDS, 5, method=method, seed=14)
    for name in set(SEEDS):
        sizes = Counter(fold for fold, seed in zip(found, SEEDS, strict=True) if seed == name)
        if method == "whole_seeds":
            assert len(sizes) == 1
        else:
            assert max(sizes.values()) - min(sizes.get(fold, 0) for fold in range(5)) <= 1


def test_agreement_of_labels_and_pairs_equals_card(shared):
    """A regression test. The readings were fixed before the comparison with the labels."""
    rows = read_sicck(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")
    found = count_annotator_agreement(rows)
    assert (found["n"], found["seven_way"], found["four_way"]) == (1304, 1085, 1159)
    assert found["disagreements"].total() == 1304 - 1159
    assert [(tuple(name), n) for name, n in found["disagreements"].most_common(3)] == [
        (("subject", "adjective", "one", "neutral", "contradiction"), 10),
        (("subject", "not every", "one", "neutral", "reverse_entailment"), 9),
        (("object", "all but", "one", "forward_entailment", "neutral"), 9),
    ]
    reproduced = count_reproduced_pairs(rows)
    assert (reproduced.total(), reproduced[SAME], reproduced[ELSE]) == (1289, 888, 4)
