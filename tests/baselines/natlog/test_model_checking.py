"""Tests of finite models and of the labels that follow from them.

The sentence shapes are seeds with every kind of lexicon and one modifier at a time.
"""

from dataclasses import replace
from itertools import chain, product

import pytest

from unbag.baselines.natlog.model_checking import compute_relation, format_proof
from unbag.baselines.natlog.models import (
    FiniteModel,
    LogicalModelEntity,
    LogicalModelEvent,
    find_truth_value_models,
    is_true_in_model,
)
from unbag.baselines.natlog.parsing import ClauseLogicalForm, NounPhrase, PairLogicalForm, Quantifier, WordRelations
from unbag.baselines.natlog.relations import REGIONS, Relation

A, THE = NounPhrase(), NounPhrase(Quantifier.THE)
LEXICONS = {
    "same": WordRelations(),
    "subject": WordRelations(subject=Relation.FORWARD_ENTAILMENT),
    "object": WordRelations(object=Relation.FORWARD_ENTAILMENT),
    "verb": WordRelations(verb=Relation.FORWARD_ENTAILMENT),
    "excluding verbs": WordRelations(verb=Relation.ALTERNATION),
    "excluding verbs, one scene": WordRelations(verb=Relation.ALTERNATION, coreferent=True),
    "excluding objects, one scene": WordRelations(object=Relation.ALTERNATION, coreferent=True),
    "nothing known": WordRelations(subject=Relation.INDEPENDENCE, verb=Relation.INDEPENDENCE),
}
EXCHANGE_LEXICON = WordRelations(verb=Relation.ALTERNATION, coreferent=True, exchanged=True)
MODIFIERS = [(), ("not",), ("always",), ("never",), ("not", "always")]


PHRASES = [*map(NounPhrase, Quantifier), NounPhrase(adjective="green")]


def iter_pair_shapes():
    """Yield the shapes of modified seeds as in SICCK: one part changes in the premise, the hypothesis or both."""
    for lexicon, subject in product([*LEXICONS.values(), EXCHANGE_LEXICON], [A, THE]):
        plain = ClauseLogicalForm(subject, A)
        for change in (
            *({"subject": phrase} for phrase in PHRASES),
            *({"object": phrase} for phrase in PHRASES),
            *({"modifiers": modifiers} for modifiers in MODIFIERS),
            {"adverb": "neatly"},
        ):
            new = replace(plain, **change)
            yield from (PairLogicalForm(*clauses, lexicon) for clauses in ((new, plain), (plain, new), (new, new)))


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
    for shape in SHAPES[::7]:
        lexicon = shape.word_relations
        converses = [relation.converse for relation in (lexicon.subject, lexicon.verb, lexicon.object)]
        subject, verb, thing = converses[::-1] if lexicon.exchanged else converses
        turned = replace(lexicon, subject=subject, verb=verb, object=thing)
        swapped = PairLogicalForm(shape.hypothesis, shape.premise, turned)
        assert compute_relation(swapped) is compute_relation(shape).converse, shape


def test_negating_both_sentences_gives_negated_relation():
    """`not` under a definite subject negates the sentence."""
    turned = 0
    for shape in SHAPES:
        clauses, lexicon = (shape.premise, shape.hypothesis), shape.word_relations
        if lexicon.subject is R.EQUIVALENCE and all(
            clause.subject == THE and not clause.modifiers for clause in clauses
        ):
            relation = compute_relation(shape)
            negated = PairLogicalForm(*(replace(clause, modifiers=("not",)) for clause in clauses), lexicon)
            assert compute_relation(negated) is relation.complement_relation, shape
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
    clause = ClauseLogicalForm(THE, THE)
    shape = PairLogicalForm(clause, clause, WordRelations(verb=R.ALTERNATION, exchanged=True))
    proof = format_proof(shape, ("duck", "duck"), ("leading", "leading"), ("goose", "goose")).splitlines()
    assert "hypothesis true: no model." in proof[1]
    assert "s1 is duck, o1 is goose; now s1 leading o1." in proof[2]
    assert "s1 is duck, o1 is goose; now o1 leading s1." in proof[3]


ENTITY = LogicalModelEntity((True, True), frozenset())


def _build_model(*times, named=(0, 0), subjects=None):
    """Build a model from the events of each subject at each time: `times[time][subject][object]`."""
    events = tuple(tuple(tuple(LogicalModelEvent((does, does)) for does in row) for row in rows) for rows in times)
    return FiniteModel(subjects or (ENTITY,) * len(times[0]), (ENTITY,) * len(times[0][0]), named, events)


def _is_true(clause, model, lexicon=WordRelations()):  # noqa: B008  (frozen)
    if isinstance(clause, Quantifier):
        clause = ClauseLogicalForm(NounPhrase(clause), A)
    return is_true_in_model(0, clause, lexicon, model)


# The quantifiers that are true of "… man is sitting in a field", by the number of three men that sit.
BY_HAND = {
    0: {"not every", "no"},
    1: {"a", "some", "at least", "exactly", "not every"},
    2: {"a", "some", "at least", "not every", "all but"},
    3: {"a", "some", "at least", "every"},
}


@pytest.mark.parametrize("sitting", BY_HAND)
def test_quantifiers_equal_manual_examples(sitting):
    model = _build_model([[man < sitting] for man in range(3)])
    plain = [quantifier for quantifier in Quantifier if quantifier is not Quantifier.THE]
    assert {quantifier.value for quantifier in plain if _is_true(quantifier, model)} == BY_HAND[sitting]


def test_every_requires_members_and_all_but_one_does_not():
    """Section 3.3: |X| > 0 for "every". All but one of one man is nobody."""
    nobody = _build_model([[True]], subjects=(LogicalModelEntity((False, False), frozenset()),))
    assert not _is_true(Quantifier.EVERY, nobody)
    assert _is_true(Quantifier.NOT_EVERY, nobody)
    assert _is_true(Quantifier.ALL_BUT, _build_model([[False]]))


def test_numbers_equal_manual_examples():
    two_of_three = _build_model([[True], [True], [False]])
    tested = {Quantifier.A, Quantifier.EXACTLY, Quantifier.EVERY, Quantifier.ALL_BUT, Quantifier.NO}
    found = {each for each in tested if _is_true(ClauseLogicalForm(NounPhrase(each, 2), A), two_of_three)}
    assert found == {Quantifier.A, Quantifier.EXACTLY}


def test_scopes_equal_manual_examples():
    """The subject has scope over "not", which has scope over the object."""
    one_of_two_fences = _build_model([[True, False]])
    assert _is_true(ClauseLogicalForm(A, NounPhrase(Quantifier.EVERY), ("not",)), one_of_two_fences)
    assert not _is_true(ClauseLogicalForm(A, A, ("not",)), one_of_two_fences)


@pytest.mark.parametrize(
    ("now", "later", "expected"),
    [
        (True, True, {(), ("always",)}),
        (True, False, {(), ("not", "always")}),
        (False, True, {("not",), ("not", "always")}),
        (False, False, {("not",), ("never",), ("not", "always")}),
    ],
)
def test_times_equal_manual_examples(now, later, expected):
    model = _build_model([[now]], [[later]])
    assert {each for each in MODIFIERS if _is_true(ClauseLogicalForm(A, A, each), model)} == expected


def test_weak_phrases_refer_only_if_coreferent():
    only_the_other, coreferent = _build_model([[False], [True]], named=(1, 1)), WordRelations(coreferent=True)
    for quantifier in (Quantifier.A, Quantifier.SOME, Quantifier.EXACTLY):
        assert _is_true(quantifier, only_the_other)
        assert not _is_true(quantifier, only_the_other, coreferent)
    assert not _is_true(Quantifier.THE, only_the_other)
    assert _is_true(Quantifier.NOT_EVERY, only_the_other, coreferent)


def test_clause_with_always_before_not_raises():
    with pytest.raises(ValueError, match=r"modifiers: expected only 'not' before the last modifier, got \['always'\]"):
        ClauseLogicalForm(A, A, ("always", "not"))


def _find_truth_values(shape, model):
    clauses = enumerate((shape.premise, shape.hypothesis))
    return tuple(is_true_in_model(side, clause, shape.word_relations, model) for side, clause in clauses)


@pytest.mark.nightly
def test_outcome_models_have_their_truth_values():
    """The lexicon allows each model."""
    for shape in SHAPES:
        lexicon = shape.word_relations
        found = find_truth_value_models(shape)
        assert found
        for part, model in found.items():
            assert _find_truth_values(shape, model) == part, shape
            for things, relation in ((model.subjects, lexicon.subject), (model.objects, lexicon.object)):
                assert not {thing.nouns for thing in things} & set(relation.empty_regions - {(False, False)})
                assert all(any(thing.nouns[side] for thing in things) for side in (0, 1))
            for row in chain.from_iterable(model.times):
                assert not {event.verbs for event in row} & lexicon.verb.empty_regions
                if lexicon.verb is Relation.ALTERNATION and not lexicon.exchanged:
                    assert not (any(event.verbs[0] for event in row) and any(event.verbs[1] for event in row))


def _iter_small_models(shape):
    """Yield all models with up to two subjects and two objects, without the optimizations of the labeler."""
    lexicon = shape.word_relations
    turned = lexicon.exchanged
    first = [shape.premise.subject, shape.hypothesis.object if turned else shape.hypothesis.subject]
    second = [shape.premise.object, shape.hypothesis.subject if turned else shape.hypothesis.object]
    named = tuple(
        max((phrase.number for phrase in phrases if phrase.is_referential(lexicon.coreferent)), default=0)
        for phrases in (first, second)
    )
    verbs = [part for part in REGIONS if part not in lexicon.verb.empty_regions]
    kinds = []
    for phrases, relation in ((first, lexicon.subject), (second, lexicon.object)):
        adjectives = {phrase.adjective for phrase in phrases if phrase.adjective}
        sets = dict.fromkeys([frozenset(), frozenset(adjectives)])
        parts = [part for part in REGIONS if part not in relation.empty_regions and any(part)]
        kinds.append([LogicalModelEntity(part, adjectives) for part, adjectives in product(parts, sets)])
    for n_subjects, n_objects in product((1, 2), repeat=2):
        for subjects, objects in product(product(kinds[0], repeat=n_subjects), product(kinds[1], repeat=n_objects)):
            if not all(any(thing.nouns[side] for thing in things) for things in (subjects, objects) for side in (0, 1)):
                continue
            if len(subjects) < named[0] or len(objects) < named[1]:
                continue
            for flat in product(verbs, repeat=n_subjects * n_objects):
                rows = [flat[i : i + n_objects] for i in range(0, len(flat), n_objects)]
                if lexicon.verb is Relation.ALTERNATION and not turned:
                    if any(any(v[0] for v in row) and any(v[1] for v in row) for row in rows):
                        continue
                time = tuple(tuple(LogicalModelEvent(verb) for verb in row) for row in rows)
                yield FiniteModel(subjects, objects, named, (time,))


@pytest.mark.nightly
def test_outcomes_include_all_of_small_models():
    checked = 0
    for shape in SHAPES[::7]:
        if shape.premise.modifiers + shape.hypothesis.modifiers not in ((), ("not",)) or shape.premise.adverb:
            continue
        shown = {_find_truth_values(shape, model) for model in _iter_small_models(shape)}
        assert shown <= set(find_truth_value_models(shape)), shape
        checked += len(shown)
    assert checked > 100


def test_outcomes_do_not_change_with_higher_bound():
    two = {each: NounPhrase(each, 2) for each in Quantifier}
    quantifiers = list(Quantifier)
    plural = [
        PairLogicalForm(
            ClauseLogicalForm(A, two[quantifiers[one]]), ClauseLogicalForm(A, two[quantifiers[other]]), lexicon
        )
        for one, other in [(0, 0), (3, 0), (7, 5), (8, 4)]
        for lexicon in LEXICONS.values()
    ]
    for shapes, bound in ((SHAPES[::5], 5), (plural, 7)):
        for shape in shapes:
            assert set(find_truth_value_models(shape)) == set(find_truth_value_models(shape, bound)), shape


def test_outcomes_of_exchanged_pair_without_object_raise():
    with pytest.raises(ValueError, match="swapped pair: expected a grammatical object in both sentences"):
        find_truth_value_models(PairLogicalForm(ClauseLogicalForm(THE), ClauseLogicalForm(THE), EXCHANGE_LEXICON))
