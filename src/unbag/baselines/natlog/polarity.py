"""Contexts of words: the determiners, negations and other operators around each word, with their projections.

The operators around a token are those whose domain contains the token. An operator with a larger domain is further out.
The module `scopes` computes the domains.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.comparisons import iter_comparison_operators
from unbag.baselines.natlog.determiners import (
    A,
    Determiner,
    DeterminerKind,
    build_restrictor_projection,
    build_scope_projection,
    project_negation,
)
from unbag.baselines.natlog.focus import iter_focus_operators
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, SUBJECTS, VERBS, DependencyTree
from unbag.baselines.natlog.relations import Monotonicity
from unbag.baselines.natlog.scopes import (
    ScopeOperator,
    build_opaque_operator,
    collect_scope,
    collect_subjects,
    collect_verb_scope,
    determine_monotonicity,
    find_adverbial,
    find_nearest_verb,
    is_fronted,
    project_downward,
    project_non_monotone,
)

_UPWARD_SCOPE: Final = frozenset("all each every both either such what whatever whichever almost nearly half".split())
"""First words of determiners with the condition `OTHER` whose scope is upward: "all day", "every other day"."""
_WIDE: Final = frozenset("some someone somebody something several certain".split())
"""Determiners that take scope over a negation in the same clause: "he did not read some books"."""


def list_operators_around(tree_operators: list[ScopeOperator], token: int) -> list[ScopeOperator]:
    """List the operators whose scope contains a token, from the innermost to the outermost."""
    return sorted((each for each in tree_operators if token in each.domain), key=lambda each: len(each.domain))


def list_operators_outside(
    tree: DependencyTree, tree_operators: list[ScopeOperator], token: int
) -> list[ScopeOperator]:
    """List the operators whose scope contains a noun's determiner or a verb's negation, innermost first."""
    noun = token in tree.determiners or tree.pos[token] in NOUNS
    domain = (
        (collect_scope(tree, token) | tree.collect_subtree(token))
        if noun
        else collect_verb_scope(tree, token, is_subject_scope=False)
    )
    return [
        each
        for each in list_operators_around(tree_operators, token)
        if each.owner != token and len(each.domain) + (not noun and each.owner in tree.determiners) > len(domain) - noun
    ]


def resolve_determiner(tree: DependencyTree, noun: int) -> Determiner:
    """Get the determiner of a noun in its context: "any" means "some" under a negation."""
    determiner = tree.determiners[noun][0] if noun in tree.determiners else A
    return A if determiner.is_free_choice and _under_negation(tree, noun) else determiner


def find_operators(tree: DependencyTree, *, is_coreferent: bool = True) -> list[ScopeOperator]:
    """Find all operators of a sentence, such as determiners and negations, with their scopes and projections.

    `is_coreferent` is whether noun phrases that can refer to individuals have the same referents in both sentences.
    """
    tree_operators = [
        *_of_determiners(tree, is_coreferent),
        *_of_negations(tree),
        *_of_words(tree),
        *iter_comparison_operators(tree),
        *iter_focus_operators(tree),
    ]
    return [*tree_operators, *_of_trailing_clauses(tree, tree_operators)]


def _of_trailing_clauses(tree: DependencyTree, tree_operators: list[ScopeOperator]) -> Iterator[ScopeOperator]:
    """Iterate over the opaque operators of clauses with ambiguous scope: "nobody sang while a dog barked"."""
    for head, dep in enumerate(tree.deps):
        verb = tree.heads[head]
        mark_of = next(
            (child for child in tree.children[head] if tree.lemmas[child] in relations.TRAILING_CONJUNCTIONS), None
        )
        if dep != "advcl" or head < verb or mark_of is None:
            continue
        if any(
            verb in each.domain and head not in each.domain and each.monotonicity is not Monotonicity.UPWARD
            for each in tree_operators
        ):
            yield build_opaque_operator(tree.words[mark_of].lower(), verb, tree.collect_subtree(head))


def _of_determiners(tree: DependencyTree, coreferent: bool) -> Iterator[ScopeOperator]:
    for noun, (determiner, words, token) in tree.determiners.items():
        name = words.lower()
        inside = tree.collect_subtree(noun) - {token}
        if determiner.kind is DeterminerKind.OTHER:
            yield build_opaque_operator(name, noun, inside)
            if name.split()[0] not in _UPWARD_SCOPE or name.split()[-1] == "no":
                yield build_opaque_operator(name, noun, _whole_scope(tree, noun) - inside)
            continue
        if name.split()[0] in _WIDE and _is_negated(tree, noun):
            yield build_opaque_operator(name, noun, inside)
        if _is_rate(tree, noun, name):  # "ten hours a day": in each day
            yield build_opaque_operator(name, noun, inside)
        if determiner.is_named and coreferent:
            continue  # a named individual does not change relations
        read = replace(determiner, is_named=False)
        if determiner.is_free_choice and _under_negation(tree, noun):
            read = Determiner(DeterminerKind.SOME)
        verb = tree.heads[noun]
        if read.kind is DeterminerKind.EVERY and tree.deps[noun] in SUBJECTS and verb in tree.negations:
            yield build_opaque_operator(name, noun, inside)  # "all boys did not sing": none, or not all
        else:
            yield ScopeOperator(name, noun, inside, build_restrictor_projection(read), restricts=True)
        if determiner.is_free_choice and read.kind is DeterminerKind.SOME:
            continue
        if domain := collect_scope(tree, noun):
            yield ScopeOperator(name, noun, domain - inside, build_scope_projection(read))
        adverbial = find_adverbial(tree, noun)
        if determine_monotonicity(build_scope_projection(read)) is Monotonicity.UPWARD:
            continue
        is_time = tree.deps[noun] == "npadvmod" or tree.lemmas[noun] in relations.UNITS
        if is_time and adverbial is not None and not is_fronted(tree, adverbial):
            # "A dog barks on few days": the same dog, or one each day.
            yield build_opaque_operator(name, noun, collect_subjects(tree, tree.heads[adverbial]))
        elif tree.deps[noun] == "pobj" and tree.lemmas[tree.heads[noun]] == "of":
            yield build_opaque_operator(name, noun, _whole_scope(tree, noun) - inside)  # "a friend of few people"
    for noun, dep in enumerate(tree.deps):  # "only dogs bark"
        only = next((c for c in tree.children[noun] if tree.lemmas[c] == "only" and c < noun), None)
        if dep in (*SUBJECTS, *OBJECTS, "pobj") and only is not None and tree.deps[only] != "amod":
            if domain := collect_scope(tree, noun):
                yield ScopeOperator("only", noun, domain - tree.collect_subtree(noun), project_downward)
            yield ScopeOperator("only", noun, tree.collect_subtree(noun) - {only}, project_non_monotone, restricts=True)


def _whole_scope(tree: DependencyTree, noun: int) -> frozenset[int]:
    """Collect the tokens of the clause of a noun, including the subject."""
    verb = find_nearest_verb(tree, noun)
    return collect_verb_scope(tree, verb) | collect_subjects(tree, verb) | collect_scope(tree, noun)


def _is_negated(tree: DependencyTree, noun: int) -> bool:
    """Check whether the clause of a non-subject noun has a negation, or a subject such as "no boy"."""
    verb = find_nearest_verb(tree, noun)
    if noun in collect_subjects(tree, verb):
        return False
    return verb in tree.negations or any(
        tree.deps[other] in SUBJECTS
        and determine_monotonicity(build_scope_projection(tree.determiners[other][0])) is Monotonicity.DOWNWARD
        for other in tree.children[verb]
        if other in tree.determiners and not tree.determiners[other][0].is_named
    )


def _is_rate(tree: DependencyTree, noun: int, name: str) -> bool:
    return name in ("a", "an") and tree.deps[noun] == "npadvmod" and tree.lemmas[noun] in relations.UNITS | {"weekday"}


def _under_negation(tree: DependencyTree, noun: int) -> bool:
    """Check whether the context of a noun licenses the existential meaning of "any"."""
    for above in (noun, *tree.iter_ancestors(noun)):
        if above in tree.negations and not (tree.deps[noun] in SUBJECTS and tree.heads[noun] == above):
            return True
        if above != noun and tree.lemmas[above] in (
            relations.DOWNWARD_VERBS
            | relations.DOWNWARD_PREPOSITIONS
            | relations.DOWNWARD_ADJECTIVES
            | relations.DOWNWARD_NOUNS
            | {"than"}
        ):
            return True
        for child in tree.children[above]:
            if tree.lemmas[child] in (relations.DOWNWARD_CONJUNCTIONS | relations.NEGATIVE_ADVERBS) or (
                child in tree.determiners
                and child not in (noun, *tree.iter_ancestors(noun))
                and determine_monotonicity(build_scope_projection(tree.determiners[child][0])) is Monotonicity.DOWNWARD
            ):
                return True
    return False


def _of_negations(tree: DependencyTree) -> Iterator[ScopeOperator]:
    for head, token in tree.negations.items():
        if tree.pos[head] in VERBS or any(tree.deps[child] in SUBJECTS for child in tree.children[head]):
            yield ScopeOperator(
                tree.words[token].lower(),
                head,
                collect_verb_scope(tree, head, is_subject_scope=False),
                project_negation,
            )
        else:
            yield ScopeOperator(tree.words[token].lower(), head, tree.collect_subtree(head) - {token}, project_negation)
    for i, lemma in enumerate(tree.lemmas):
        if lemma in relations.NEGATIVE_ADVERBS and tree.deps[i] in ("advmod", "neg"):
            head = tree.heads[i]
            while tree.pos[head] == "ADV" and tree.heads[head] != head:
                head = tree.heads[head]
            yield ScopeOperator(
                lemma, i, collect_verb_scope(tree, head, is_subject_scope=False) - {i}, project_downward
            )
        # "too tired to run"
        if lemma == "too" and tree.pos[tree.heads[i]] in ("ADJ", "ADV"):
            adjective = tree.heads[i]
            yield from _complements(tree, "too", adjective, (adjective, tree.heads[adjective]))


def _of_words(tree: DependencyTree) -> Iterator[ScopeOperator]:
    for i, lemma in enumerate(tree.lemmas):
        pos = tree.pos[i]
        if pos in VERBS and lemma in relations.DOWNWARD_VERBS:
            deps = ["xcomp", "pcomp", "prep", *([] if lemma in relations.FACTIVE_VERBS else ["ccomp"])]
            if lemma in relations.DOWNWARD_OBJECTS:
                deps += ["dobj", "nsubjpass"]
            yield ScopeOperator(lemma, i, _dependents(tree, i, *deps), project_downward)
        elif pos == "ADJ" and lemma in relations.DOWNWARD_ADJECTIVES:
            yield from _complements(tree, lemma, i, (i, tree.heads[i]))
        elif pos == "NOUN" and lemma in relations.DOWNWARD_NOUNS:
            domain = frozenset[int]().union(
                *(tree.collect_subtree(c) for c in tree.children[i] if tree.deps[c] in ("prep", "acl", "ccomp"))
            )
            yield ScopeOperator(lemma, i, domain, project_downward)
        elif tree.deps[i] in ("prep", "pobj"):
            yield from _of_preposition(tree, i)
        elif tree.deps[i] in ("mark", "advmod") and tree.deps[tree.heads[i]] in ("advcl", "ccomp", "ROOT", "pcomp"):
            if tree.deps[tree.heads[i]] != "ROOT" or tree.deps[i] == "mark":
                yield from _of_conjunction(tree, i)
        if pos in VERBS and lemma in relations.SURPRISE_VERBS:
            rest = (
                tree.collect_subtree(tree.heads[i]) - tree.collect_subtree(i)
                if tree.deps[i] == "csubj"
                else frozenset[int]()
            )
            yield build_opaque_operator(
                lemma, i, _dependents(tree, i, "ccomp") | rest
            )  # "what surprised us was that a dog won"
        if pos in VERBS and {lemma, tree.words[i].lower()[:-1]} & relations.AVERSIVE_VERBS:
            yield build_opaque_operator(lemma, i, _dependents(tree, i, "xcomp"))
        is_emotive = pos in ("ADJ", "VERB") and lemma in relations.EMOTIVE_ADJECTIVES
        if is_emotive or (pos in VERBS and lemma in relations.FACTIVE_VERBS):
            yield ScopeOperator(lemma, i, _dependents(tree, i, "ccomp"), project_non_monotone)


def _dependents(tree: DependencyTree, head: int, *deps: str) -> frozenset[int]:
    return frozenset[int]().union(
        *(tree.collect_subtree(c) for c in tree.children[head] if tree.deps[c] in deps and not _adjunct(tree, c))
    )


def _of_preposition(tree: DependencyTree, token: int) -> Iterator[ScopeOperator]:
    lemma, head = tree.lemmas[token], tree.heads[token]
    inside = tree.collect_subtree(token) - {token}
    if lemma == "before" and tree.find_child(token, "pobj") is not None:
        yield build_opaque_operator(
            lemma, token, inside
        )  # "before Monday morning" does not entail "before every morning"
    elif lemma in relations.DOWNWARD_PREPOSITIONS:
        yield ScopeOperator(lemma, token, inside, project_downward)
    elif lemma in relations.NON_MONOTONE_PREPOSITIONS - {"like"}:
        yield ScopeOperator(lemma, token, inside, project_non_monotone)
    elif lemma == "of" and tree.lemmas[head] in relations.NEGATIVE_OF_ADJECTIVES and tree.pos[head] == "ADJ":
        yield ScopeOperator(tree.lemmas[head], token, inside, project_downward)
    elif lemma == "of" and tree.lemmas[head] in relations.MEASURE_NOUNS:
        yield build_opaque_operator(tree.lemmas[head], token, inside)
    elif lemma in ("from", "against") and ({tree.lemmas[head], tree.lemmas[token - 1]} & relations.AVERTING_WORDS):
        yield build_opaque_operator(lemma, token, inside)


def _of_conjunction(tree: DependencyTree, token: int) -> Iterator[ScopeOperator]:
    lemma, verb = tree.lemmas[token], tree.heads[token]
    inside = tree.collect_subtree(verb) - {token}
    before = tree.lemmas[token - 1] if token else ""
    is_question = (
        lemma == "if" and token > tree.heads[verb] and tree.lemmas[tree.heads[verb]] in relations.QUESTION_VERBS
    )
    if (
        lemma in relations.NON_MONOTONE_PREPOSITIONS
        or is_question
        or (lemma == "if" and before in ("only", "even", "as", "what"))
    ):
        yield ScopeOperator(lemma, token, inside, project_non_monotone)
    elif lemma in relations.DOWNWARD_CONJUNCTIONS:
        yield ScopeOperator(lemma, token, inside, project_downward)


def _adjunct(tree: DependencyTree, child: int) -> bool:
    """Check whether a prepositional phrase is an adjunct and not an argument of the verb ("refrain from")."""
    return tree.deps[child] == "prep" and tree.lemmas[child] not in ("from", "of", "to", "against")


def _complements(tree: DependencyTree, name: str, owner: int, heads: tuple[int, ...]) -> Iterator[ScopeOperator]:
    inside = [
        child
        for head in dict.fromkeys(heads)
        for child in tree.children[head]
        if tree.deps[child] in ("xcomp", "ccomp", "csubj", "prep") and child > owner
        if tree.deps[child] != "prep" or (head == owner and tree.lemmas[child] in ("of", "to"))
    ]
    if inside:
        yield ScopeOperator(
            name, owner, frozenset().union(*(tree.collect_subtree(child) for child in inside)), project_downward
        )
