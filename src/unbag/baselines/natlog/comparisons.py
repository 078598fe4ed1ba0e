"""Operators of comparisons: superlatives, and phrases after "than" or "as".

The referent of "the tallest boy in the class" depends on each word of the noun phrase. Adverbials of time and place are
also part of a comparison: "she ran faster in Rome" does not mean that she ran faster everywhere.
"""

from collections.abc import Iterator

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, DependencyTree
from unbag.baselines.natlog.scopes import (
    ScopeOperator,
    build_opaque_operator,
    collect_adverbials,
    collect_subjects,
    collect_verb_scope,
    find_nearest_verb,
    project_downward,
    project_non_monotone,
)


def iter_comparison_operators(tree: DependencyTree) -> Iterator[ScopeOperator]:
    """Iterate over the comparison words of a sentence, such as "than" and superlatives, as scope operators."""
    yield from _of_superlatives(tree)
    for i, lemma in enumerate(tree.lemmas):
        is_than = lemma == "than"
        is_as = (
            lemma == "as"
            and i > 0
            and any(tree.lemmas[n] in relations.WORDS_BEFORE_AS for n in range(max(0, i - 6), i))
        )
        if (is_than or is_as) and tree.deps[i] in ("prep", "mark", "cc", "pobj"):
            yield from _of_standard(tree, i)


def _of_standard(tree: DependencyTree, token: int) -> Iterator[ScopeOperator]:
    """Iterate over the operators of "than" or of the second "as", whose domain is the standard of comparison."""
    is_clause = tree.deps[token] == "mark"
    inside = tree.collect_subtree(tree.heads[token] if is_clause else token) - {token}
    nouns = [noun for noun in tree.determiners if noun in inside]
    if not is_clause and any(tree.determiners[noun][0].is_free_choice for noun in nouns):
        yield ScopeOperator(tree.words[token].lower(), token, inside, project_downward)
    elif not nouns or all(tree.determiners[noun][0].is_named for noun in nouns):
        # "Taller than a boy" can mean any boy or a certain one. "Taller than every boy" is about every boy.
        yield build_opaque_operator(tree.words[token].lower(), token, inside)
    verb = find_nearest_verb(tree, token)
    yield ScopeOperator(
        tree.words[token].lower(), token, collect_adverbials(tree, verb) - inside - {token}, project_non_monotone
    )


def _of_superlatives(tree: DependencyTree) -> Iterator[ScopeOperator]:
    for i, tag in enumerate(tree.tags):
        noun = tree.heads[i]
        is_superlative = tag in ("JJS", "RBS") or tree.lemmas[i] in relations.SUPERLATIVE_LIKE_ADJECTIVES
        if not is_superlative or any(token == i for _, _, token in tree.determiners.values()):
            continue
        name = tree.words[i].lower()
        if tree.deps[i] in ("amod", "advmod") and i < noun:
            if tree.pos[noun] == "ADJ" and tree.deps[noun] == "amod":  # the most beautiful town
                noun = tree.heads[noun]
            if tree.pos[noun] in NOUNS:
                phrase = tree.collect_subtree(noun)
                yield ScopeOperator(name, i, phrase - {i} | _after(tree, noun), project_non_monotone)
                continue
        if tag in ("JJS", "RBS"):  # "she runs fastest", "he is the oldest in the village"
            verb = find_nearest_verb(tree, i)
            yield ScopeOperator(
                name, i, (collect_verb_scope(tree, verb) | collect_subjects(tree, verb)) - {i}, project_non_monotone
            )


def _after(tree: DependencyTree, noun: int) -> frozenset[int]:
    """Collect the adverbial directly after a noun phrase, which parsers may attach to the verb by mistake."""
    if tree.deps[noun] not in OBJECTS:
        return frozenset()
    end = max(tree.collect_subtree(noun)) + 1
    return frozenset[int]().union(
        *(
            tree.collect_subtree(child)
            for child in tree.children[tree.heads[noun]]
            if child == end and tree.deps[child] == "prep"
        )
    )
