"""Word alignment of two sentences, and edits for words that occur in only one sentence.

Each edit is one step from the premise to the hypothesis.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from unbag.baselines.natlog import relations
from unbag.baselines.natlog.determiners import DeterminerKind
from unbag.baselines.natlog.focus import is_exceptive
from unbag.baselines.natlog.lexicon import LexicalRelations
from unbag.baselines.natlog.parsing import NOUNS, OBJECTS, SUBJECTS, VERBS, DependencyTree
from unbag.baselines.natlog.polarity import find_operators, list_operators_around, resolve_determiner
from unbag.baselines.natlog.relations import Monotonicity, Relation
from unbag.baselines.natlog.scopes import ScopeOperator

_CLASSES: Final = (frozenset(NOUNS), frozenset(VERBS), frozenset({"ADJ", "VERB", "ADV"}), frozenset({"ADP", "SCONJ"}))
_GAP: Final = 1.0
_RELATED: Final = 1.2  # less than two gaps: aligning related words costs less than a deletion and an insertion
_SLOTS: Final = (*SUBJECTS, *OBJECTS, "pobj", "acomp", "pcomp", "xcomp", "ccomp", "agent")
_MODIFIERS: Final = ("amod", "advmod", "compound", "nummod", "prep", "npadvmod", "poss", "prt")


def has_compatible_pos(
    first_tree: DependencyTree, first_token: int, second_tree: DependencyTree, second_token: int
) -> bool:
    """Check whether two tokens have equal or commonly confused parts of speech."""
    return first_tree.pos[first_token] == second_tree.pos[second_token] or any(
        first_tree.pos[first_token] in each and second_tree.pos[second_token] in each for each in _CLASSES
    )


def align_words(
    premise: DependencyTree, hypothesis: DependencyTree, lexical_relations: LexicalRelations
) -> dict[int, int]:
    """Align the content words of a premise with those of a hypothesis. Returns a map from premise to hypothesis tokens.

    The first pass preserves word order and minimizes a cost. Equal words have no cost, and related words cost less than
    a deletion and an insertion. The second pass aligns remaining words that depend on aligned words in the same way
    ("eats an apple", "eats the soup").
    """
    left = [i for i in range(len(premise.words)) if i not in premise.function_tokens]
    right = [j for j in range(len(hypothesis.words)) if j not in hypothesis.function_tokens]
    shared = {hypothesis.lemmas[j] for j in right}, {premise.lemmas[i] for i in left}

    def cost(i: int, j: int) -> float | None:
        if premise.lemmas[i] == hypothesis.lemmas[j] or premise.words[i].lower() == hypothesis.words[j].lower():
            differs = premise.deps[i] != hypothesis.deps[j]
            return 0.1 * differs + 0.1 * (not has_compatible_pos(premise, i, hypothesis, j))
        # A word that also occurs in the other sentence is aligned only with itself.
        if premise.lemmas[i] in shared[0] or hypothesis.lemmas[j] in shared[1]:
            return None
        if not has_compatible_pos(premise, i, hypothesis, j):
            return None
        related = lexical_relations.find_relation(premise.lemmas[i], hypothesis.lemmas[j], premise.pos[i])
        return None if related is None else _RELATED + 0.2 * (premise.deps[i] != hypothesis.deps[j])

    pairs = _cheapest(left, right, cost)
    _fill_places(premise, hypothesis, pairs, left, right)
    return pairs


def _cheapest(left: list[int], right: list[int], cost: Callable[[int, int], float | None]) -> dict[int, int]:
    """Compute the order-preserving alignment with minimum cost (Needleman & Wunsch 1970)."""
    n, m = len(left), len(right)
    best = [[(i + j) * _GAP for j in range(m + 1)] for i in range(n + 1)]
    paired = [[False] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best[i][j] = min(best[i - 1][j], best[i][j - 1]) + _GAP
            price = cost(left[i - 1], right[j - 1])
            if price is not None and best[i - 1][j - 1] + price <= best[i][j]:
                best[i][j] = best[i - 1][j - 1] + price
                paired[i][j] = True
    pairs: dict[int, int] = {}
    i, j = n, m
    while i and j:
        if paired[i][j]:
            i, j = i - 1, j - 1
            pairs[left[i]] = right[j]
        elif best[i - 1][j] <= best[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return pairs


def _fill_places(
    premise: DependencyTree, hypothesis: DependencyTree, pairs: dict[int, int], left: list[int], right: list[int]
) -> None:
    """Align remaining words that depend on aligned words in the same way."""
    for deps in (("ROOT",), _SLOTS, _MODIFIERS):
        taken = set(pairs.values())
        for i in left:
            if i in pairs or premise.deps[i] not in deps:
                continue
            head = premise.heads[i]
            for j in right:
                if (
                    j in taken
                    or hypothesis.deps[j] != premise.deps[i]
                    or not has_compatible_pos(premise, i, hypothesis, j)
                ):
                    continue
                root = deps == ("ROOT",)  # a root has no head that could be aligned
                if root or pairs.get(head) == hypothesis.heads[j]:
                    pairs[i] = j
                    taken.add(j)
                    break


def find_aligned_ancestor(tree: DependencyTree, token: int, aligned_tokens: set[int]) -> int | None:
    """Find the nearest ancestor of a token that is aligned or has an aligned conjunct.

    Return the ancestor if it is aligned, otherwise its conjunct. Return None if there is no such ancestor.
    """
    below = token
    for above in tree.iter_ancestors(token):
        if above in aligned_tokens:
            return above
        heirs = [child for child in tree.children[above] if tree.deps[child] == "conj" and child in aligned_tokens]
        if heirs and below not in heirs:
            return heirs[0]
        below = above
    return None


def are_tokens_aligned(premise_token: int | None, hypothesis_token: int | None, alignment: dict[int, int]) -> bool:
    """Check whether a premise token and a hypothesis token are aligned. Two missing tokens (None) count as aligned."""
    return (None if premise_token is None else alignment.get(premise_token)) == hypothesis_token


class UnsupportedPairError(Exception):
    """Raised for a sentence pair that the rules do not cover. The message states the reason."""


class EditKind(Enum):
    """Type of an edit."""

    SUBSTITUTE = "substitute"
    DELETE = "delete"
    INSERT = "insert"
    DETERMINER = "change the determiner"
    NEGATION = "change the negation"


@dataclass(frozen=True)
class Edit:
    """Edit of a word or phrase: one step from the premise to the hypothesis."""

    kind: EditKind
    premise: str  # removed words; empty if the edit removes nothing
    hypothesis: str  # added words; empty if the edit adds nothing
    relation: Relation  # of the removed words to the added words, before projection through the context
    source: str  # explanation of the relation
    premise_token: int | None  # for added words, the token that they attach to; None if there is none
    hypothesis_token: int | None  # for removed words, the token that they would attach to
    edited_tokens: frozenset[int] = frozenset()  # removed or added; their operators are not part of the context


UNRELIABLE_DEPS: Final = frozenset({"advmod", "npadvmod", "prep", "advcl", "dep", "appos", "parataxis"})
"""Dependency labels whose heads parsers often confuse. Attachment to a nearby head has the same meaning."""
_ADJUNCTS: Final = frozenset(
    "prep acl relcl npadvmod appos nmod nummod quantmod poss agent dative amod compound".split()
)
_FORWARD: Final = Relation.FORWARD_ENTAILMENT


def iter_unaligned_phrases(
    tree: DependencyTree,
    other_tree: DependencyTree,
    alignment: dict[int, int],
    edited_tokens: set[int],
    lexical_relations: LexicalRelations,
) -> Iterator[tuple[int, int | None, frozenset[int], tuple[Relation, str]]]:
    """Iterate over the unaligned phrases of a sentence, with the relation that results from deleting each phrase.

    Yields:
        For each phrase: its root; the token of the other sentence that it would attach to (None if there is none); its
        tokens; and the relation of the sentence to the sentence without the phrase, with an explanation.

    Raises:
        UnsupportedPairError: If no rule covers this relation.
    """
    roots = _roots(tree, set(alignment) | edited_tokens)
    tree_operators = find_operators(tree) if roots else []
    for root in roots:
        tokens = _removed(tree, root, other_tree, alignment, edited_tokens)
        _check_operators(tree, root, tokens, tree_operators)
        removal = _removal(tree, root, tokens, set(alignment), lexical_relations)
        head = find_aligned_ancestor(tree, root, set(alignment))
        yield root, None if head is None else alignment[head], tokens, removal


def _roots(tree: DependencyTree, accounted_for: set[int]) -> list[int]:
    """List the unaligned words that do not depend on other unaligned words."""
    left = [i for i in range(len(tree.words)) if i not in accounted_for and i not in tree.function_tokens]
    return [i for i in left if not any(above in left for above in tree.iter_ancestors(i))]


def _removed(
    tree: DependencyTree, root: int, other: DependencyTree, pairs: dict[int, int], consumed: set[int]
) -> frozenset[int]:
    """Collect the tokens that are removed together with a word, including function words."""
    tokens: list[int] = [root]
    stay: list[int] = []
    for above in tokens:  # the loop body appends to the list, to traverse the tree
        for child in tree.children[above]:
            (stay if child in pairs or child in consumed else tokens).append(child)
    if not stay:
        return frozenset(tokens)
    place = next((pairs[above] for above in tree.iter_ancestors(root) if above in pairs), None)
    heirs = [child for child in stay if tree.deps[child] == "conj" and child in pairs]
    for child in stay:
        if child not in pairs or {tree.deps[child], other.deps[pairs[child]]} & UNRELIABLE_DEPS:
            continue
        # The new head of a dependent that remains must be the head of the removed word.
        head = other.heads[pairs[child]]
        at_root = head == pairs[child]
        if child in heirs and (head == place or (place is None and at_root)):
            continue
        if heirs and head == pairs[heirs[0]]:
            continue
        if tree.deps[root] in ("acl", "relcl", "amod", "advcl", "prep", "pcomp") and head == place:
            continue
        raise UnsupportedPairError(
            f"the deletion of {tree.words[root]!r}, on which {tree.words[child]!r} depends, is not supported"
        )
    return frozenset(tokens)


def _check_operators(
    tree: DependencyTree, root: int, tokens: frozenset[int], tree_operators: list[ScopeOperator]
) -> None:
    """Check that the removed words only restrict the remaining sentence, unlike "in no city" and "except"."""
    for each in tree_operators:
        if each.owner not in tokens or each.domain <= tokens:
            continue
        rest = each.domain - tokens
        is_determiner = each.owner in tree.determiners and not each.restricts
        if is_determiner and len(rest) == 1 and all(tree.pos[token] in NOUNS for token in rest):
            continue  # "a man with no hat" is a man
        if each.is_opaque or (is_determiner and not resolve_determiner(tree, each.owner).is_existential):
            raise UnsupportedPairError(f"the deletion of {tree.join_tokens(tokens)!r} is not supported")
    if any(is_exceptive(tree, token) for token in tokens):
        raise UnsupportedPairError(f"the deletion of {tree.join_tokens(tokens)!r} is not supported")
    is_aside = tree.deps[root] in ("relcl", "appos", "acl") and root and _has_comma(tree, tokens)
    if is_aside and any(
        each.monotonicity is not Monotonicity.UPWARD for each in list_operators_around(tree_operators, root)
    ):
        # "Every boy, who was tired, slept" is about every boy, because the clause is not restrictive.
        raise UnsupportedPairError(
            f"the non-restrictive clause {tree.join_tokens(tokens)!r} in a quantified phrase is not supported"
        )


def _has_comma(tree: DependencyTree, tokens: frozenset[int]) -> bool:
    start = min(tokens)
    return tree.words[start] == "," or (start > 0 and tree.words[start - 1] == ",")


def _removal(
    tree: DependencyTree, root: int, tokens: frozenset[int], aligned: set[int], words: LexicalRelations
) -> tuple[Relation, str]:
    """Derive the relation of a sentence to the sentence without the given words, before projection."""
    dep, lemma, head = tree.deps[root], tree.lemmas[root], tree.heads[root]
    if any(tree.deps[child] == "conj" and child in aligned for child in tree.children[root]) or dep == "conj":
        return _conjunct(tree, root)
    if dep in ("advmod", "neg"):
        if lemma in relations.EXCLUDING_ADVERBS:
            return Relation.ALTERNATION, f'"{lemma}" excludes the unmodified clause'
        if lemma in relations.MODAL_ADVERBS:
            return Relation.REVERSE_ENTAILMENT, f'a clause entails the same clause with "{lemma}"'
        if lemma in relations.NON_VERIDICAL_ADVERBS or lemma == "enough":
            raise UnsupportedPairError(f"the deletion of {tree.join_tokens(tokens)!r} is not supported")
        return _FORWARD, "an adverb restricts its clause"
    if dep in ("amod", "compound", "nmod") and tree.pos[head] in NOUNS:
        return _modifier(tree, root, words)
    if dep == "advcl":
        marks = {tree.lemmas[child] for child in tree.children[root]}
        before = tree.lemmas[min(tokens) - 1] if min(tokens) else ""
        if marks & {"unless", "whether"} or ("if" in marks and {before, *marks} & {"only", "even", "as"}):
            raise UnsupportedPairError(f"the deletion of {tree.join_tokens(tokens)!r} is not supported")
        if "if" in marks:
            return Relation.REVERSE_ENTAILMENT, "a clause entails the same clause with a condition"
        return _FORWARD, "an adverbial clause restricts the main clause"
    bare = tree.lemmas[head] == "be" and tree.find_child(head, "acomp", "attr") is None
    if dep == "prep" and (bare or lemma in relations.NON_MONOTONE_PREPOSITIONS - {"until", "unlike"}):
        raise UnsupportedPairError(f"the deletion of {tree.join_tokens(tokens)!r} is not supported")
    if dep == "prep" and _is_not_factual(tree, root):
        raise UnsupportedPairError(f"the non-factual phrase {tree.join_tokens(tokens)!r} is not supported")
    if dep == "npadvmod" and tree.pos[head] in ("ADJ", "ADV"):  # "five years old" does not entail "old"
        raise UnsupportedPairError(
            f"the deletion of {tree.join_tokens(tokens)!r} before {tree.words[head]!r} is not supported"
        )
    if dep == "dobj" and tree.lemmas[head] not in relations.INCHOATIVE_VERBS:
        determiner = resolve_determiner(tree, root)
        if tree.pos[head] in VERBS and determiner.kind in (
            DeterminerKind.SOME,
            DeterminerKind.EVERY,
            DeterminerKind.MOST,
            DeterminerKind.EXACTLY,
        ):
            return _FORWARD, "a verb with an object entails the verb without an object"
    if dep == "prt":
        related = words.find_relation(f"{tree.lemmas[head]} {lemma}", tree.lemmas[head], "VERB")
        if related is not None and related.relation in (Relation.EQUIVALENCE, _FORWARD):
            return related.relation, related.source
    if dep in _ADJUNCTS:
        names = {
            "relcl": "a relative clause",
            "acl": "a clause",
            "prep": "a prepositional phrase",
            "nummod": "a number",
        }
        return _FORWARD, f"{names.get(dep, 'an adjunct')} restricts the phrase"
    raise UnsupportedPairError(f"the deletion of {tree.join_tokens(tokens)!r} is not supported")


def _conjunct(tree: DependencyTree, root: int) -> tuple[Relation, str]:
    first = tree.heads[root] if tree.deps[root] == "conj" else root
    chain = [first, *(child for child in tree.children[first] if tree.deps[child] == "conj")]
    links = {
        tree.lemmas[child] for each in chain for child in tree.children[each] if tree.deps[child] in ("cc", "preconj")
    }
    if tree.lemmas[tree.heads[first]] in relations.COLLECTIVE_VERBS | {"between"} and tree.deps[first] in (
        *SUBJECTS,
        "pobj",
    ):
        raise UnsupportedPairError("a conjunction with a possible collective reading is not supported")
    if links & {"or", "nor", "either"}:
        return Relation.REVERSE_ENTAILMENT, "each disjunct entails the disjunction"
    if not links & {"and", "but", "&", "yet", "both"}:
        raise UnsupportedPairError(f"the conjunct {tree.words[root]!r} has no conjunction")
    if tree.pos[root] == "ADJ" and tree.lemmas[root] in relations.COLORS:  # a black and white dog is not a black dog
        raise UnsupportedPairError(f"the deletion of the conjoined color {tree.words[root]!r} is not supported")
    others = {word.lower() for word in tree.words}
    if tree.pos[first] in NOUNS and (
        others & {"together"} or {"each", "other"} <= others or {"one", "another"} <= others
    ):
        raise UnsupportedPairError("a conjunction with a possible collective reading is not supported")
    determiner = resolve_determiner(tree, first)
    if links & {"but"} and not determiner.is_named:
        raise UnsupportedPairError(f'the exception {tree.words[root]!r} after "but" is not supported')
    if tree.pos[first] in NOUNS and determiner.kind is DeterminerKind.SOME and determiner.number > 1:
        if not any(each in tree.determiners for each in chain[1:]):  # of ten boys and girls, ten need not be boys
            raise UnsupportedPairError(
                f"it is unknown how many {tree.words[first]!r} there are, because the number applies to the whole "
                "conjunction"
            )
    if tree.pos[first] in NOUNS and not determiner.is_named and determiner.kind is not DeterminerKind.SOME:
        return Relation.REVERSE_ENTAILMENT, 'conjoined nouns under a quantifier have the meaning of "or"'
    return _FORWARD, "a conjunction entails each conjunct"


def _modifier(tree: DependencyTree, root: int, words: LexicalRelations) -> tuple[Relation, str]:
    """Derive the relation of a noun with a modifier to the noun without it."""
    dep, lemma, head = tree.deps[root], tree.lemmas[root], tree.heads[root]
    phrase, noun = f"{tree.words[root].lower()} {tree.lemmas[head]}", tree.lemmas[head]
    names = {lemma, tree.words[root].lower(), "".join(tree.words[max(root - 2, 0) : root + 1]).lower()}  # so-called
    if names & relations.PRIVATIVE_ADJECTIVES:
        return Relation.ALTERNATION, f'"{lemma}" excludes the noun'
    if names & relations.MODAL_ADJECTIVES:
        return Relation.INDEPENDENCE, f'"{lemma}" does not entail the noun'
    if lemma in relations.MATERIALS and words.is_living(noun):
        raise UnsupportedPairError(f"it is unknown whether {phrase!r} is a kind of {noun!r}")
    if tree.pos[root] == "PROPN" and tree.pos[head] == "PROPN":
        raise UnsupportedPairError(f"the multi-word name {phrase!r} is not supported")
    is_inner = dep == "compound" and tree.deps[head] in ("compound", "nmod")
    if is_inner and words.find_relation(phrase, noun, "NOUN") is None:  # peanut butter is not butter
        raise UnsupportedPairError(f"it is unknown whether {phrase!r} is a kind of {noun!r}")
    if dep != "amod" and words.has_entry(phrase) and words.has_entry(noun):
        # A sea lion is not a lion.
        if words.find_relation(phrase, noun, "NOUN") is None and words.is_kind_of(phrase, "physical entity"):
            raise UnsupportedPairError(f"it is unknown whether {phrase!r} is a kind of {noun!r}")
    return _FORWARD, "an adjective restricts the noun" if dep == "amod" else "a noun modifier restricts the noun"


def _is_not_factual(tree: DependencyTree, preposition: int) -> bool:
    """Check whether a phrase attributes the clause to a source or to fiction: "according to", "in a novel"."""
    if tree.words[preposition].lower() == "according":
        return True
    noun = tree.find_child(preposition, "pobj")
    is_story = noun is not None and tree.lemmas[noun] in relations.FICTION_NOUNS
    return is_story and tree.lemmas[preposition] == "in" and tree.pos[tree.heads[preposition]] in VERBS
