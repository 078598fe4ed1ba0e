"""Proofs in words, a line a step: what is done, in which context, what follows from it, and what is known so far."""

from typing import Final

from unbag.natlog.edit import Sort
from unbag.natlog.proofs import Step
from unbag.natlog.relations import Relation
from unbag.natlog.sentences import Verdict

_SAID: Final = {
    Relation.EQUIVALENCE: "≡",
    Relation.FORWARD_ENTAILMENT: "⊏",
    Relation.REVERSE_ENTAILMENT: "⊐",
    Relation.NEGATION: "^",
    Relation.ALTERNATION: "|",
    Relation.COVER: "‿",
    Relation.INDEPENDENCE: "#",
}
"""The signs of MacCartney & Manning (2009), Table 2."""
_MOST_NAMED: Final = 3


def explanation(verdict: Verdict) -> list[str]:
    """Return a verdict's proof, a line a step; for a pair that is not read, what is not."""
    if verdict.label is None or verdict.relation is None:
        return [f"cannot read: {verdict.unread}"]
    if not verdict.steps:
        return ["the two say the same: equivalence (≡)"]
    return [f"{number}. {_step(step)}" for number, step in enumerate(verdict.steps, start=1)]


def _step(step: Step) -> str:
    edit = step.edit
    match edit.sort:
        case Sort.SUBSTITUTE:
            done = f'"{edit.premise}" becomes "{edit.hypothesis}"'
        case Sort.DELETE:
            done = f'"{edit.premise}" is left out'
        case Sort.INSERT:
            done = f'"{edit.hypothesis}" is put in'
        case Sort.DETERMINER:
            done = f'the determiner "{edit.premise}" becomes "{edit.hypothesis}"'
        case Sort.NEGATION:
            done = f'"{edit.premise}" is taken away' if edit.premise else f'"{edit.hypothesis}" is put in'
    because = f" ({edit.source})" if edit.source else ""
    inside = "; ".join(
        f'inside "{operator.name}", {operator.mark.value.replace("_", "-")}' for operator in step.context
    )
    context = f"; {inside}: {_sign(step.relation)}" if step.context else ""
    few = len(step.joined) <= _MOST_NAMED
    known = " or ".join(_sign(each) for each in Relation if each in step.joined) if few else "anything"
    return f"{done}: {_sign(edit.relation)}{because}{context}. So far: {known}"


def _sign(relation: Relation) -> str:
    return f"{relation.value.replace('_', ' ')} {_SAID[relation]}"
