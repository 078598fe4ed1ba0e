"""Edits from a premise to a hypothesis, each with its lexical relation.

Deleting a restrictive phrase (an adjective, an adjunct, a relative clause, a conjunct) makes a sentence more general,
and inserting such a phrase makes it more specific. A substitution has the relation of the two words in the lexicon.
Determiners, negations and modals of aligned words are compared.
"""

from typing import Final

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.alignment import (
    UNRELIABLE_DEPS,
    Edit,
    EditKind,
    UnsupportedPairError,
    are_tokens_aligned,
    find_aligned_ancestor,
    iter_unaligned_phrases,
)
from unbag.baselines.natlog.determiners import A, compute_determiner_relation
from unbag.baselines.natlog.lexicon import LexicalRelations
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, SUBJECTS, DependencyTree
from unbag.baselines.natlog.polarity import resolve_determiner
from unbag.baselines.natlog.relations import Relation
from unbag.data.text.grammar import ARTICLES

_CORE: Final = (*SUBJECTS, *OBJECTS, "pobj", "ROOT", "acomp", "xcomp", "ccomp", "pcomp", "agent")
_SPAN: Final = 4
_ATTRIBUTES: Final = frozenset({"amod", "compound", "nmod", "nummod", "poss"})
"""Dependency labels of noun modifiers."""
_DETAILS: Final = frozenset("another this that these those small large big huge".split())
"""Words in determiners that are more specific than "a" or "the", because they specify an individual or a group size."""
_COMPARED: Final = frozenset({"JJR", "JJS", "RBR", "RBS"})
_FORWARD: Final = Relation.FORWARD_ENTAILMENT


def find_edits(
    premise: DependencyTree, hypothesis: DependencyTree, alignment: dict[int, int], lexical_relations: LexicalRelations
) -> list[Edit]:
    """Find the edits from a premise to a hypothesis, in this order: edits of aligned words, deletions, insertions.

    `alignment` is the result of `align_words`. An `UnsupportedPairError` names a difference that no rule covers.
    """
    alignment = _without_moved_modifiers(premise, hypothesis, alignment)
    back = {j: i for i, j in alignment.items()}
    edits: list[Edit] = []
    consumed: tuple[set[int], set[int]] = (set(), set())
    between_same = _between_same(premise, hypothesis)
    # The parses of the shared words may differ. A short textual difference is more reliable than these parses.
    one_place = all(len(tokens) <= _SPAN for tokens in between_same)
    if one_place and (phrase := _one_phrase(premise, hypothesis, between_same, lexical_relations)):
        return [phrase]
    if exchange := _exchange(premise, hypothesis):
        return [exchange]
    for i, j in sorted(alignment.items()):
        if edit := _substitution(premise, i, hypothesis, j, lexical_relations, alignment, consumed):
            edits.append(edit)
        edits += _determiners(premise, i, hypothesis, j, alignment)
        edits += _negations(premise, i, hypothesis, j)
        edits += _modals(premise, i, hypothesis, j)
        if not one_place:
            _check_same_role(premise, i, hypothesis, j, alignment)
    for root, place, tokens, (relation, source) in iter_unaligned_phrases(
        premise, hypothesis, alignment, consumed[0], lexical_relations
    ):
        edits.append(Edit(EditKind.DELETE, premise.join_tokens(tokens), "", relation, source, root, place, tokens))
    for root, place, tokens, (relation, source) in iter_unaligned_phrases(
        hypothesis, premise, back, consumed[1], lexical_relations
    ):
        edits.append(
            Edit(EditKind.INSERT, "", hypothesis.join_tokens(tokens), relation.converse, source, place, root, tokens)
        )
    edits = _without_moves(edits, premise, hypothesis, alignment)
    _check_paraphrases(edits, premise, hypothesis)
    return edits


def _substitution(
    premise: DependencyTree,
    i: int,
    hypothesis: DependencyTree,
    j: int,
    words: LexicalRelations,
    pairs: dict[int, int],
    consumed: tuple[set[int], set[int]],
) -> Edit | None:
    one, two = premise.lemmas[i], hypothesis.lemmas[j]
    if one == two or premise.words[i].lower() == hypothesis.words[j].lower():
        return None
    pos = premise.pos[i]
    if pos in NOUNS:
        phrases = _phrases(premise, i, set(pairs)), _phrases(hypothesis, j, set(pairs.values()))
        for first in phrases[0]:
            for second in phrases[1]:
                # Single words are looked up below, with their own parts of speech.
                if len(first) + len(second) == 2:
                    continue
                old, new = _joined(premise, first), _joined(hypothesis, second)
                if related := words.find_relation(old, new, "NOUN"):
                    # The words of both phrases are part of this edit, so they are neither deleted nor inserted.
                    consumed[0].update(first)
                    consumed[1].update(second)
                    return Edit(EditKind.SUBSTITUTE, old, new, related.relation, related.source, i, j)
    if pos == "PROPN" and two == "person":
        return Edit(EditKind.SUBSTITUTE, premise.words[i], "person", _FORWARD, "a name refers to a person", i, j)
    if pos == "PRON" or hypothesis.pos[j] == "PRON" or (pos == "PROPN" and not words.has_entry(one)):
        raise UnsupportedPairError(f"the relation between {premise.words[i]!r} and {hypothesis.words[j]!r} is unknown")
    if (premise.tags[i] in _COMPARED) is not (hypothesis.tags[j] in _COMPARED) and one[:3] == two[:3]:
        raise UnsupportedPairError(f"the relation between {premise.words[i]!r} and {hypothesis.words[j]!r} is unknown")
    related = words.find_relation(one, two, pos) or words.find_relation(one, two, hypothesis.pos[j])
    related = related or words.find_relation(premise.words[i].lower(), hypothesis.words[j].lower(), pos)
    if related is None:
        raise UnsupportedPairError(f"the relation between {premise.words[i]!r} and {hypothesis.words[j]!r} is unknown")
    relation = related.relation
    _check_measured(premise, i, hypothesis, j, relation)
    if relation is Relation.ALTERNATION and pos in NOUNS and premise.deps[i] != "attr":
        # Exclusive nouns do not imply exclusive sentences: a cat and a dog may both sleep.
        relation = Relation.INDEPENDENCE
    return Edit(EditKind.SUBSTITUTE, premise.words[i], hypothesis.words[j], relation, related.source, i, j)


def _check_measured(premise: DependencyTree, i: int, hypothesis: DependencyTree, j: int, relation: Relation) -> None:
    """Check that no gradable adjective modifies both nouns, because a small elephant is not a small animal."""
    if relation not in (_FORWARD, Relation.REVERSE_ENTAILMENT) or premise.pos[i] not in NOUNS:
        return
    # The preceding word is included, because parsers may assign the noun to the next phrase.
    one, two = (
        {tree.lemmas[n] for n in (*tree.children[noun], max(noun - 1, 0))}
        for tree, noun in ((premise, i), (hypothesis, j))
    )
    nouns = premise.lemmas[i], hypothesis.lemmas[j]
    is_occupation = any(noun.endswith(relations.OCCUPATION_SUFFIXES) for noun in nouns)
    if (
        measured := one
        & two
        & (relations.GRADABLE_ADJECTIVES | (relations.OCCUPATION_ADJECTIVES if is_occupation else frozenset()))
    ):
        raise UnsupportedPairError(
            f"the gradable adjective {min(measured)!r} may differ in meaning for {nouns[0]!r} and {nouns[1]!r}"
        )


def _phrases(tree: DependencyTree, noun: int, aligned: set[int]) -> list[tuple[int, ...]]:
    """List the phrases of a noun and the unaligned words directly before it, in descending order of length."""
    start = noun
    while (
        start and start - 1 not in aligned and start - 1 not in tree.function_tokens and tree.heads[start - 1] >= start
    ):
        start -= 1
    return [tuple(range(first, noun + 1)) for first in range(start, noun + 1)]


def _joined(tree: DependencyTree, tokens: tuple[int, ...]) -> str:
    return " ".join([*(tree.words[i].lower() for i in tokens[:-1]), tree.lemmas[tokens[-1]]])


def _determined(tree: DependencyTree, noun: int, aligned: set[int]) -> int:
    """Find the unaligned noun whose determiner a conjunct shares ("no cat or dog"), or else return the noun."""
    shares = tree.deps[noun] == "conj" and noun not in tree.determiners and tree.heads[noun] not in aligned
    return tree.heads[noun] if shares else noun


def _determiners(
    premise: DependencyTree, i: int, hypothesis: DependencyTree, j: int, pairs: dict[int, int]
) -> list[Edit]:
    if premise.pos[i] not in NOUNS and i not in premise.determiners and j not in hypothesis.determiners:
        return []
    i, j = _determined(premise, i, set(pairs)), _determined(hypothesis, j, set(pairs.values()))
    one, two = resolve_determiner(premise, i), resolve_determiner(hypothesis, j)
    relation = compute_determiner_relation(one, two)
    texts = [tree.determiners[n][1] if n in tree.determiners else "" for tree, n in ((premise, i), (hypothesis, j))]
    if relation is None:
        raise UnsupportedPairError(f"the relation between the determiners {texts[0]!r} and {texts[1]!r} is unknown")
    first, second = (frozenset(text.lower().split()) & _DETAILS for text in texts)
    if relation is Relation.EQUIVALENCE and first != second:
        if not (first < second or second < first):
            raise UnsupportedPairError(f"the relation between the determiners {texts[0]!r} and {texts[1]!r} is unknown")
        relation = _FORWARD if second < first else Relation.REVERSE_ENTAILMENT
        return [Edit(EditKind.DETERMINER, texts[0] or "no determiner", texts[1] or "no determiner", relation, "", i, j)]
    is_number = relation is not Relation.EQUIVALENCE and max(one.number, two.number) > 1
    if is_number and premise.lemmas[i] in relations.UNITS:  # "within two hours" does not entail "within one hour"
        raise UnsupportedPairError(
            f"the relation between {texts[0]!r} and {texts[1]!r} before the unit {premise.words[i]!r} is unknown"
        )
    if relation is Relation.EQUIVALENCE and (one.kind, one.number) == (two.kind, two.number):
        return []
    return [Edit(EditKind.DETERMINER, texts[0] or "no determiner", texts[1] or "no determiner", relation, "", i, j)]


def _negations(premise: DependencyTree, i: int, hypothesis: DependencyTree, j: int) -> list[Edit]:
    one, two = premise.negations.get(i), hypothesis.negations.get(j)
    if (one is None) is (two is None):
        return []
    texts = [tree.words[n] if n is not None else "" for tree, n in ((premise, one), (hypothesis, two))]
    return [Edit(EditKind.NEGATION, texts[0], texts[1], Relation.NEGATION, "", i, j)]


def _modals(premise: DependencyTree, i: int, hypothesis: DependencyTree, j: int) -> list[Edit]:
    one, two = premise.modals.get(i, ""), hypothesis.modals.get(j, "")
    if one == two:
        return []
    possible = ("can", "could", "may", "might")
    if one in possible and two in possible:
        return []
    if not one and two in possible:
        return [Edit(EditKind.INSERT, "", two, _FORWARD, "a fact is possible", i, j)]
    if one in possible and not two:
        return [Edit(EditKind.DELETE, one, "", Relation.REVERSE_ENTAILMENT, "a fact is possible", i, j)]
    raise UnsupportedPairError(
        f"the relation between {one or premise.words[i]!r} and {two or hypothesis.words[j]!r} is unknown"
    )


def _check_same_role(
    premise: DependencyTree, i: int, hypothesis: DependencyTree, j: int, pairs: dict[int, int]
) -> None:
    """Check that two aligned words have the same grammatical role in their sentences."""
    one, two = find_aligned_ancestor(premise, i, set(pairs)), find_aligned_ancestor(hypothesis, j, set(pairs.values()))
    core = (
        premise.deps[i] in _CORE
        or hypothesis.deps[j] in _CORE
        or premise.lemmas[i] in relations.ATTRIBUTIVE_PREPOSITIONS
    )
    same_head = are_tokens_aligned(one, two, pairs)
    if core and not same_head:
        raise UnsupportedPairError(f"{premise.words[i]!r} has different grammatical roles in the two sentences")
    if core and same_head and {premise.deps[i], hypothesis.deps[j]} & {*SUBJECTS, "dobj"}:
        subjects = [tree.deps[n] in SUBJECTS for tree, n in ((premise, i), (hypothesis, j))]
        passive = [tree.deps[n] == "nsubjpass" for tree, n in ((premise, i), (hypothesis, j))]
        # The subject of a passive is the object of the active verb.
        if subjects[0] != subjects[1] or passive[0] != passive[1]:
            raise UnsupportedPairError(f"{premise.words[i]!r} has different grammatical roles in the two sentences")


def _exchange(premise: DependencyTree, hypothesis: DependencyTree) -> Edit | None:
    """Build the edit for a pair with exchanged subject and object; None for other pairs."""
    one, two = premise.root, hypothesis.root
    if premise.lemmas[one] != hypothesis.lemmas[two]:
        return None
    subject, object_ = premise.find_child(one, "nsubj"), premise.find_child(one, "dobj")
    other_subject, other_object = hypothesis.find_child(two, "nsubj"), hypothesis.find_child(two, "dobj")
    if subject is None or object_ is None or other_subject is None or other_object is None:
        return None

    def phrase(tree: DependencyTree, noun: int) -> list[str]:
        return [tree.lemmas[i] for i in sorted(tree.collect_subtree(noun)) if i not in tree.function_tokens]

    articles = [premise.determiners[noun][1] if noun in premise.determiners else "" for noun in (subject, object_)]
    if not all(
        word == "the" or premise.pos[noun] == "PROPN" for word, noun in zip(articles, (subject, object_), strict=True)
    ):
        return None
    if not all(resolve_determiner(tree, noun) == A for tree in (premise, hypothesis) for noun in tree.determiners):
        return None
    if one in premise.negations or two in hypothesis.negations:
        return None
    first = phrase(premise, subject), phrase(premise, object_)
    second = phrase(hypothesis, other_object), phrase(hypothesis, other_subject)
    if first[0] == first[1] or first != second:
        return None
    rest = [
        sorted(tree.lemmas[i] for i in range(len(tree.words)) if i not in tree.function_tokens)
        for tree in (premise, hypothesis)
    ]
    if rest[0] != rest[1]:
        return None
    return Edit(
        EditKind.SUBSTITUTE,
        premise.join_tokens(premise.collect_subtree(one)),
        hypothesis.join_tokens(hypothesis.collect_subtree(two)),
        Relation.ALTERNATION,
        "subject and object are exchanged",
        one,
        two,
    )


def _one_phrase(
    premise: DependencyTree,
    hypothesis: DependencyTree,
    between_same: tuple[list[int], list[int]],
    words: LexicalRelations,
) -> Edit | None:
    """Build the edit for a pair that differs in a single noun phrase ("body of water"); None for other pairs."""
    heads, texts = [], []
    for tree, rest in zip((premise, hypothesis), between_same, strict=True):
        if not rest or not tree.operator_tokens.isdisjoint(rest):
            return None
        tops = [i for i in rest if tree.heads[i] not in rest or tree.heads[i] == i]
        if len(tops) != 1 or tree.pos[tops[0]] not in ("NOUN", "PROPN"):
            return None
        lemma = tree.lemmas[tops[0]] if tops[0] == rest[-1] else tree.words[rest[-1]].lower()
        texts.append(" ".join([*(tree.words[i].lower() for i in rest[:-1]), lemma]))
        heads.append(tops[0])
    related = words.find_relation(texts[0], texts[1], "NOUN")
    if related is None or related.relation is Relation.ALTERNATION:
        return None
    _check_measured(premise, heads[0], hypothesis, heads[1], related.relation)
    return Edit(EditKind.SUBSTITUTE, texts[0], texts[1], related.relation, related.source, heads[0], heads[1])


def _between_same(premise: DependencyTree, hypothesis: DependencyTree) -> tuple[list[int], list[int]]:
    """List the tokens between the common prefix and the common suffix of two sentences, without articles."""
    one, two = ([word.lower() for word in tree.words] for tree in (premise, hypothesis))
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    end = 0
    while end < min(len(one), len(two)) - start and one[-1 - end] == two[-1 - end]:
        end += 1
    first, second = ([i for i in range(start, len(side) - end) if side[i] not in ARTICLES] for side in (one, two))
    return first, second


def _without_moved_modifiers(
    premise: DependencyTree, hypothesis: DependencyTree, pairs: dict[int, int]
) -> dict[int, int]:
    """Remove pairs of aligned modifiers that modify different nouns in the two sentences."""

    def moved(i: int, j: int) -> bool:
        if not {premise.deps[i], hypothesis.deps[j]} <= _ATTRIBUTES:
            return False
        return not are_tokens_aligned(
            find_aligned_ancestor(premise, i, set(pairs)),
            find_aligned_ancestor(hypothesis, j, set(pairs.values())),
            pairs,
        )

    return {i: j for i, j in pairs.items() if not moved(i, j)}


def _without_moves(
    edits: list[Edit], premise: DependencyTree, hypothesis: DependencyTree, pairs: dict[int, int]
) -> list[Edit]:
    """Remove deletions and insertions of the same words if only their position or the parse differs."""

    def is_move(one: Edit, two: Edit) -> bool:
        if one.premise.lower() != two.hypothesis.lower() or one.premise_token is None or two.hypothesis_token is None:
            return False
        if are_tokens_aligned(two.premise_token, one.hypothesis_token, pairs):
            return True
        # "A happy dog sees a cat" and "A dog sees a happy cat" differ in meaning, so their edits remain.
        if not {premise.deps[one.premise_token], hypothesis.deps[two.hypothesis_token]} <= UNRELIABLE_DEPS:
            return False
        nouns = [
            premise.pos[premise.heads[one.premise_token]] in NOUNS,
            hypothesis.pos[hypothesis.heads[two.hypothesis_token]] in NOUNS,
        ]
        return not all(nouns) and not (
            any(nouns) and premise.lemmas[one.premise_token] in relations.ATTRIBUTIVE_PREPOSITIONS
        )

    deletions = [edit for edit in edits if edit.kind is EditKind.DELETE]
    insertions = [edit for edit in edits if edit.kind is EditKind.INSERT]
    for edit in deletions:
        same = next((other for other in insertions if is_move(edit, other)), None)
        if same is not None:
            edits = [each for each in edits if each is not edit and each is not same]
            insertions.remove(same)
    return edits


def _check_paraphrases(edits: list[Edit], premise: DependencyTree, hypothesis: DependencyTree) -> None:
    """Reject pairs in which the same word becomes both more general and more specific."""
    # Such pairs are often paraphrases, which the rules do not cover: "a skit which is funny" is a funny skit, and a
    # "costumed performer" is nearly a clown.
    general = [edit for edit in edits if edit.kind is not EditKind.INSERT and edit.relation is _FORWARD]
    specific = [
        edit for edit in edits if edit.kind is not EditKind.DELETE and edit.relation is Relation.REVERSE_ENTAILMENT
    ]
    for one in general:
        for two in specific:
            if EditKind.DETERMINER in (one.kind, two.kind):
                continue
            lemmas = [
                {tree.lemmas[i] for i in edit.edited_tokens if i not in tree.function_tokens}
                for tree, edit in ((premise, one), (hypothesis, two))
            ]
            places = [
                premise.heads[edit.premise_token]
                if edit.premise_token is not None and edit.kind is EditKind.DELETE
                else edit.premise_token
                for edit in (one, two)
            ]
            attributes = (
                one.premise_token is not None
                and two.hypothesis_token is not None
                and {premise.deps[one.premise_token], hypothesis.deps[two.hypothesis_token]} <= _ATTRIBUTES
            )
            if places[0] == places[1] or (lemmas[0] & lemmas[1] and not attributes):
                raise UnsupportedPairError(f"the relation between {one.premise!r} and {two.hypothesis!r} is unknown")
