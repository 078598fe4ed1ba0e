"""Operators and their scopes: the tokens that stand inside a determiner, a negation or another operator.

A subject has scope over its verb and the verb's dependents. The verb's negation has scope over the same without the
subject, an object over the verb and its other dependents. What precedes the subject, or stands in a clause with
"because" and the like, is outside of all three. An adverbial before the subject has scope over the whole clause.
"""

from dataclasses import dataclass

from unbag.baselines.natlog import relations as known
from unbag.baselines.natlog.determiners import Projection
from unbag.baselines.natlog.parsing import SUBJECTS, VERBS, Tree
from unbag.baselines.natlog.relations import Context, Relation, project

ADVERBIALS = ("prep", "npadvmod", "advmod", "advcl")
"""Dependencies of what says when, where, how or why."""


def downward(relation: Relation) -> Relation:
    """Project through a context that turns inclusions round."""
    return project(relation, Context.DOWNWARD)


def neither(relation: Relation) -> Relation:
    """Project through a context that is not monotone."""
    return project(relation, Context.NON_MONOTONE)


@dataclass(frozen=True)
class Operator:
    """A word with a domain.

    Attributes:
        name: Its name in a proof.
        owner: The token it belongs to: the noun of a determiner, the verb of a negation.
        domain: The tokens inside.
        project: The relation of two sentences, given the relation of what differs inside.
        restricts: Whether it is the restrictor of a determiner.
        is_opaque: Whether its monotonicity is not known. A pair that differs inside is not read.
    """

    name: str
    owner: int
    domain: frozenset[int]
    project: Projection
    restricts: bool = False
    is_opaque: bool = False

    @property
    def mark(self) -> Context:
        """Whether it is upward or downward, or neither."""
        return mark(self.project)


def opaque(name: str, owner: int, domain: frozenset[int] | set[int]) -> Operator:
    """Build an operator whose monotonicity is not known."""
    return Operator(name, owner, frozenset(domain), neither, is_opaque=True)


def mark(projection: Projection) -> Context:
    """Return whether a projection keeps inclusions, turns them round, or neither."""
    out = projection(Relation.FORWARD_ENTAILMENT)
    if out is Relation.FORWARD_ENTAILMENT:
        return Context.UPWARD
    return Context.DOWNWARD if out is Relation.REVERSE_ENTAILMENT else Context.NON_MONOTONE


def clause(tree: Tree, verb: int, *, subject: bool = True) -> frozenset[int]:
    """Return what a verb's subject has scope over, or (without `subject`) what its negation has scope over."""
    left = [child for child in tree.children[verb] if tree.deps[child] in SUBJECTS]
    start = min(left, default=-1)
    inside = {verb}
    for child in tree.children[verb]:
        dep = tree.deps[child]
        if dep in (*SUBJECTS, "aux", "auxpass", "punct", "cc", "neg", "expl", "mark", "parataxis"):
            continue
        if child < start and dep in ("advcl", "prep", "npadvmod", "advmod", "ccomp"):
            continue
        if dep == "advcl" and any(tree.lemmas[c] in known.OUTSIDE for c in tree.children[child]):
            continue
        if dep == "conj" and not _shares(tree, child, subject=subject):
            continue
        inside |= tree.subtree(child)
    return frozenset(inside)


def _shares(tree: Tree, conjunct: int, *, subject: bool) -> bool:
    """Check whether a verb that is a conjunct has the subject, or the negation, of the first."""
    deps = {tree.deps[child] for child in tree.children[conjunct]}
    if deps & {"nsubj", "nsubjpass"}:
        return False
    words = {tree.lemmas[child] for child in tree.children[tree.heads[conjunct]] if tree.deps[child] == "cc"}
    return subject or not (deps & {"aux", "auxpass", "neg"} or "but" in words)


def subjects(tree: Tree, verb: int) -> frozenset[int]:
    """Return the tokens of a verb's subject."""
    return frozenset[int]().union(
        *(tree.subtree(child) for child in tree.children[verb] if tree.deps[child] in SUBJECTS)
    )


def adverbials(tree: Tree, verb: int) -> frozenset[int]:
    """Return the tokens of what says of a verb when, where, how or why."""
    return frozenset[int]().union(
        *(tree.subtree(child) for child in tree.children[verb] if tree.deps[child] in ADVERBIALS)
    )


def verb_above(tree: Tree, token: int) -> int:
    """Return the nearest verb that a token depends on, or the root."""
    if tree.pos[token] in VERBS:
        return token
    return next((above for above in tree.above(token) if tree.pos[above] in VERBS), tree.root)


def scope_of(tree: Tree, noun: int) -> frozenset[int]:
    """Return what stands in the scope of a noun phrase's determiner."""
    inside = tree.subtree(noun)
    possessed: frozenset[int] = frozenset()
    while tree.deps[noun] in ("conj", "poss", "appos") and noun != tree.heads[noun]:
        if tree.deps[noun] == "poss":
            possessed = tree.subtree(tree.heads[noun])  # "no boy's old book": whose book it is says more of the book
        noun = tree.heads[noun]
    return (_outside_of(tree, noun) | possessed) - inside


def _outside_of(tree: Tree, noun: int) -> frozenset[int]:
    dep, head = tree.deps[noun], tree.heads[noun]
    if head == noun:
        return frozenset()
    if dep in SUBJECTS:
        return clause(tree, head) - tree.subtree(noun)
    adverbial = adverbial_of(tree, noun)
    while dep in ("pobj", "prep", "pcomp", "agent", "dative") and head != tree.heads[head] and tree.pos[head] == "ADP":
        dep, head = tree.deps[head], tree.heads[head]
    if tree.pos[head] == "ADP":
        return frozenset({head})
    if tree.pos[head] in VERBS:
        found = clause(tree, head, subject=False)
        if adverbial is not None and is_fronted(tree, adverbial):
            found |= subjects(tree, head)
        return found - tree.subtree(noun)
    return frozenset({head})


def adverbial_of(tree: Tree, noun: int) -> int | None:
    """Return the head of the adverbial that a noun phrase is, or is the object of; None if it is none.

    "Every morning" is one by the noun, "on every morning" by the preposition.
    """
    top = noun
    while tree.deps[top] in ("pobj", "pcomp") and tree.heads[top] != top:
        top = tree.heads[top]
        while tree.deps[top] == "prep" and tree.pos[tree.heads[top]] == "ADP" and tree.heads[top] != top:
            top = tree.heads[top]
    is_one = tree.deps[top] in ADVERBIALS and tree.pos[tree.heads[top]] in VERBS
    return top if is_one else None


def is_fronted(tree: Tree, adverbial: int) -> bool:
    """Check whether an adverbial precedes the subject of its verb."""
    starts = [child for child in tree.children[tree.heads[adverbial]] if tree.deps[child] in SUBJECTS]
    return bool(starts) and adverbial < min(starts)
