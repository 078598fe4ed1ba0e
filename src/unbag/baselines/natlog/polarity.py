"""Contexts: which words of a sentence stand inside which determiner, negation or other operator, and what that does.

The operators around a token are those whose domains have it, the widest the outermost. `scopes` finds the domains.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from unbag.baselines.natlog import relations as known
from unbag.baselines.natlog.comparisons import of_comparisons
from unbag.baselines.natlog.determiners import A, Determiner, Kind, negated, restrictor, scope
from unbag.baselines.natlog.focus import of_focus
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, SUBJECTS, VERBS, Tree
from unbag.baselines.natlog.relations import Context
from unbag.baselines.natlog.scopes import (
    Operator,
    adverbial_of,
    clause,
    downward,
    is_fronted,
    mark,
    neither,
    opaque,
    scope_of,
    subjects,
    verb_above,
)

_UPWARD_SCOPE: Final = frozenset("all each every both either such what whatever whichever almost nearly half".split())
"""First words of determiners that are not read, but whose scope is upward: "all day", "every other day"."""
_WIDE: Final = frozenset("some someone somebody something several certain".split())
"""Determiners that are outside of a negation in their clause: "he did not read some books"."""


def around(tree_operators: list[Operator], token: int) -> list[Operator]:
    """Return the operators around a token, the innermost first."""
    return sorted((each for each in tree_operators if token in each.domain), key=lambda each: len(each.domain))


def outside(tree: Tree, tree_operators: list[Operator], token: int) -> list[Operator]:
    """Return the operators that are around the determiner of a noun, or around the negation of a verb."""
    noun = token in tree.determiners or tree.pos[token] in NOUNS
    domain = (scope_of(tree, token) | tree.subtree(token)) if noun else clause(tree, token, subject=False)
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
    found = [
        *_of_determiners(tree, coreferent),
        *_of_negations(tree),
        *_of_words(tree),
        *of_comparisons(tree),
        *of_focus(tree),
    ]
    return [*found, *_of_trailing_clauses(tree, found)]


def _of_trailing_clauses(tree: Tree, found: list[Operator]) -> Iterator[Operator]:
    """Yield operators of clauses that may be inside or outside of another: "nobody sang while a dog barked"."""
    for head, dep in enumerate(tree.deps):
        verb = tree.heads[head]
        mark_of = next((child for child in tree.children[head] if tree.lemmas[child] in known.TRAILING), None)
        if dep != "advcl" or head < verb or mark_of is None:
            continue
        if any(verb in each.domain and head not in each.domain and each.mark is not Context.UPWARD for each in found):
            yield opaque(tree.words[mark_of].lower(), verb, tree.subtree(head))


def _of_determiners(tree: Tree, coreferent: bool) -> Iterator[Operator]:
    for noun, (determiner, words, token) in tree.determiners.items():
        name = words.lower()
        inside = tree.subtree(noun) - {token}
        if determiner.kind is Kind.OTHER:
            yield opaque(name, noun, inside)
            if name.split()[0] not in _UPWARD_SCOPE or name.split()[-1] == "no":
                yield opaque(name, noun, _whole_scope(tree, noun) - inside)
            continue
        if name.split()[0] in _WIDE and _is_negated(tree, noun):
            yield opaque(name, noun, inside)
        if _is_rate(tree, noun, name):  # "ten hours a day": in each day
            yield opaque(name, noun, inside)
        if determiner.named and coreferent:
            continue  # nothing changes inside
        read = replace(determiner, named=False)
        if determiner.free and _under_negation(tree, noun):
            read = Determiner(Kind.SOME)
        verb = tree.heads[noun]
        if read.kind is Kind.EVERY and tree.deps[noun] in SUBJECTS and verb in tree.negations:
            yield opaque(name, noun, inside)  # "all boys did not sing": none, or not all
        else:
            yield Operator(name, noun, inside, restrictor(read), restricts=True)
        if determiner.free and read.kind is Kind.SOME:
            continue
        if domain := scope_of(tree, noun):
            yield Operator(name, noun, domain - inside, scope(read))
        adverbial = adverbial_of(tree, noun)
        if mark(scope(read)) is Context.UPWARD:
            continue
        is_time = tree.deps[noun] == "npadvmod" or tree.lemmas[noun] in known.UNITS
        if is_time and adverbial is not None and not is_fronted(tree, adverbial):
            # "A dog barks on few days": the same dog, or one each day.
            yield opaque(name, noun, subjects(tree, tree.heads[adverbial]))
        elif tree.deps[noun] == "pobj" and tree.lemmas[tree.heads[noun]] == "of":
            yield opaque(name, noun, _whole_scope(tree, noun) - inside)  # "a friend of few people"
    for noun, dep in enumerate(tree.deps):  # "only dogs bark"
        only = next((c for c in tree.children[noun] if tree.lemmas[c] == "only" and c < noun), None)
        if dep in (*SUBJECTS, *OBJECTS, "pobj") and only is not None and tree.deps[only] != "amod":
            if domain := scope_of(tree, noun):
                yield Operator("only", noun, domain - tree.subtree(noun), downward)
            yield Operator("only", noun, tree.subtree(noun) - {only}, neither, restricts=True)


def _whole_scope(tree: Tree, noun: int) -> frozenset[int]:
    """Return the clause of a noun, its subject included."""
    verb = verb_above(tree, noun)
    return clause(tree, verb) | subjects(tree, verb) | scope_of(tree, noun)


def _is_negated(tree: Tree, noun: int) -> bool:
    """Check whether a noun that is no subject has a negation, or a subject such as "no boy", in its clause."""
    verb = verb_above(tree, noun)
    if noun in subjects(tree, verb):
        return False
    return verb in tree.negations or any(
        tree.deps[other] in SUBJECTS and mark(scope(tree.determiners[other][0])) is Context.DOWNWARD
        for other in tree.children[verb]
        if other in tree.determiners and not tree.determiners[other][0].named
    )


def _is_rate(tree: Tree, noun: int, name: str) -> bool:
    return name in ("a", "an") and tree.deps[noun] == "npadvmod" and tree.lemmas[noun] in known.UNITS | {"weekday"}


def _under_negation(tree: Tree, noun: int) -> bool:
    """Check whether "any" has something that makes it an existential."""
    for above in (noun, *tree.above(noun)):
        if above in tree.negations and not (tree.deps[noun] in SUBJECTS and tree.heads[noun] == above):
            return True
        if above != noun and tree.lemmas[above] in (
            known.DOWNWARD_VERBS
            | known.DOWNWARD_PREPOSITIONS
            | known.DOWNWARD_ADJECTIVES
            | known.DOWNWARD_NOUNS
            | {"than"}
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
            yield Operator(lemma, i, clause(tree, head, subject=False) - {i}, downward)
        # "too tired to run"
        if lemma == "too" and tree.pos[tree.heads[i]] in ("ADJ", "ADV"):
            adjective = tree.heads[i]
            yield from _complements(tree, "too", adjective, (adjective, tree.heads[adjective]))


def _of_words(tree: Tree) -> Iterator[Operator]:
    for i, lemma in enumerate(tree.lemmas):
        pos = tree.pos[i]
        if pos in VERBS and lemma in known.DOWNWARD_VERBS:
            deps = ["xcomp", "pcomp", "prep", *([] if lemma in known.FACTIVE_VERBS else ["ccomp"])]
            if lemma in known.DOWNWARD_OBJECTS:
                deps += ["dobj", "nsubjpass"]
            yield Operator(lemma, i, _dependents(tree, i, *deps), downward)
        elif pos == "ADJ" and lemma in known.DOWNWARD_ADJECTIVES:
            yield from _complements(tree, lemma, i, (i, tree.heads[i]))
        elif pos == "NOUN" and lemma in known.DOWNWARD_NOUNS:
            domain = frozenset[int]().union(
                *(tree.subtree(c) for c in tree.children[i] if tree.deps[c] in ("prep", "acl", "ccomp"))
            )
            yield Operator(lemma, i, domain, downward)
        elif tree.deps[i] in ("prep", "pobj"):
            yield from _of_preposition(tree, i)
        elif tree.deps[i] in ("mark", "advmod") and tree.deps[tree.heads[i]] in ("advcl", "ccomp", "ROOT", "pcomp"):
            if tree.deps[tree.heads[i]] != "ROOT" or tree.deps[i] == "mark":
                yield from _of_conjunction(tree, i)
        if pos in VERBS and lemma in known.SURPRISING:
            rest = tree.subtree(tree.heads[i]) - tree.subtree(i) if tree.deps[i] == "csubj" else frozenset[int]()
            yield opaque(lemma, i, _dependents(tree, i, "ccomp") | rest)  # "what surprised us was that a dog won"
        if pos in VERBS and {lemma, tree.words[i].lower()[:-1]} & known.AVERSIVE:
            yield opaque(lemma, i, _dependents(tree, i, "xcomp"))
        is_emotive = pos in ("ADJ", "VERB") and lemma in known.EMOTIVE
        if is_emotive or (pos in VERBS and lemma in known.FACTIVE_VERBS):
            yield Operator(lemma, i, _dependents(tree, i, "ccomp"), neither)


def _dependents(tree: Tree, head: int, *deps: str) -> frozenset[int]:
    return frozenset[int]().union(
        *(tree.subtree(c) for c in tree.children[head] if tree.deps[c] in deps and not _adjunct(tree, c))
    )


def _of_preposition(tree: Tree, token: int) -> Iterator[Operator]:
    lemma, head = tree.lemmas[token], tree.heads[token]
    inside = tree.subtree(token) - {token}
    if lemma == "before" and tree.first(token, "pobj") is not None:
        yield opaque(lemma, token, inside)  # "before Monday morning" is no time before each morning
    elif lemma in known.DOWNWARD_PREPOSITIONS:
        yield Operator(lemma, token, inside, downward)
    elif lemma in known.OTHER_PREPOSITIONS - {"like"}:
        yield Operator(lemma, token, inside, neither)
    elif lemma == "of" and tree.lemmas[head] in known.NEGATIVE_OF and tree.pos[head] == "ADJ":
        yield Operator(tree.lemmas[head], token, inside, downward)
    elif lemma == "of" and tree.lemmas[head] in known.MEASURING:
        yield opaque(tree.lemmas[head], token, inside)
    elif lemma in ("from", "against") and ({tree.lemmas[head], tree.lemmas[token - 1]} & known.AVERTING):
        yield opaque(lemma, token, inside)


def _of_conjunction(tree: Tree, token: int) -> Iterator[Operator]:
    lemma, verb = tree.lemmas[token], tree.heads[token]
    inside = tree.subtree(verb) - {token}
    before = tree.lemmas[token - 1] if token else ""
    is_question = lemma == "if" and token > tree.heads[verb] and tree.lemmas[tree.heads[verb]] in known.ASKING
    if lemma in known.OTHER_PREPOSITIONS or is_question or (lemma == "if" and before in ("only", "even", "as", "what")):
        yield Operator(lemma, token, inside, neither)
    elif lemma in known.DOWNWARD_CONJUNCTIONS:
        yield Operator(lemma, token, inside, downward)


def _adjunct(tree: Tree, child: int) -> bool:
    """Check whether a preposition's phrase says when or where, and is not what the verb governs ("refrain from")."""
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
        yield Operator(name, owner, frozenset().union(*(tree.subtree(child) for child in inside)), downward)
