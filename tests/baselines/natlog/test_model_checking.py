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


def test_verb_without_object_has_expected_relation():
    """The predicates "full of students" and "empty" exclude each other, whatever modifies the students."""
    lexicon = WordRelations(verb=R.ALTERNATION, coreferent=True)
    for students in (A, NounPhrase(adjective="happy")):
        assert _compute_relation(ClauseLogicalForm(A, students), ClauseLogicalForm(A), lexicon) is R.ALTERNATION
    eats = WordRelations(verb=R.FORWARD_ENTAILMENT)
    assert _compute_relation(ClauseLogicalForm(A, A), ClauseLogicalForm(A), eats) is R.FORWARD_ENTAILMENT
    assert _compute_relation(ClauseLogicalForm(A), ClauseLogicalForm(A), eats) is R.FORWARD_ENTAILMENT


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

    for shape in SHAPES[::3]:
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
