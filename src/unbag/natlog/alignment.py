"""Which word of the hypothesis stands for which word of the premise, and which of these a word depends on."""

from collections.abc import Callable
from typing import Final

from unbag.natlog.lexicon import Words
from unbag.natlog.trees import NOUNS, OBJECTS, SUBJECTS, VERBS, Tree

_CLASSES: Final = (frozenset(NOUNS), frozenset(VERBS), frozenset({"ADJ", "VERB", "ADV"}), frozenset({"ADP", "SCONJ"}))
_GAP: Final = 1.0
_RELATED: Final = 1.2  # cheaper than two gaps
_SLOTS: Final = (*SUBJECTS, *OBJECTS, "pobj", "acomp", "pcomp", "xcomp", "ccomp", "agent")
_MODIFIERS: Final = ("amod", "advmod", "compound", "nummod", "prep", "npadvmod", "poss", "prt")


def same_class(one: Tree, i: int, two: Tree, j: int) -> bool:
    """Tell whether two tokens have parts of speech that one word can have in two parses."""
    return one.pos[i] == two.pos[j] or any(one.pos[i] in each and two.pos[j] in each for each in _CLASSES)


def align(premise: Tree, hypothesis: Tree, words: Words) -> dict[int, int]:
    """Return which content word of the hypothesis is aligned to each of the premise, where one is.

    First in order, at the least cost: the same word costs nothing, a related one less than leaving out and putting in.
    Then what is left and fills the same place of words that are aligned ("eats an apple", "eats the soup").
    """
    left = [i for i in range(len(premise.words)) if i not in premise.silent]
    right = [j for j in range(len(hypothesis.words)) if j not in hypothesis.silent]
    known = {hypothesis.lemmas[j] for j in right}, {premise.lemmas[i] for i in left}

    def cost(i: int, j: int) -> float | None:
        if premise.lemmas[i] == hypothesis.lemmas[j] or premise.words[i].lower() == hypothesis.words[j].lower():
            differs = premise.deps[i] != hypothesis.deps[j]
            return 0.1 * differs + 0.1 * (not same_class(premise, i, hypothesis, j))
        if premise.lemmas[i] in known[0] or hypothesis.lemmas[j] in known[1]:
            return None
        if not same_class(premise, i, hypothesis, j):
            return None
        related = words.relation(premise.lemmas[i], hypothesis.lemmas[j], premise.pos[i])
        return None if related is None else _RELATED + 0.2 * (premise.deps[i] != hypothesis.deps[j])

    pairs = _cheapest(left, right, cost)
    _fill_places(premise, hypothesis, pairs, left, right)
    return pairs


def _cheapest(left: list[int], right: list[int], cost: Callable[[int, int], float | None]) -> dict[int, int]:
    """Return the alignment in order that costs least (Needleman & Wunsch 1970)."""
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


def _fill_places(premise: Tree, hypothesis: Tree, pairs: dict[int, int], left: list[int], right: list[int]) -> None:
    """Align what is left over on both sides and depends in the same way on words that are aligned."""
    for deps in (("ROOT",), _SLOTS, _MODIFIERS):
        taken = set(pairs.values())
        for i in left:
            if i in pairs or premise.deps[i] not in deps:
                continue
            head = premise.heads[i]
            for j in right:
                if j in taken or hypothesis.deps[j] != premise.deps[i] or not same_class(premise, i, hypothesis, j):
                    continue
                root = deps == ("ROOT",)
                if root or pairs.get(head) == hypothesis.heads[j]:
                    pairs[i] = j
                    taken.add(j)
                    break


def anchor(tree: Tree, token: int, aligned: set[int]) -> int | None:
    """Return the aligned word that a token depends on; a conjunct stands for a first one that is not aligned."""
    below = token
    for above in tree.above(token):
        if above in aligned:
            return above
        heirs = [child for child in tree.children[above] if tree.deps[child] == "conj" and child in aligned]
        if heirs and below not in heirs:
            return heirs[0]
        below = above
    return None


def at_one_place(left: int | None, right: int | None, pairs: dict[int, int]) -> bool:
    """Tell whether a place of the premise is one of the hypothesis."""
    return (None if left is None else pairs.get(left)) == right
