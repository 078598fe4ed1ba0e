"""Contexts: which words of a sentence stand inside which determiner, negation or other operator, and what that does.

An operator has a domain, the tokens that stand inside it. The operators around a token are those whose domains have it,
the widest the outermost. A subject has scope over its verb and all that depends on that, the verb's negation over all
but the subject, an object over the verb and its other dependents; what stands before the subject, or in a clause with
"because" and the like, is outside of all three.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from unbag.natlog import operators as known
from unbag.natlog.determiners import A, Determiner, Kind, Projection, negated, restrictor, scope
from unbag.natlog.relations import Context, Relation, project
from unbag.natlog.trees import NOUNS, OBJECTS, SUBJECTS, VERBS, Tree


@dataclass(frozen=True)
class Operator:
    """A word with an inside.

    Attributes:
        name: what to call it in a proof.
        owner: the token that it belongs to: the noun of a determiner, the verb of a negation.
        domain: the tokens inside.
        project: what becomes there of a relation.
        restricts: whether it is the restrictor of a determiner.
    """

    name: str
    owner: int
    domain: frozenset[int]
    project: Projection
    restricts: bool = False

    @property
    def mark(self) -> Context:
        """Whether it is upward or downward, or neither."""
        return mark(self.project)


def mark(projection: Projection) -> Context:
    """Return whether a projection keeps inclusions, turns them round, or neither."""
    out = projection(Relation.FORWARD_ENTAILMENT)
    if out is Relation.FORWARD_ENTAILMENT:
        return Context.UPWARD
    return Context.DOWNWARD if out is Relation.REVERSE_ENTAILMENT else Context.NON_MONOTONE


def around(tree_operators: list[Operator], token: int) -> list[Operator]:
    """Return the operators around a token, the innermost first."""
    return sorted((each for each in tree_operators if token in each.domain), key=lambda each: len(each.domain))


def outside(tree: Tree, tree_operators: list[Operator], token: int) -> list[Operator]:
    """Return the operators that are around the determiner of a noun, or around the negation of a verb."""
    noun = token in tree.determiners or tree.pos[token] in NOUNS
    domain = (_scope_of(tree, token) | tree.subtree(token)) if noun else clause(tree, token, subject=False)
    return [
        each
        for each in around(tree_operators, token)
        if each.owner != token and len(each.domain) + (not noun and each.owner in tree.determiners) > len(domain) - noun
    ]


def determiner_of(tree: Tree, noun: int) -> Determiner:
    """Return a noun's determiner as it is meant where it stands: "any" is "some" under a negation."""
    determiner = tree.determiners[noun][0] if noun in tree.determiners else A
    return A if determiner.free and _under_negation(tree, noun) else determiner


def operators(tree: Tree, *, coreferent: bool = True) -> list[Operator]:
    """Return the operators of a sentence.

    Args:
        tree: the sentence.
        coreferent: whether noun phrases that can name individuals name the same in both sentences of the pair.
    """
    return [*_of_determiners(tree, coreferent), *_of_negations(tree), *_of_words(tree), *_of_superlatives(tree)]


def _down(relation: Relation) -> Relation:
    return project(relation, Context.DOWNWARD)


def _neither(relation: Relation) -> Relation:
    return project(relation, Context.NON_MONOTONE)


def _of_determiners(tree: Tree, coreferent: bool) -> Iterator[Operator]:
    for noun, (determiner, words, token) in tree.determiners.items():
        if determiner.named and coreferent:
            continue  # nothing changes inside
        read = replace(determiner, named=False)
        if determiner.free and _under_negation(tree, noun):
            read = Determiner(Kind.SOME)
        name = words.lower()
        inside = tree.subtree(noun) - {token}
        yield Operator(name, noun, inside, restrictor(read), restricts=True)
        if (domain := _scope_of(tree, noun)) and not (determiner.free and read.kind is Kind.SOME):
            yield Operator(name, noun, domain - inside, scope(read))
    for noun, dep in enumerate(tree.deps):  # "only dogs bark"
        only = next((c for c in tree.children[noun] if tree.lemmas[c] == "only" and c < noun), None)
        if dep in (*SUBJECTS, *OBJECTS, "pobj") and only is not None and tree.deps[only] != "amod":
            if domain := _scope_of(tree, noun):
                yield Operator("only", noun, domain - tree.subtree(noun), _down)
            yield Operator("only", noun, tree.subtree(noun) - {only}, _neither, restricts=True)


def _under_negation(tree: Tree, noun: int) -> bool:
    """Tell whether "any" has something that makes it an existential."""
    for above in (noun, *tree.above(noun)):
        if above in tree.negations and not (tree.deps[noun] in SUBJECTS and tree.heads[noun] == above):
            return True
        if above != noun and tree.lemmas[above] in (
            known.DOWNWARD_VERBS | known.DOWNWARD_PREPOSITIONS | known.DOWNWARD_ADJECTIVES | known.DOWNWARD_NOUNS
        ):
            return True
        for child in tree.children[above]:
            if tree.lemmas[child] in (known.DOWNWARD_CONJUNCTIONS | known.RARELY) or (
                child in tree.determiners
                and child not in (noun, *tree.above(noun))
                and mark(scope(tree.determiners[child][0])) is Context.DOWNWARD
            ):
                return True
    return False


def _scope_of(tree: Tree, noun: int) -> frozenset[int]:
    """Return what stands in the scope of a noun phrase's determiner."""
    while tree.deps[noun] in ("conj", "poss", "appos") and noun != tree.heads[noun]:
        noun = tree.heads[noun]
    dep, head = tree.deps[noun], tree.heads[noun]
    if head == noun:
        return frozenset()
    if dep in SUBJECTS:
        return clause(tree, head) - tree.subtree(noun)
    while dep in ("pobj", "prep", "pcomp", "agent", "dative") and head != tree.heads[head] and tree.pos[head] == "ADP":
        dep, head = tree.deps[head], tree.heads[head]
    if tree.pos[head] == "ADP":
        return frozenset({head})
    inside = tree.subtree(noun)
    if tree.pos[head] in VERBS:
        return clause(tree, head, subject=False) - inside
    return frozenset({head})


def clause(tree: Tree, verb: int, *, subject: bool = True) -> frozenset[int]:
    """Return what a verb's subject has scope over, or (without) what its negation has."""
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
    """Tell whether a verb that is a conjunct has the subject, or the negation, of the first."""
    deps = {tree.deps[child] for child in tree.children[conjunct]}
    if deps & {"nsubj", "nsubjpass"}:
        return False
    words = {tree.lemmas[child] for child in tree.children[tree.heads[conjunct]] if tree.deps[child] == "cc"}
    return subject or not (deps & {"aux", "auxpass", "neg"} or "but" in words)


def _of_negations(tree: Tree) -> Iterator[Operator]:
    for head, token in tree.negations.items():
        if tree.pos[head] in VERBS or any(tree.deps[child] in SUBJECTS for child in tree.children[head]):
            yield Operator(tree.words[token].lower(), head, clause(tree, head, subject=False), negated)
        else:
            yield Operator(tree.words[token].lower(), head, tree.subtree(head) - {token}, negated)
    for i, lemma in enumerate(tree.lemmas):
        if lemma in known.RARELY and tree.deps[i] in ("advmod", "neg"):
            head = tree.heads[i]
            while tree.pos[head] == "ADV" and tree.heads[head] != head:
                head = tree.heads[head]
            yield Operator(lemma, i, clause(tree, head, subject=False) - {i}, _down)
        # "too tired to run"
        if lemma == "too" and tree.pos[tree.heads[i]] in ("ADJ", "ADV"):
            adjective = tree.heads[i]
            yield from _complements(tree, "too", adjective, (adjective, tree.heads[adjective]))


def _of_words(tree: Tree) -> Iterator[Operator]:
    for i, lemma in enumerate(tree.lemmas):
        pos = tree.pos[i]
        if pos in VERBS and lemma in known.DOWNWARD_VERBS:
            deps = ["xcomp", "ccomp", "pcomp", "prep"]
            if lemma in known.DOWNWARD_OBJECTS:
                deps += ["dobj", "nsubjpass"]
            domain = frozenset[int]().union(
                *(tree.subtree(c) for c in tree.children[i] if tree.deps[c] in deps and not _adjunct(tree, c))
            )
            yield Operator(lemma, i, domain, _down)
        elif pos == "ADJ" and lemma in known.DOWNWARD_ADJECTIVES:
            yield from _complements(tree, lemma, i, (i, tree.heads[i]))
        elif pos == "NOUN" and lemma in known.DOWNWARD_NOUNS:
            domain = frozenset[int]().union(
                *(tree.subtree(c) for c in tree.children[i] if tree.deps[c] in ("prep", "acl", "ccomp"))
            )
            yield Operator(lemma, i, domain, _down)
        elif lemma in (known.DOWNWARD_PREPOSITIONS | known.OTHER_PREPOSITIONS) and tree.deps[i] in ("prep", "pobj"):
            down = lemma in known.DOWNWARD_PREPOSITIONS
            if lemma != "like":
                yield Operator(lemma, i, tree.subtree(i) - {i}, _down if down else _neither)
        elif tree.deps[i] in ("mark", "advmod") and tree.deps[tree.heads[i]] in ("advcl", "ccomp", "ROOT", "pcomp"):
            if tree.deps[tree.heads[i]] == "ROOT" and tree.deps[i] != "mark":
                continue
            inside = tree.subtree(tree.heads[i]) - {i}
            if lemma in known.DOWNWARD_CONJUNCTIONS:
                yield Operator(lemma, i, inside, _down)
            elif lemma in known.OTHER_PREPOSITIONS:
                yield Operator(lemma, i, inside, _neither)


def _adjunct(tree: Tree, child: int) -> bool:
    """Tell whether a preposition's phrase says when or where, and is not what the verb governs ("refrain from")."""
    return tree.deps[child] == "prep" and tree.lemmas[child] not in ("from", "of", "to", "against")


def _complements(tree: Tree, name: str, owner: int, heads: tuple[int, ...]) -> Iterator[Operator]:
    inside = [
        child
        for head in dict.fromkeys(heads)
        for child in tree.children[head]
        if tree.deps[child] in ("xcomp", "ccomp", "csubj", "prep") and child > owner
        if tree.deps[child] != "prep" or (head == owner and tree.lemmas[child] in ("of", "to"))
    ]
    if inside:
        yield Operator(name, owner, frozenset().union(*(tree.subtree(child) for child in inside)), _down)


def _of_superlatives(tree: Tree) -> Iterator[Operator]:
    for i, tag in enumerate(tree.tags):
        noun = tree.heads[i]
        superlative = tag in ("JJS", "RBS") or tree.lemmas[i] in known.UNIQUE
        if superlative and tree.deps[i] in ("amod", "advmod") and i != noun and i < noun:
            if tree.pos[noun] == "ADJ" and tree.deps[noun] == "amod":  # the most beautiful town
                noun = tree.heads[noun]
            if tree.pos[noun] in NOUNS and not any(token == i for _, _, token in tree.determiners.values()):
                yield Operator(tree.words[i].lower(), i, tree.subtree(noun) - {i}, _neither)
