"""Operators whose domain is a whole clause: "only", exceptions, adverbs of quantification, generics, conditions.

If the monotonicity of a clause is unknown, its operator is opaque.
"""

from collections.abc import Iterator
from typing import Final

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.determiners import DeterminerKind
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, SUBJECTS, VERBS, DependencyTree
from unbag.baselines.natlog.scopes import (
    ADVERBIALS,
    ScopeOperator,
    build_opaque_operator,
    collect_subjects,
    collect_verb_scope,
    find_nearest_verb,
    project_downward,
    project_non_monotone,
)

_STEADS: Final = (("instead", "of"), ("rather", "than"))


def iter_focus_operators(tree: DependencyTree) -> Iterator[ScopeOperator]:
    """Iterate over the operators that apply to a whole clause of a sentence, such as "only" and conditions."""
    everything = frozenset(range(len(tree.words)))
    for i, word in enumerate(map(str.lower, tree.words)):
        if i in tree.operator_tokens or _is_reciprocal(tree, i):
            continue
        if word in relations.QUANTIFIER_WORDS:
            yield _of_stray_quantity(tree, i, word)
        elif is_exceptive(tree, i) or is_condition_start(tree, i):
            yield build_opaque_operator(word, i, everything - {i})
        elif tuple(map(str.lower, tree.words[i : i + 2])) in _STEADS or _is_as_well_as(tree, i):
            yield build_opaque_operator(word, i, frozenset(range(i + 1, len(tree.words))))
        elif tree.deps[i] in ("advmod", "neg", "preconj"):
            yield from _of_adverb(tree, i, word)
    for noun, (determiner, words, _) in tree.determiners.items():
        if determiner.kind is DeterminerKind.EVERY and tree.lemmas[noun] == "time" and noun + 1 < len(tree.words):
            if tree.pos[noun + 1] in ("PRON", "PROPN", "DET", "NOUN"):  # "every time he eats apples, he sneezes"
                yield build_opaque_operator(f"{words.lower()} time", noun, everything - {noun})
    yield from _of_kinds(tree)


def is_exceptive(tree: DependencyTree, token: int) -> bool:
    """Check whether a token starts an exception, as in "every student but Ann"."""
    word = tree.words[token].lower()
    following = tree.lemmas[token + 1] if token + 1 < len(tree.words) else ""
    if word == "but":
        return any(
            noun == token - 1
            and determiner.kind in (DeterminerKind.EVERY, DeterminerKind.AT_MOST, DeterminerKind.NOT_EVERY)
            for noun, (determiner, _, _) in tree.determiners.items()
        )
    pairs = (("apart", "from"), ("aside", "from"), ("other", "than"))
    return word in relations.EXCEPTIVE_PREPOSITIONS or (word, following) in pairs


def is_condition_start(tree: DependencyTree, token: int) -> bool:
    """Check whether a token starts an unsupported condition: "as long as", "provided that", "should it rain"."""
    words = [word.lower() for word in tree.words[token : token + 3]]
    if words in (["as", "long", "as"], ["so", "long", "as"], ["in", "event", "of"]) or words[:2] == ["in", "case"]:
        return True
    if words[:2] in (["provided", "that"], ["assuming", "that"], ["supposing", "that"], ["on", "condition"]):
        return True
    # "Hardly had he eaten an apple when …" entails that he ate an apple.
    if words[0] in relations.NEGATIVE_ADVERBS and words[1:2] == ["had"]:
        return True
    return token == 0 and tree.deps[token] == "aux" and words[0] in ("should", "had", "were")


def _of_stray_quantity(tree: DependencyTree, token: int, word: str) -> ScopeOperator:
    """Build the operator for a quantifier without a noun: "no longer", "the boys all sang", "nor"."""
    verb = find_nearest_verb(tree, token)
    if word in ("all", "each", "both") and (left := collect_subjects(tree, verb)):
        return build_opaque_operator(word, token, left - {token})
    return build_opaque_operator(word, token, frozenset(range(len(tree.words))) - {token})


def _of_adverb(tree: DependencyTree, token: int, word: str) -> Iterator[ScopeOperator]:
    verb = find_nearest_verb(tree, token)
    whole = collect_verb_scope(tree, verb) | collect_subjects(tree, verb)
    is_going_on = tree.tags[verb] == "VBG"
    if (
        word in relations.ONLY_ADVERBS
        and tree.pos[tree.heads[token]] not in NOUNS
        and not (word == "just" and is_going_on)
    ):
        yield ScopeOperator(word, token, whole - {token}, project_non_monotone)
    elif word in relations.APPROXIMATION_ADVERBS and tree.pos[tree.heads[token]] in VERBS:
        yield ScopeOperator(
            word, token, collect_verb_scope(tree, verb, is_subject_scope=False) - {token}, project_non_monotone
        )
    elif word in relations.HABITUAL_ADVERBS and not is_going_on:
        heads = {child for child in tree.children[verb] if tree.deps[child] in ADVERBIALS}
        yield ScopeOperator(word, token, frozenset(heads - {token}), project_non_monotone)
    elif word == "yet" and tree.words[token + 1 : token + 2] == ("to",):
        yield ScopeOperator(
            "yet to", token, collect_verb_scope(tree, verb, is_subject_scope=False) - {token}, project_downward
        )
    elif word in ("once", "twice", "thrice"):
        before = [each.lower() for each in tree.words[max(0, token - 2) : token]]
        inside = collect_verb_scope(tree, verb, is_subject_scope=False) - tree.collect_subtree(token)
        if before == ["at", "most"]:
            yield ScopeOperator(f"at most {word}", token, inside, project_downward)
        elif before[-1:] and before[-1] in relations.FREQUENCY_MODIFIERS:
            yield ScopeOperator(
                f"{before[-1]} {word}", token, inside | collect_subjects(tree, verb), project_non_monotone
            )
    elif (
        word == "when" and tree.deps[tree.heads[token]] == "advcl" and _is_habitual(tree, tree.heads[tree.heads[token]])
    ):
        # "He hides when a dog barks" is about every dog that barks, or about a specific dog.
        yield build_opaque_operator(word, token, tree.collect_subtree(tree.heads[token]) - {token})


def _of_kinds(tree: DependencyTree) -> Iterator[ScopeOperator]:
    """Iterate over the operators of generic bare nouns: "red apples taste sweet", "he hates dogs"."""
    for noun, dep in enumerate(tree.deps):
        if tree.pos[noun] != "NOUN" or noun in tree.determiners:
            continue
        if any(tree.deps[child] in ("poss", "det", "nummod", "predet") for child in tree.children[noun]):
            continue
        verb = tree.heads[noun]
        is_subject = dep in SUBJECTS and tree.deps[verb] in ("ROOT", "ccomp", "conj") and _is_of_kind(tree, noun, verb)
        # Lemmatizers may turn "hates" into "hat".
        is_object = (
            dep in OBJECTS and {tree.lemmas[verb], tree.words[verb].lower()[:-1]} & relations.GENERIC_OBJECT_VERBS
        )
        if is_subject or is_object:
            yield build_opaque_operator(f"{tree.words[noun].lower()} in general", noun, tree.collect_subtree(noun))


def _is_of_kind(tree: DependencyTree, noun: int, verb: int) -> bool:
    """Check whether a bare subject is generic. Captions, which mention a place, are about individuals."""
    if not _is_habitual(tree, verb) or not (tree.tags[noun] == "NNS" or tree.lemmas[noun] in relations.MASS_NOUNS):
        return False
    says_where = any(
        tree.deps[child] == "prep" and tree.lemmas[child] in relations.PLACE_PREPOSITIONS
        for child in tree.children[verb]
    )
    return not says_where


def _is_as_well_as(tree: DependencyTree, token: int) -> bool:
    return [word.lower() for word in tree.words[token : token + 3]] == ["as", "well", "as"]


def _is_reciprocal(tree: DependencyTree, token: int) -> bool:
    return [word.lower() for word in tree.words[token : token + 2]] == ["each", "other"]


def _is_habitual(tree: DependencyTree, verb: int) -> bool:
    """Check whether a verb is in the simple present, which expresses habits."""
    helpers = [child for child in tree.children[verb] if tree.deps[child] in ("aux", "auxpass")]
    if helpers:
        return tree.tags[helpers[0]] in ("VBZ", "VBP") and tree.tags[verb] not in ("VBG", "VBN")
    return tree.tags[verb] in ("VBZ", "VBP")
