"""Tests of the agreement between the labeller and the annotators of the official file."""

import pytest

from benchmarks.sicck_reproduction import (
    ELSE,
    SAME,
    AnnotatorDisagreement,
    _cause,
    build_official_logical_forms,
    count_annotator_agreement,
    count_reproduced_pairs,
)
from unbag.baselines.natlog.models import find_truth_value_models
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.natlog.seeds import split_constituents
from unbag.challenge_sets.perturbations.modifiers import MODIFIERS_BY_NAME, build_modified_sentence
from unbag.challenge_sets.perturbations.sicck import SicckRow, read_sicck


@pytest.fixture(scope="module")
def rows(shared):
    return read_sicck(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")[0]


def test_annotator_agreement_equals_card(rows):
    """A regression test. The readings were fixed before the comparison with the labels."""
    found = count_annotator_agreement(rows)
    assert found["n"] == 1304
    assert (found["seven_way"], found["four_way"]) == (1085, 1159)


def test_most_frequent_disagreements_equal_card(rows):
    found = count_annotator_agreement(rows)["disagreements"]
    assert sum(found.values()) == 1304 - 1159
    assert [(tuple(name), n) for name, n in found.most_common(8)] == [
        (("subject", "adjective", "one", "neutral", "contradiction"), 10),
        (("subject", "not every", "one", "neutral", "reverse_entailment"), 9),
        (("object", "all but", "one", "forward_entailment", "neutral"), 9),
        (("verb", "not", "one", "neutral", "reverse_entailment"), 8),
        (("object", "adjective", "one", "contradiction", "neutral"), 7),
        (("object", "adjective", "both", "neutral", "forward_entailment"), 6),
        (("verb", "never", "one", "contradiction", "neutral"), 5),
        (("object", "no", "one", "contradiction", "neutral"), 5),
    ]


def _build_row(number, premise, hypothesis, modifier, position, relation):
    kind = "none" if modifier == "none" else MODIFIERS_BY_NAME[modifier].type
    part = "none" if modifier == "none" else "subject"
    return SicckRow(number, "7", premise, hypothesis, modifier, kind, position, part, (relation,))


ROWS = [
    _build_row(0, "A poodle is asleep", "A dog is asleep", "none", "none", Relation.FORWARD_ENTAILMENT),
    _build_row(1, "no poodle is asleep", "a dog is asleep", "no", "premise", Relation.NEGATION),
    _build_row(2, "a poodle is asleep", "no dog is asleep", "no", "hypothesis", Relation.NEGATION),
    _build_row(3, "Every  poodle is asleep", "a dog is asleep", "every", "premise", Relation.FORWARD_ENTAILMENT),
    _build_row(4, "green poodle is asleep", "a dog is asleep", "green", "premise", Relation.FORWARD_ENTAILMENT),
]


def test_agreement_equals_manual_example():
    """ "No poodle is asleep" and "a dog is asleep" can both be true (a beagle sleeps), and one must be: cover."""
    found = count_annotator_agreement(ROWS)
    assert (found["n"], found["seven_way"], found["four_way"]) == (5, 3, 4)
    assert found["confusion"]["negation", "cover"] == 1
    assert found["confusion"]["negation", "alternation"] == 1
    assert found["disagreements"] == {AnnotatorDisagreement("subject", "no", "one", "contradiction", "neutral"): 1}


def test_cause_must_explain_difference_alone():
    assert count_reproduced_pairs(ROWS) == {SAME: 3, "no article before an adjective (green man)": 1}


@pytest.mark.parametrize(
    ("modifier", "theirs", "cause"),
    [
        ("every one of", "everyone of kitten isn't asleep", "everyone of man"),
        ("at least", "at least kitten isn't asleep", "at least without number (at least man)"),
        (
            "green",
            "green kitten is n't asleep",
            "no article before an adjective (green man) and is n't in two words",
        ),
        ("green", "green kitten is not asleep", "no article before an adjective (green man) and is not for isn't"),
        ("green", "green kitten isn't awake", ELSE),
        ("green", "the green kitten isn't asleep", ELSE),
        ("every one of", "everyone of kittens isn't asleep", ELSE),
    ],
)
def test_single_difference_is_named_as_cause(modifier, theirs, cause):
    kitten = split_constituents("a kitten isn't asleep")
    ours = build_modified_sentence(kitten, (("subject", MODIFIERS_BY_NAME[modifier]),))
    assert (
        _cause([(kitten, ours), (kitten, build_modified_sentence(kitten))], (theirs, "A kitten isn't asleep")) == cause
    )


def test_reproduced_official_pairs_equal_card(rows):
    found = count_reproduced_pairs(rows)
    assert found.total() == 1289
    assert found[SAME] == 888
    assert found[ELSE] == 4


@pytest.mark.nightly
@pytest.mark.slow
def test_higher_bound_does_not_change_occurring_shapes(rows):
    shapes = set(build_official_logical_forms(rows))
    assert len(shapes) > 100
    for shape in shapes:
        bound = 6 if max(_iter_numbers(shape)) == 1 else 7
        assert set(find_truth_value_models(shape)) == set(find_truth_value_models(shape, bound)), shape


def _iter_numbers(shape):
    for clause in (shape.premise, shape.hypothesis):
        yield clause.subject.number
        if clause.object is not None:
            yield clause.object.number
