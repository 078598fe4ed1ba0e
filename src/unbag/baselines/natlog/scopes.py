"""Operators and their scopes: the tokens in the scope of a determiner, a negation or another operator.

A subject has scope over its verb and the dependents of the verb. The negation of a verb has the same scope without the
subject. An object has scope over the verb and its other dependents. Phrases before the subject and clauses with
"because" and similar conjunctions are outside all three scopes. An adverbial before the subject has scope over the
whole clause.
"""

from dataclasses import dataclass

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.determiners import Projection
from unbag.baselines.natlog.parsing import SUBJECTS, VERBS, DependencyTree
from unbag.baselines.natlog.relations import Monotonicity, Relation, project_relation

ADVERBIALS = ("prep", "npadvmod", "advmod", "advcl")
"""Dependency labels of adverbials of time, place, manner and reason."""


def project_downward(relation: Relation) -> Relation:
    """Project a relation through a downward-monotone context, which reverses inclusions."""
    return project_relation(relation, Monotonicity.DOWNWARD)


def project_non_monotone(relation: Relation) -> Relation:
    """Project a relation through a non-monotone context."""
    return project_relation(relation, Monotonicity.NON_MONOTONE)


@dataclass(frozen=True)
class ScopeOperator:
    """Word that affects the relation of phrases in its domain, such as a determiner or negation."""

    name: str  # in a proof
    owner: int  # token: the noun of a determiner, or the verb of a negation
    domain: frozenset[int]  # tokens in the scope
    project: Projection  # from the relation of two phrases in the domain to the relation of the sentences
    restricts: bool = False  # whether the domain is the restrictor of a determiner
    is_opaque: bool = False  # whether the monotonicity is unknown; pairs that differ in the domain get no label

    @property
    def monotonicity(self) -> Monotonicity:
        """Monotonicity of the projection."""
        return determine_monotonicity(self.project)


def build_opaque_operator(name: str, owner: int, domain: frozenset[int] | set[int]) -> ScopeOperator:
    """Build an operator with unknown monotonicity."""
    return ScopeOperator(name, owner, frozenset(domain), project_non_monotone, is_opaque=True)


def determine_monotonicity(projection: Projection) -> Monotonicity:
    """Determine the monotonicity of a projection."""
    out = projection(Relation.FORWARD_ENTAILMENT)
    if out is Relation.FORWARD_ENTAILMENT:
        return Monotonicity.UPWARD
    return Monotonicity.DOWNWARD if out is Relation.REVERSE_ENTAILMENT else Monotonicity.NON_MONOTONE


def collect_verb_scope(tree: DependencyTree, verb: int, *, is_subject_scope: bool = True) -> frozenset[int]:
    """Collect the tokens in the scope of a verb's subject, or of the verb's negation (`is_subject_scope=False`)."""
    left = [child for child in tree.children[verb] if tree.deps[child] in SUBJECTS]
    start = min(left, default=-1)
    inside = {verb}
    for child in tree.children[verb]:
        dep = tree.deps[child]
        if dep in (*SUBJECTS, "aux", "auxpass", "punct", "cc", "neg", "expl", "mark", "parataxis"):
            continue
        if child < start and dep in ("advcl", "prep", "npadvmod", "advmod", "ccomp"):
            continue
        if dep == "advcl" and any(tree.lemmas[c] in relations.WIDE_SCOPE_CONJUNCTIONS for c in tree.children[child]):
            continue
        if dep == "conj" and not _shares(tree, child, subject=is_subject_scope):
            continue
        inside |= tree.collect_subtree(child)
    return frozenset(inside)


def _shares(tree: DependencyTree, conjunct: int, *, subject: bool) -> bool:
    """Check whether a conjunct verb shares the subject or the negation of the first verb."""
    deps = {tree.deps[child] for child in tree.children[conjunct]}
    if deps & {"nsubj", "nsubjpass"}:
        return False
    words = {tree.lemmas[child] for child in tree.children[tree.heads[conjunct]] if tree.deps[child] == "cc"}
    return subject or not (deps & {"aux", "auxpass", "neg"} or "but" in words)


def collect_subjects(tree: DependencyTree, verb: int) -> frozenset[int]:
    """Collect the tokens of the subject of a verb."""
    return frozenset[int]().union(
        *(tree.collect_subtree(child) for child in tree.children[verb] if tree.deps[child] in SUBJECTS)
    )


def collect_adverbials(tree: DependencyTree, verb: int) -> frozenset[int]:
    """Collect the tokens of the adverbials of a verb."""
    return frozenset[int]().union(
        *(tree.collect_subtree(child) for child in tree.children[verb] if tree.deps[child] in ADVERBIALS)
    )


def find_nearest_verb(tree: DependencyTree, token: int) -> int:
    """Find the nearest verb among a token and its ancestors. Return the root if there is none."""
    if tree.pos[token] in VERBS:
        return token
    return next((above for above in tree.iter_ancestors(token) if tree.pos[above] in VERBS), tree.root)


def collect_scope(tree: DependencyTree, noun: int) -> frozenset[int]:
    """Collect the tokens in the scope of a noun's determiner."""
    inside = tree.collect_subtree(noun)
    possessed: frozenset[int] = frozenset()
    while tree.deps[noun] in ("conj", "poss", "appos") and noun != tree.heads[noun]:
        if tree.deps[noun] == "poss":
            # In "no boy's old book", "old book" is in the scope of "no".
            possessed = tree.collect_subtree(tree.heads[noun])
        noun = tree.heads[noun]
    return (_outside_of(tree, noun) | possessed) - inside


def _outside_of(tree: DependencyTree, noun: int) -> frozenset[int]:
    dep, head = tree.deps[noun], tree.heads[noun]
    if head == noun:
        return frozenset()
    if dep in SUBJECTS:
        return collect_verb_scope(tree, head) - tree.collect_subtree(noun)
    adverbial = find_adverbial(tree, noun)
    while dep in ("pobj", "prep", "pcomp", "agent", "dative") and head != tree.heads[head] and tree.pos[head] == "ADP":
        dep, head = tree.deps[head], tree.heads[head]
    if tree.pos[head] == "ADP":
        return frozenset({head})
    if tree.pos[head] in VERBS:
        scope = collect_verb_scope(tree, head, is_subject_scope=False)
        if adverbial is not None and is_fronted(tree, adverbial):
            scope |= collect_subjects(tree, head)
        return scope - tree.collect_subtree(noun)
    return frozenset({head})


def find_adverbial(tree: DependencyTree, noun: int) -> int | None:
    """Find the head of the adverbial that contains a noun phrase. Return None if the phrase is not in an adverbial.

    The head is the noun in "every morning", and the preposition in "on every morning".
    """
    top = noun
    while tree.deps[top] in ("pobj", "pcomp") and tree.heads[top] != top:
        top = tree.heads[top]
        while tree.deps[top] == "prep" and tree.pos[tree.heads[top]] == "ADP" and tree.heads[top] != top:
            top = tree.heads[top]
    is_one = tree.deps[top] in ADVERBIALS and tree.pos[tree.heads[top]] in VERBS
    return top if is_one else None


def is_fronted(tree: DependencyTree, adverbial: int) -> bool:
    """Check whether an adverbial precedes the subject of its verb."""
    starts = [child for child in tree.children[tree.heads[adverbial]] if tree.deps[child] in SUBJECTS]
    return bool(starts) and adverbial < min(starts)
