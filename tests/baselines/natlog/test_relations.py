"""Tests of relations, of their projection through determiners, and of the replacement of determiners."""

from itertools import product

import pytest

from unbag.baselines.natlog.determiners import (
    ANY,
    EVERY,
    FEW,
    NO,
    A,
    Determiner,
    DeterminerKind,
    build_restrictor_projection,
    build_scope_projection,
    compute_determiner_relation,
    replace_determiners,
)
from unbag.baselines.natlog.models import find_truth_value_models
from unbag.baselines.natlog.parsing import ClauseLogicalForm, NounPhrase, PairLogicalForm, Quantifier, WordRelations
from unbag.baselines.natlog.relations import (
    REGIONS,
    Monotonicity,
    Relation,
    classify_relation,
    join_relations,
    project_relation,
)

SYMBOLS = dict(zip("=<>^|v#", Relation, strict=True))

# The table in section 2.3 of MacCartney & Manning (2009), transcribed: row joined with column.
TABLE = """
    =  =      <       >       ^  |       v       #
    =: =      <       >       ^  |       v       #
    <: <      <       =<>|#   |  |       <^|v#   <|#
    >: >      =<>v#   >       v  >^|v#   v       >v#
    ^: ^      v       |       =  >       <       #
    |: |      <^|v#   |       <  =<>|#   <       <|#
    v: v      v       >^|v#   >  >       =<>v#   >v#
    #: #      <v#     >|#     #  >|#     <v#     =<>^|v#
"""


def _list_subsets(n):
    return [frozenset(i for i in range(n) if mask >> i & 1) for mask in range(2**n)]


def _compute_relation(x, y, n=4):
    return classify_relation((item in x, item in y) for item in range(n))


PAIRS_OF_SETS = list(product(_list_subsets(4)[1:-1], repeat=2))


def test_relations_equal_table_3():
    universe = frozenset(range(4))
    seen = set()
    for x, y in PAIRS_OF_SETS:
        relation = _compute_relation(x, y)
        expected = {
            Relation.EQUIVALENCE: x == y,
            Relation.FORWARD_ENTAILMENT: x < y,
            Relation.REVERSE_ENTAILMENT: x > y,
            Relation.NEGATION: not x & y and x | y == universe,
            Relation.ALTERNATION: not x & y and x | y != universe,
            Relation.COVER: x & y and x | y == universe and not (x <= y or y <= x),
        }
        holding = [name for name, holds in expected.items() if holds] or [Relation.INDEPENDENCE]
        assert [relation] == holding
        assert relation.converse is _compute_relation(y, x)
        assert relation.complement_relation is _compute_relation(universe - x, universe - y)
        seen.add(relation)
    assert seen == set(Relation)


def test_join_equals_published_table():
    rows = [line.split() for line in TABLE.strip().splitlines()[1:]]
    assert len(rows) == len(Relation)
    for name, *cells in rows:
        for column, cell in zip("=<>^|v#", cells, strict=True):
            found = join_relations(SYMBOLS[name[0]], SYMBOLS[column])
            assert found == {SYMBOLS[symbol] for symbol in cell}, (name, column)


def _list_contexts(n):
    """Return all functions on the subsets of a universe of n elements, by their monotonicity."""
    subsets = _list_subsets(n)
    below = [(i, j) for i, x in enumerate(subsets) for j, y in enumerate(subsets) if x < y]
    for images in product(range(len(subsets)), repeat=len(subsets)):
        f = [subsets[i] for i in images]
        yield Monotonicity.NON_MONOTONE, subsets, f
        if all(f[i] <= f[j] for i, j in below):
            yield Monotonicity.UPWARD, subsets, f
        if all(f[i] >= f[j] for i, j in below):
            yield Monotonicity.DOWNWARD, subsets, f


def test_projected_relation_is_strongest_over_all_contexts():
    """For all functions on the subsets of two elements, no stronger relation than the projected one always holds."""
    kept = {}
    for context, subsets, f in _list_contexts(2):
        for (i, x), (j, y) in product(enumerate(subsets), repeat=2):
            relation = _compute_relation(x, y, 2)
            if relation is not None:
                images = {(item in f[i], item in f[j]) for item in range(2)}
                kept.setdefault((relation, context), set()).update(images)
    assert kept
    for (relation, context), images in kept.items():
        assert frozenset(REGIONS) - images == project_relation(relation, context).empty_regions


_SIGNS = dict(zip("≡⊏⊐^|‿#", Relation, strict=True))


@pytest.mark.parametrize(
    ("determiner", "first", "second"),
    [  # The table of projectivity in section 4.2 of MacCartney & Manning 2009: the projections of ≡ ⊏ ⊐ ^ | ‿ #
        (NO, "≡⊐⊏|#|#", "≡⊐⊏|#|#"),
        (EVERY, "≡⊐⊏|#|#", "≡⊏⊐||##"),
        (Determiner(DeterminerKind.NOT_EVERY), "≡⊏⊐‿#‿#", "≡⊐⊏‿‿##"),
        (Determiner(DeterminerKind.MOST), "≡######", "≡⊏⊐||##"),
    ],
)
def test_projectivity_equals_paper(determiner, first, second):
    for build, signs in ((build_restrictor_projection, first), (build_scope_projection, second)):
        assert list(map(build(determiner), Relation)) == [_SIGNS[sign] for sign in signs]


@pytest.mark.parametrize(
    ("quantifier", "determiner"),
    [
        (Quantifier.EVERY, EVERY),
        (Quantifier.NO, NO),
        (Quantifier.NOT_EVERY, Determiner(DeterminerKind.NOT_EVERY)),
        (Quantifier.AT_LEAST, Determiner(DeterminerKind.SOME)),
        (Quantifier.EXACTLY, Determiner(DeterminerKind.EXACTLY)),
        (Quantifier.ALL_BUT, Determiner(DeterminerKind.ALL_BUT)),
    ],
)
def test_projections_of_inclusions_match_finite_models(quantifier, determiner):
    clause = ClauseLogicalForm(NounPhrase(quantifier))
    for relation in (Relation.FORWARD_ENTAILMENT, Relation.REVERSE_ENTAILMENT):
        for part, build in (("subject", build_restrictor_projection), ("verb", build_scope_projection)):
            models = find_truth_value_models(PairLogicalForm(clause, clause, WordRelations(**{part: relation})))
            assert build(determiner)(relation) is (classify_relation(models) or Relation.INDEPENDENCE)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (EVERY, A, Relation.FORWARD_ENTAILMENT),
        (EVERY, NO, Relation.ALTERNATION),
        (NO, A, Relation.NEGATION),
        (A, Determiner(DeterminerKind.NOT_EVERY), Relation.COVER),
        (Determiner(DeterminerKind.SOME, 3), Determiner(DeterminerKind.SOME, 2), Relation.FORWARD_ENTAILMENT),
        (Determiner(DeterminerKind.AT_MOST, 3), Determiner(DeterminerKind.SOME, 4), Relation.NEGATION),
        (Determiner(DeterminerKind.AT_MOST, 3), Determiner(DeterminerKind.EXACTLY, 2), Relation.REVERSE_ENTAILMENT),
        (FEW, NO, Relation.REVERSE_ENTAILMENT),
        (FEW, Determiner(DeterminerKind.SOME, 5), None),  # the number for "few" is undefined
        (Determiner(DeterminerKind.SHARE, 60), Determiner(DeterminerKind.MOST), Relation.FORWARD_ENTAILMENT),
        (Determiner(DeterminerKind.SHARE, 40), Determiner(DeterminerKind.SHARE, 30), Relation.FORWARD_ENTAILMENT),
        (Determiner(DeterminerKind.OTHER, words="every other"), EVERY, None),
        (*[Determiner(DeterminerKind.OTHER, words="both")] * 2, Relation.EQUIVALENCE),
    ],
)
def test_determiner_relation_follows_from_conditions(first, second, expected):
    assert compute_determiner_relation(first, second) is expected


def test_unknown_determiner_is_not_monotone():
    other = Determiner(DeterminerKind.OTHER, words="every other")
    for projection in (build_restrictor_projection(other), build_scope_projection(other)):
        assert projection(Relation.EQUIVALENCE) is Relation.EQUIVALENCE
        assert projection(Relation.FORWARD_ENTAILMENT) is Relation.INDEPENDENCE
    with pytest.raises(ValueError, match="every other"):
        other.is_satisfied_by(1, 1)


@pytest.mark.parametrize(
    ("sentence", "text", "determiner"),
    [
        ("At least three students read.", "Some students read.", Determiner(DeterminerKind.SOME, 3)),
        ("More than five of the boys left.", "Some boys left.", Determiner(DeterminerKind.SOME, 6)),
        ("Fewer than ten boys left.", "Some boys left.", Determiner(DeterminerKind.AT_MOST, 9)),
        ("Exactly two dogs bark.", "Some dogs bark.", Determiner(DeterminerKind.EXACTLY, 2)),
        ("All but one man sat.", "Some man sat.", Determiner(DeterminerKind.ALL_BUT, 1)),
        ("Every one of the two dogs sat.", "Some dogs sat.", EVERY),
        ("Nobody left.", "No person left.", NO),
        ("He saw anything.", "He saw some thing.", ANY),
        ("He sings every morning.", "He sings some morning.", EVERY),
        ("At no time did he sing.", "At no time did he sing.", NO),
        ("Thirty percent of the boys left.", "Some boys left.", Determiner(DeterminerKind.SHARE, 30)),
        ("He sings every other day.", "He sings some day.", Determiner(DeterminerKind.OTHER, words="every other")),
        ("Three out of ten boys left.", "Some boys left.", Determiner(DeterminerKind.OTHER, words="three out of ten")),
    ],
)
def test_replace_determiners_merges_several_words(sentence, text, determiner):
    found = replace_determiners(sentence)
    assert found.text == text
    assert [each for each, _ in found.determiners.values()] == [determiner]
    [place] = found.determiners
    assert text[place:].lower().startswith(("some", "no"))


@pytest.mark.parametrize(
    "sentence",
    [
        "It was the most beautiful town.",
        "He did not like it at all.",
        "He jumped over a fence.",
        "The boys all sang.",
        "He no longer sings.",
    ],
)
def test_replace_determiners_keeps_other_uses(sentence):
    assert replace_determiners(sentence) == (sentence, {})
