"""From edits to a label: each is projected through its context, and all are joined (MacCartney & Manning 2009)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Final

from unbag.baselines.natlog.alignment import CannotReadError, Edit, Sort
from unbag.baselines.natlog.parsing import Tree
from unbag.baselines.natlog.polarity import around, operators, outside
from unbag.baselines.natlog.relations import Relation, join
from unbag.baselines.natlog.scopes import Operator
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL

_OPERATORS: Final = (Sort.DETERMINER, Sort.NEGATION)
_MOST_CHOSEN: Final = 5


@dataclass(frozen=True)
class Step:
    """An edit in its context.

    Attributes:
        edit: what is done.
        context: the operators around it, the innermost first.
        relation: of the sentence before to the one after.
        joined: what is known so far: the relations that the premise can have to the sentence after.
    """

    edit: Edit
    context: tuple[Operator, ...]
    relation: Relation
    joined: frozenset[Relation]


def prove(premise: Tree, hypothesis: Tree, found: Sequence[Edit]) -> tuple[frozenset[Relation], list[Step]]:
    """Return which relations a premise can have to a hypothesis, and the steps that show it.

    Where determiners or negations change, each other edit is made before that, in the premise's contexts, or after it,
    in the hypothesis's: all are proofs, and what none rules out is possible. The steps are those of the proof that says
    most. That "a dog" is the same dog in both sentences can make two proofs exclude each other, where its determiner
    changes and something is negated; it is given up then.

    Raises:
        CannotReadError: if two proofs exclude each other, which only wrong trees can make them.
    """
    try:
        return _proved(premise, hypothesis, found, coreferent=True)
    except _ExcludeError:
        return _proved(premise, hypothesis, found, coreferent=False)


class _ExcludeError(CannotReadError):
    """Two proofs exclude each other."""


def _proved(
    premise: Tree, hypothesis: Tree, found: Sequence[Edit], *, coreferent: bool
) -> tuple[frozenset[Relation], list[Step]]:
    both = (operators(premise, coreferent=coreferent), operators(hypothesis, coreferent=coreferent))
    trees = (premise, hypothesis)
    content = [edit for edit in found if edit.sort not in _OPERATORS]
    changes = [edit for edit in found if edit.sort in _OPERATORS]
    # The outermost first.
    changes.sort(key=lambda edit: len(outside(premise, both[0], _token(edit, 0))))
    steps = [{edit: _step(edit, side, trees, both, bool(changes)) for edit in found} for side in (0, 1)]
    derivations = []
    for early in _choices(len(content), bool(changes)):
        before = [steps[0][edit] for edit, chosen in zip(content, early, strict=True) if chosen]
        after = [steps[1][edit] for edit, chosen in zip(content, early, strict=True) if not chosen]
        between = [[steps[0][edit] for edit in reversed(changes)], [steps[1][edit] for edit in changes]]
        for changing in between if len(changes) > 1 else between[:1]:
            order = [*sorted(before, key=_narrowing), *changing, *sorted(after, key=_narrowing)]
            derivations.append(_joined(order))
    ends = [each[-1].joined if each else frozenset({Relation.EQUIVALENCE}) for each in derivations]
    possible = reduce(frozenset.__and__, ends)
    if not possible:
        raise _ExcludeError("in which context the edits are made: the two sentences are parsed in different ways")
    return possible, min(derivations, key=lambda each: len(each[-1].joined) if each else 0)


def _choices(n: int, changing: bool) -> Iterable[tuple[bool, ...]]:
    """Return which edits are made before the determiners change: all ways, but for many edits all or none."""
    if not changing:
        return [(True,) * n, (False,) * n]
    return product((True, False), repeat=n) if n <= _MOST_CHOSEN else [(True,) * n, (False,) * n]


def _narrowing(step: Step) -> int:
    """Return where a step stands among those that may be made in any order: what is more general comes first.

    A ⊏ B | C ⊐ D makes A | D, while from A | B ⊏ C nothing follows.
    """
    return {Relation.FORWARD_ENTAILMENT: 0, Relation.REVERSE_ENTAILMENT: 2}.get(step.relation, 1)


def label_of(possible: frozenset[Relation]) -> tuple[str, Relation]:
    """Return the label and the relation that are left; where more than one is, what all of them have in common.

    >>> label_of(frozenset({Relation.NEGATION, Relation.ALTERNATION}))
    ('contradiction', <Relation.ALTERNATION: 'alternation'>)
    """
    if possible <= {Relation.EQUIVALENCE, Relation.FORWARD_ENTAILMENT}:
        least = Relation.EQUIVALENCE if possible == {Relation.EQUIVALENCE} else Relation.FORWARD_ENTAILMENT
        return ENTAILMENT, least
    if possible <= {Relation.NEGATION, Relation.ALTERNATION}:
        return CONTRADICTION, Relation.NEGATION if possible == {Relation.NEGATION} else Relation.ALTERNATION
    if possible <= {Relation.EQUIVALENCE, Relation.REVERSE_ENTAILMENT}:
        return NEUTRAL, Relation.REVERSE_ENTAILMENT
    return NEUTRAL, next(iter(possible)) if len(possible) == 1 else Relation.INDEPENDENCE


def _joined(steps: Iterable[Step]) -> list[Step]:
    result: list[Step] = []
    known: frozenset[Relation] = frozenset({Relation.EQUIVALENCE})
    for step in steps:
        known = frozenset[Relation]().union(*(join(each, step.relation) for each in known))
        result.append(Step(step.edit, step.context, step.relation, known))
    return result


def _step(
    edit: Edit, side: int, trees: tuple[Tree, Tree], both: tuple[list[Operator], list[Operator]], changing: bool
) -> Step:
    if edit.sort in _OPERATORS:
        context = outside(trees[side], both[side], _token(edit, side))
    else:
        # Words stand in their own sentence; where determiners change, also in the other, at what they are put to.
        own = {Sort.DELETE: 0, Sort.INSERT: 1}.get(edit.sort, side)
        where = side if changing else own
        leaving = edit.leaving if where == own else frozenset()
        context = [each for each in around(both[where], _token(edit, where)) if each.owner not in leaving]
    hidden = next((each.name for each in context if each.is_opaque), None)
    if hidden is not None and edit.relation is not Relation.EQUIVALENCE:
        raise CannotReadError(f"what {hidden!r} makes of {edit.premise or edit.hypothesis!r}")
    relation = reduce(lambda inner, operator: operator.project(inner), context, edit.relation)
    return Step(edit, tuple(context), relation, frozenset({relation}))


def _token(edit: Edit, side: int) -> int:
    token = edit.left if side == 0 else edit.right
    if token is None:
        raise CannotReadError(f"where {edit.premise or edit.hypothesis!r} stands in the other sentence")
    return token
