import pytest

from tests.baselines.natlog.pair_shapes import LEXICONS, THE, A, iter_pair_shapes
from unbag.baselines.natlog.model_checking import compute_relation, format_proof
from unbag.baselines.natlog.parsing import ClauseLogicalForm, NounPhrase, PairLogicalForm, Quantifier, WordRelations
from unbag.baselines.natlog.relations import Relation

R = Relation
SHAPES = list(dict.fromkeys(iter_pair_shapes()))


def _compute_relation(premise, hypothesis, lexicon=None):
    return compute_relation(PairLogicalForm(premise, hypothesis, lexicon or WordRelations()))


# The square of opposition, extended by section 3.3: "every" presupposes members, "all but one" does not.
SQUARE = {
    ("every", "every"): R.EQUIVALENCE,
    ("every", "some"): R.FORWARD_ENTAILMENT,
    ("some", "every"): R.REVERSE_ENTAILMENT,
    ("some", "at least"): R.EQUIVALENCE,
    ("every", "not every"): R.NEGATION,
    ("some", "no"): R.NEGATION,
    ("every", "no"): R.ALTERNATION,
    ("some", "not every"): R.COVER,
    ("no", "not every"): R.FORWARD_ENTAILMENT,
    ("exactly", "some"): R.FORWARD_ENTAILMENT,
    ("exactly", "no"): R.ALTERNATION,
    ("exactly", "every"): R.INDEPENDENCE,
    ("all but", "every"): R.ALTERNATION,
    ("all but", "not every"): R.FORWARD_ENTAILMENT,
    ("all but", "some"): R.INDEPENDENCE,
    ("all but", "no"): R.INDEPENDENCE,
}


@pytest.mark.parametrize("quantifiers", SQUARE)
def test_labels_equal_square_of_opposition(quantifiers):
    premise, hypothesis = (ClauseLogicalForm(NounPhrase(Quantifier(name)), A) for name in quantifiers)
    assert _compute_relation(premise, hypothesis) is SQUARE[quantifiers]


EVERY = NounPhrase(Quantifier.EVERY)
SUBJECT = LEXICONS["subject"]


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        (ClauseLogicalForm(A, A), ClauseLogicalForm(A, A), R.FORWARD_ENTAILMENT),
        (ClauseLogicalForm(EVERY, A), ClauseLogicalForm(A, A), R.FORWARD_ENTAILMENT),
        (ClauseLogicalForm(A, A), ClauseLogicalForm(EVERY, A), R.REVERSE_ENTAILMENT),
        (ClauseLogicalForm(A, A, (), "elegantly"), ClauseLogicalForm(A, A, (), "elegantly"), R.FORWARD_ENTAILMENT),
        (ClauseLogicalForm(A, EVERY), ClauseLogicalForm(A, A), R.FORWARD_ENTAILMENT),
        (ClauseLogicalForm(A, A), ClauseLogicalForm(A, EVERY), R.INDEPENDENCE),
    ],
)
def test_labels_equal_table_4_of_paper(premise, hypothesis, expected):
    """ "An old man" and "a man" are the only modified pairs with explained labels in the paper."""
    assert _compute_relation(premise, hypothesis, SUBJECT) is expected


def test_label_equals_contradiction_of_paper():
    """Section 3.3, 5: every turtle follows the fish, and every fish follows the turtle. No model satisfies both."""
    lexicon = WordRelations(verb=R.ALTERNATION, exchanged=True)
    assert _compute_relation(ClauseLogicalForm(EVERY, THE), ClauseLogicalForm(EVERY, THE), lexicon) is R.ALTERNATION


@pytest.mark.parametrize(
    ("modifiers", "expected"),
    [
        (((), ("not",)), R.NEGATION),
        ((("not",), ()), R.NEGATION),
        (((), ("always",)), R.REVERSE_ENTAILMENT),
        (((), ("never",)), R.ALTERNATION),
        ((("always",), ("never",)), R.ALTERNATION),
        ((("always",), ("not", "always")), R.NEGATION),
        ((("never",), ("not",)), R.FORWARD_ENTAILMENT),
    ],
)
def test_verb_modifiers_give_expected_relation(modifiers, expected):
    premise, hypothesis = (ClauseLogicalForm(THE, THE, modifier) for modifier in modifiers)
    assert _compute_relation(premise, hypothesis) is expected


def test_adjectives_and_adverbs_give_expected_relation():
    green, good = NounPhrase(adjective="green"), NounPhrase(adjective="good")
    assert _compute_relation(ClauseLogicalForm(green, A), ClauseLogicalForm(A, A)) is R.FORWARD_ENTAILMENT
    assert _compute_relation(ClauseLogicalForm(green, A), ClauseLogicalForm(green, A), SUBJECT) is R.FORWARD_ENTAILMENT
    assert _compute_relation(ClauseLogicalForm(green, A), ClauseLogicalForm(good, A)) is R.INDEPENDENCE
    every_green = NounPhrase(Quantifier.EVERY, adjective="green")
    # No entailment: every man can be there while no man is green, and "every" presupposes members.
    assert _compute_relation(ClauseLogicalForm(EVERY, A), ClauseLogicalForm(every_green, A)) is R.INDEPENDENCE
    assert _compute_relation(ClauseLogicalForm(A, A, (), "neatly"), ClauseLogicalForm(A, A)) is R.FORWARD_ENTAILMENT


def test_verb_without_object_has_expected_relation():
    """The predicates "full of students" and "empty" exclude each other, whatever modifies the students."""
    lexicon = WordRelations(verb=R.ALTERNATION, coreferent=True)
    for students in (A, NounPhrase(adjective="happy")):
        assert _compute_relation(ClauseLogicalForm(A, students), ClauseLogicalForm(A), lexicon) is R.ALTERNATION
    eats = WordRelations(verb=R.FORWARD_ENTAILMENT)
    assert _compute_relation(ClauseLogicalForm(A, A), ClauseLogicalForm(A), eats) is R.FORWARD_ENTAILMENT
    assert _compute_relation(ClauseLogicalForm(A), ClauseLogicalForm(A), eats) is R.FORWARD_ENTAILMENT


def test_unknown_relations_give_independence():
    unknown = WordRelations(subject=R.INDEPENDENCE, verb=R.INDEPENDENCE, object=R.INDEPENDENCE)
    for shape in SHAPES[:100]:
        assert compute_relation(PairLogicalForm(shape.premise, shape.hypothesis, unknown)) is R.INDEPENDENCE


def test_swapped_sentences_give_converse_relation():
    def swap_sentences(shape):
        lexicon = shape.word_relations
        if lexicon.exchanged:
            turned = WordRelations(
                lexicon.object.converse, lexicon.verb.converse, lexicon.subject.converse, lexicon.coreferent, True
            )
        else:
            turned = WordRelations(
                lexicon.subject.converse, lexicon.verb.converse, lexicon.object.converse, lexicon.coreferent
            )
        return PairLogicalForm(shape.hypothesis, shape.premise, turned)

    for shape in SHAPES:
        assert compute_relation(swap_sentences(shape)) is compute_relation(shape).converse, shape


def test_negating_both_sentences_gives_negated_relation():
    """`not` under a definite subject negates the sentence."""
    turned = 0
    for shape in SHAPES:
        if shape.premise.subject == shape.hypothesis.subject == THE and not (
            shape.premise.modifiers or shape.hypothesis.modifiers or shape.word_relations.subject is not R.EQUIVALENCE
        ):
            negated = (
                ClauseLogicalForm(clause.subject, clause.object, ("not",), clause.adverb)
                for clause in (shape.premise, shape.hypothesis)
            )
            relation = compute_relation(shape)
            assert compute_relation(PairLogicalForm(*negated, shape.word_relations)) is relation.complement_relation, (
                shape
            )
            turned += relation in (R.FORWARD_ENTAILMENT, R.REVERSE_ENTAILMENT)
    assert turned > 10


def test_relation_depends_on_equality_of_adjectives_not_names():
    def build_pair(first, second):
        return PairLogicalForm(
            ClauseLogicalForm(NounPhrase(adjective=first), A),
            ClauseLogicalForm(NounPhrase(adjective=second), A),
            SUBJECT,
        )

    assert (
        compute_relation(build_pair("green", "green"))
        is compute_relation(build_pair("sad", "sad"))
        is R.FORWARD_ENTAILMENT
    )
    assert compute_relation(build_pair("green", "sad")) is compute_relation(build_pair("b", "a")) is R.INDEPENDENCE


def test_proof_has_line_for_each_pair_of_truth_values():
    shape = PairLogicalForm(ClauseLogicalForm(EVERY, A), ClauseLogicalForm(A, A), SUBJECT)
    proof = format_proof(shape, ("small dog", "dog"), ("barking at", "barking at"), ("cat", "cat")).splitlines()
    assert proof[0] == "forward_entailment"
    assert proof[1] == (
        "premise true, hypothesis true: s1 is small dog and dog, o1 is cat; now s1 barking at o1. "
        "Not negation or alternation."
    )
    assert proof[2] == (
        "premise true, hypothesis false: no model. "
        "Not reverse_entailment or negation or alternation or cover or independence."
    )
    assert "nothing happens" in proof[4]


def test_proof_excludes_all_relations_but_one():
    for shape in SHAPES[::9]:
        first, *lines = format_proof(shape, ("a", "b"), ("c", "d"), ("e", "f")).splitlines()
        ruled_out = {name for line in lines for name in line.rpartition("Not ")[2].rstrip(".").split(" or ")}
        if "in every model or in none" in first:
            assert first.startswith("independence")
            assert not any("Not " in line for line in lines)
        else:
            assert {relation.value for relation in R} - ruled_out == {first}, shape


def test_proof_of_exchanged_pair_names_agent_and_patient():
    shape = PairLogicalForm(
        ClauseLogicalForm(THE, THE), ClauseLogicalForm(THE, THE), WordRelations(verb=R.ALTERNATION, exchanged=True)
    )
    proof = format_proof(shape, ("duck", "duck"), ("leading", "leading"), ("goose", "goose")).splitlines()
    assert "hypothesis true: no model." in proof[1]
    assert "s1 is duck, o1 is goose; now s1 leading o1." in proof[2]
    assert "s1 is duck, o1 is goose; now o1 leading s1." in proof[3]


def test_proof_of_verb_without_object_names_no_object():
    shape = PairLogicalForm(
        ClauseLogicalForm(A, A), ClauseLogicalForm(A), WordRelations(verb=R.ALTERNATION, coreferent=True)
    )
    proof = format_proof(shape, ("jar", "jar"), ("full of", "empty"), ("nuts", "")).splitlines()
    assert "s1 is jar, o1 is nuts; now s1 full of o1." in proof[2]
    assert "s1 is jar, o1 is nuts; now s1 empty." in proof[3]
