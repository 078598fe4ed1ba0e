from itertools import product

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


def _compute_relation(x, y, universe):
    return classify_relation((item in x, item in y) for item in universe)


def _list_proper_subsets(n):
    return [x for x in _list_subsets(n) if 0 < len(x) < n]


def test_relations_equal_table_3():
    universe = range(4)
    seen = set()
    for x, y in product(_list_proper_subsets(4), repeat=2):
        relation = _compute_relation(x, y, universe)
        expected = {
            Relation.EQUIVALENCE: x == y,
            Relation.FORWARD_ENTAILMENT: x < y,
            Relation.REVERSE_ENTAILMENT: x > y,
            Relation.NEGATION: not x & y and x | y == set(universe),
            Relation.ALTERNATION: not x & y and x | y != set(universe),
            Relation.COVER: x & y and x | y == set(universe) and not (x <= y or y <= x),
        }
        holding = [name for name, holds in expected.items() if holds] or [Relation.INDEPENDENCE]
        assert [relation] == holding
        seen.add(relation)
    assert seen == set(Relation)


def test_converse_is_relation_of_swapped_sets():
    for x, y in product(_list_proper_subsets(4), repeat=2):
        assert _compute_relation(x, y, range(4)).converse is _compute_relation(y, x, range(4))


def test_negated_relation_equals_manual_examples():
    universe = frozenset(range(4))
    for x, y in product(_list_proper_subsets(4), repeat=2):
        assert _compute_relation(x, y, universe).complement_relation is _compute_relation(
            universe - x, universe - y, universe
        )
    assert Relation.FORWARD_ENTAILMENT.complement_relation is Relation.REVERSE_ENTAILMENT
    assert Relation.ALTERNATION.complement_relation is Relation.COVER
    assert {relation.complement_relation.complement_relation for relation in Relation} == set(Relation)


def test_join_equals_published_table():
    rows = [line.split() for line in TABLE.strip().splitlines()[1:]]
    assert len(rows) == len(Relation)
    for name, *cells in rows:
        for column, cell in zip("=<>^|v#", cells, strict=True):
            assert join_relations(SYMBOLS[name[0]], SYMBOLS[column]) == {SYMBOLS[symbol] for symbol in cell}, (
                name,
                column,
            )


def test_join_holds_for_sets():
    """An independent derivation: no three sets of five elements have a relation that the table excludes."""
    found = {pair: set() for pair in product(Relation, repeat=2)}
    universe = range(5)
    proper = _list_proper_subsets(5)
    between = {(x, y): _compute_relation(x, y, universe) for x, y in product(proper, repeat=2)}
    for x, y, z in product(proper, repeat=3):
        found[between[x, y], between[y, z]].add(between[x, z])
    for pair, relations in found.items():
        assert relations
        assert relations <= join_relations(*pair)


def test_join_with_equivalence_and_converses():
    for first, second in product(Relation, repeat=2):
        assert join_relations(Relation.EQUIVALENCE, first) == join_relations(first, Relation.EQUIVALENCE) == {first}
        assert join_relations(first, second) == {
            relation.converse for relation in join_relations(second.converse, first.converse)
        }
        assert join_relations(first.complement_relation, second.complement_relation) == {
            relation.complement_relation for relation in join_relations(first, second)
        }


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
            relation = _compute_relation(x, y, range(2))
            if relation is not None:
                images = {(item in f[i], item in f[j]) for item in range(2)}
                kept.setdefault((relation, context), set()).update(images)
    assert kept
    for (relation, context), images in kept.items():
        assert frozenset(REGIONS) - images == project_relation(relation, context).empty_regions
