"""Proofs: edits are projected through their contexts, and their relations are joined (MacCartney & Manning 2009)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Final

from unbag.baselines.natlog.alignment import Edit, EditKind, UnsupportedPairError
from unbag.baselines.natlog.parsing import DependencyTree
from unbag.baselines.natlog.polarity import find_operators, list_operators_around, list_operators_outside
from unbag.baselines.natlog.relations import Relation, join_relations
from unbag.baselines.natlog.scopes import ScopeOperator
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL

_OPERATORS: Final = (EditKind.DETERMINER, EditKind.NEGATION)
_MOST_CHOSEN: Final = 5


@dataclass(frozen=True)
class ProofStep:
    """Step of a proof: an edit in its context."""

    edit: Edit
    context: tuple[ScopeOperator, ...]  # operators around the edit, from the innermost to the outermost
    relation: Relation  # of the sentence before the edit to the sentence after it
    possible_relations: frozenset[Relation]  # of the premise to the sentence after the edit


def prove_relations(
    premise: DependencyTree, hypothesis: DependencyTree, edits: Sequence[Edit]
) -> tuple[frozenset[Relation], list[ProofStep]]:
    """Derive the possible relations of a premise to a hypothesis from the edits between them.

    If determiners or negations change, each other edit can be made before the change, in the contexts of the premise,
    or after it, in those of the hypothesis. Each order of the edits yields one proof, and the result is the
    intersection of all proofs. The proofs first assume that "a dog" is the same dog in both sentences. If its
    determiner changes under a negation, two proofs can then be incompatible. In this case, the proofs are repeated
    without the assumption.

    Returns:
        Possible relations, and the steps of the most specific proof.

    Raises:
        UnsupportedPairError: If two proofs are still incompatible, which indicates wrong parses.
    """
    try:
        return _intersect_proofs(premise, hypothesis, edits, coreferent=True)
    except _IncompatibleProofsError:
        return _intersect_proofs(premise, hypothesis, edits, coreferent=False)


class _IncompatibleProofsError(UnsupportedPairError):
    """Raised if two proofs are incompatible."""


def _intersect_proofs(
    premise: DependencyTree, hypothesis: DependencyTree, edits: Sequence[Edit], *, coreferent: bool
) -> tuple[frozenset[Relation], list[ProofStep]]:
    both = (find_operators(premise, is_coreferent=coreferent), find_operators(hypothesis, is_coreferent=coreferent))
    trees = (premise, hypothesis)
    content = [edit for edit in edits if edit.kind not in _OPERATORS]
    changes = [edit for edit in edits if edit.kind in _OPERATORS]
    # Outermost first for changes in the contexts of the hypothesis; reverse order for those of the premise.
    changes.sort(key=lambda edit: len(list_operators_outside(premise, both[0], _token(edit, 0))))
    steps = [{edit: _step(edit, side, trees, both, bool(changes)) for edit in edits} for side in (0, 1)]
    derivations = []
    for early in _choices(len(content), bool(changes)):
        before = [steps[0][edit] for edit, chosen in zip(content, early, strict=True) if chosen]
        after = [steps[1][edit] for edit, chosen in zip(content, early, strict=True) if not chosen]
        between = [[steps[0][edit] for edit in reversed(changes)], [steps[1][edit] for edit in changes]]
        for changing in between if len(changes) > 1 else between[:1]:
            order = [*sorted(before, key=_generality), *changing, *sorted(after, key=_generality)]
            derivations.append(_join_steps(order))
    ends = [each[-1].possible_relations if each else frozenset({Relation.EQUIVALENCE}) for each in derivations]
    possible = reduce(frozenset.__and__, ends)
    if not possible:
        raise _IncompatibleProofsError("the proofs contradict each other, because the parses of both sentences differ")
    return possible, min(derivations, key=lambda each: len(each[-1].possible_relations) if each else 0)


def _choices(n: int, changing: bool) -> Iterable[tuple[bool, ...]]:
    """List the subsets of edits to apply before determiners change; for many edits, only all or none."""
    if not changing:
        return [(True,) * n, (False,) * n]
    return product((True, False), repeat=n) if n <= _MOST_CHOSEN else [(True,) * n, (False,) * n]


def _generality(step: ProofStep) -> int:
    """Compute the sort key of a step: steps to a more general sentence come first."""
    # A ⊏ B | C ⊐ D yields A | D, while A | B ⊏ C yields no relation.
    return {Relation.FORWARD_ENTAILMENT: 0, Relation.REVERSE_ENTAILMENT: 2}.get(step.relation, 1)


def derive_label(possible_relations: frozenset[Relation]) -> tuple[str, Relation]:
    """Derive the label and a single relation from the possible relations of a premise to a hypothesis.

    The relation is the most specific one that is compatible with all possible relations.

    >>> derive_label(frozenset({Relation.NEGATION, Relation.ALTERNATION}))
    ('contradiction', <Relation.ALTERNATION: 'alternation'>)
    """
    if possible_relations <= {Relation.EQUIVALENCE, Relation.FORWARD_ENTAILMENT}:
        least = Relation.EQUIVALENCE if possible_relations == {Relation.EQUIVALENCE} else Relation.FORWARD_ENTAILMENT
        return ENTAILMENT, least
    if possible_relations <= {Relation.NEGATION, Relation.ALTERNATION}:
        return CONTRADICTION, Relation.NEGATION if possible_relations == {Relation.NEGATION} else Relation.ALTERNATION
    if possible_relations <= {Relation.EQUIVALENCE, Relation.REVERSE_ENTAILMENT}:
        return NEUTRAL, Relation.REVERSE_ENTAILMENT
    return NEUTRAL, next(iter(possible_relations)) if len(possible_relations) == 1 else Relation.INDEPENDENCE


def _join_steps(steps: Iterable[ProofStep]) -> list[ProofStep]:
    result: list[ProofStep] = []
    possible: frozenset[Relation] = frozenset({Relation.EQUIVALENCE})
    for step in steps:
        possible = frozenset[Relation]().union(*(join_relations(each, step.relation) for each in possible))
        result.append(ProofStep(step.edit, step.context, step.relation, possible))
    return result


def _step(
    edit: Edit,
    side: int,
    trees: tuple[DependencyTree, DependencyTree],
    both: tuple[list[ScopeOperator], list[ScopeOperator]],
    changing: bool,
) -> ProofStep:
    if edit.kind in _OPERATORS:
        context = list_operators_outside(trees[side], both[side], _token(edit, side))
    else:
        # An edit is applied in the sentence with its words. If determiners change, it is also applied in the other
        # sentence, at the token that its words attach to.
        own = {EditKind.DELETE: 0, EditKind.INSERT: 1}.get(edit.kind, side)
        where = side if changing else own
        edited_tokens = edit.edited_tokens if where == own else frozenset()
        context = [
            each for each in list_operators_around(both[where], _token(edit, where)) if each.owner not in edited_tokens
        ]
    hidden = next((each.name for each in context if each.is_opaque), None)
    if hidden is not None and edit.relation is not Relation.EQUIVALENCE:
        raise UnsupportedPairError(f"the effect of {hidden!r} on {edit.premise or edit.hypothesis!r} is unknown")
    relation = reduce(lambda inner, operator: operator.project(inner), context, edit.relation)
    return ProofStep(edit, tuple(context), relation, frozenset({relation}))


def _token(edit: Edit, side: int) -> int:
    token = edit.premise_token if side == 0 else edit.hypothesis_token
    if token is None:
        raise UnsupportedPairError(
            f"the position of {edit.premise or edit.hypothesis!r} in the other sentence is unknown"
        )
    return token
