"""What one of two sentences has and the other has not, and what becomes of the sentence without it."""

from collections.abc import Iterator
from typing import Final

from unbag.natlog import operators as known
from unbag.natlog.alignment import anchor
from unbag.natlog.determiners import Kind
from unbag.natlog.edit import CannotReadError
from unbag.natlog.lexicon import Words
from unbag.natlog.polarity import determiner_of
from unbag.natlog.relations import Relation
from unbag.natlog.trees import NOUNS, SUBJECTS, VERBS, Tree

LOOSE: Final = frozenset({"advmod", "npadvmod", "prep", "advcl", "dep", "appos", "parataxis"})
"""Dependencies whose heads parsers mistake, and which say the same of another word near by."""
_ADJUNCTS: Final = frozenset(
    "prep acl relcl npadvmod appos nmod nummod quantmod poss agent dative amod compound".split()
)
_FORWARD: Final = Relation.FORWARD_ENTAILMENT


def left_over(
    tree: Tree, other: Tree, pairs: dict[int, int], consumed: set[int], words: Words
) -> Iterator[tuple[int, int | None, frozenset[int], tuple[Relation, str]]]:
    """Yield what a sentence has and the other has not.

    Each with its root, the token of the other sentence that it is put to there (None if nothing), its tokens, and the
    relation of the sentence to the same without it, with the reason.

    Raises:
        CannotReadError: if that relation is not known here.
    """
    for root in _roots(tree, set(pairs) | consumed):
        tokens = _removed(tree, root, other, pairs, consumed)
        removal = _removal(tree, root, tokens, set(pairs), words)
        head = anchor(tree, root, set(pairs))
        yield root, None if head is None else pairs[head], tokens, removal


def _roots(tree: Tree, told: set[int]) -> list[int]:
    """Return the words that are left over and do not depend on others that are."""
    left = [i for i in range(len(tree.words)) if i not in told and i not in tree.silent]
    return [i for i in left if not any(above in left for above in tree.above(i))]


def _removed(tree: Tree, root: int, other: Tree, pairs: dict[int, int], consumed: set[int]) -> frozenset[int]:
    """Return what is left over below a word, with the words that say nothing of their own.

    Raises:
        CannotReadError: if words stay that depended on it, and depend on something else than it did now.
    """
    tokens: list[int] = [root]
    stay: list[int] = []
    for above in tokens:  # which grows
        for child in tree.children[above]:
            (stay if child in pairs or child in consumed else tokens).append(child)
    if not stay:
        return frozenset(tokens)
    place = next((pairs[above] for above in tree.above(root) if above in pairs), None)
    heirs = [child for child in stay if tree.deps[child] == "conj" and child in pairs]
    for child in stay:
        if child not in pairs or {tree.deps[child], other.deps[pairs[child]]} & LOOSE:
            continue
        head = other.heads[pairs[child]]
        at_root = head == pairs[child]
        if child in heirs and (head == place or (place is None and at_root)):
            continue
        if heirs and head == pairs[heirs[0]]:
            continue
        if tree.deps[root] in ("acl", "relcl", "amod", "advcl", "prep", "pcomp") and head == place:
            continue
        raise CannotReadError(f"what becomes of {tree.words[child]!r} without {tree.words[root]!r}")
    return frozenset(tokens)


def _removal(tree: Tree, root: int, tokens: frozenset[int], aligned: set[int], words: Words) -> tuple[Relation, str]:
    """Return the relation of a sentence to the same without some of its words, where they stand."""
    dep, lemma, head = tree.deps[root], tree.lemmas[root], tree.heads[root]
    if any(tree.deps[child] == "conj" and child in aligned for child in tree.children[root]) or dep == "conj":
        return _conjunct(tree, root)
    if dep in ("advmod", "neg"):
        if lemma in known.NOT_QUITE:
            return Relation.ALTERNATION, f"{lemma} is not quite"
        if lemma in known.MODAL_ADVERBS:
            return Relation.REVERSE_ENTAILMENT, f"what is so is {lemma} so"
        return _FORWARD, "an adverb restricts"
    if dep in ("amod", "compound", "nmod") and tree.pos[head] in NOUNS:
        if lemma in known.PRIVATIVE:
            return Relation.ALTERNATION, f"what is {lemma} is none"
        if lemma in known.MODAL_ADJECTIVES:
            return Relation.INDEPENDENCE, f"what is {lemma} may be none"
        phrase, noun = f"{tree.words[root].lower()} {tree.lemmas[head]}", tree.lemmas[head]
        if tree.pos[root] == "PROPN" and tree.pos[head] == "PROPN":
            raise CannotReadError(f"the name {phrase!r}")
        if dep != "amod" and words.is_entry(phrase) and words.is_entry(noun):
            related = words.relation(phrase, noun, "NOUN")
            thing = words.relation(phrase, "physical entity", "NOUN")
            if related is None and thing is not None and thing.relation is _FORWARD:  # a sea lion is one, no lion
                raise CannotReadError(f"whether {phrase!r} is {noun!r}")
        return _FORWARD, "an adjective restricts" if dep == "amod" else "a noun restricts another"
    if dep == "advcl":
        marks = {tree.lemmas[child] for child in tree.children[root]}
        if marks & {"if", "unless", "whether"}:
            return Relation.REVERSE_ENTAILMENT, "what is so is so under a condition"
        return _FORWARD, "a clause that says when, why or how restricts"
    bare = tree.lemmas[head] == "be" and tree.first(head, "acomp", "attr") is None
    if dep == "prep" and (bare or lemma in known.OTHER_PREPOSITIONS - {"until", "unlike"}):
        raise CannotReadError(f"what becomes of the sentence without {tree.text(tokens)!r}")
    if dep == "dobj":
        determiner = determiner_of(tree, root)
        if tree.pos[head] in VERBS and determiner.kind in (Kind.SOME, Kind.EVERY, Kind.MOST, Kind.EXACTLY):
            return _FORWARD, "who does it to something does it"
    if dep == "prt":
        related = words.relation(f"{tree.lemmas[head]} {lemma}", tree.lemmas[head], "VERB")
        if related is not None and related.relation in (Relation.EQUIVALENCE, _FORWARD):
            return related.relation, related.source
    if dep in _ADJUNCTS:
        names = {
            "relcl": "a relative clause",
            "acl": "a clause",
            "prep": "a prepositional phrase",
            "nummod": "a number",
        }
        return _FORWARD, f"{names.get(dep, 'an adjunct')} restricts"
    raise CannotReadError(f"what becomes of the sentence without {tree.text(tokens)!r}")


def _conjunct(tree: Tree, root: int) -> tuple[Relation, str]:
    first = tree.heads[root] if tree.deps[root] == "conj" else root
    chain = [first, *(child for child in tree.children[first] if tree.deps[child] == "conj")]
    links = {
        tree.lemmas[child] for each in chain for child in tree.children[each] if tree.deps[child] in ("cc", "preconj")
    }
    if tree.lemmas[tree.heads[first]] in known.COLLECTIVE | {"between"} and tree.deps[first] in (*SUBJECTS, "pobj"):
        raise CannotReadError("whether what is said of several is said of each")
    if links & {"or", "nor", "either"}:
        return Relation.REVERSE_ENTAILMENT, "each of two is one of them"
    if not links & {"and", "but", "&", "yet", "both"}:
        raise CannotReadError(f"what joins {tree.words[root]!r} to the rest")
    determiner = determiner_of(tree, first)
    if tree.pos[first] in NOUNS and not determiner.named and determiner.kind is not Kind.SOME:
        return Relation.REVERSE_ENTAILMENT, "dogs and cats are what is a dog or a cat"
    return _FORWARD, "who is both is each"
