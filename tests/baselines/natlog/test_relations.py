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
