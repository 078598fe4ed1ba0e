"""Dependency parses as binary trees over words."""

from collections.abc import Sequence

from unbag.data.text.parses import compute_dependents


def binarise_parse(heads: Sequence[int]) -> list[tuple[int, int]]:
    """Convert a dependency parse to a binary tree over its words.

    A word is merged with its dependents, the nearest first. In each merge, the part on the left becomes the left child.
    Words of one phrase are therefore merged before others. Further roots are merged with the first root like
    dependents.

    Args:
        heads: Position of the head of each word, its own position for a root, shape (n,).

    Returns:
        Merges as in `tree_lstm.Merges`, n - 1 pairs of nodes.

    >>> binarise_parse([1, 2, 2])  # "a dog runs"
    [(0, 1), (3, 2)]
    """
    roots = [word for word, head in enumerate(heads) if word == head]
    below = compute_dependents(heads)
    for root in roots[1:]:
        below[roots[0]].append(root)
    for head, words in enumerate(below):
        words.sort(key=lambda word: (abs(word - head), word))
    merges: list[tuple[int, int]] = []
    node = list(range(len(heads)))  # topmost node above each word so far
    # An explicit stack, because long sentences may exceed the recursion limit. Dependents are merged before their head.
    stack = [(roots[0], False)] if roots else []
    while stack:
        word, ready = stack.pop()
        if not ready:
            stack.append((word, True))
            stack += [(each, False) for each in sorted(below[word], reverse=True)]
            continue
        for each in below[word]:
            merges.append((node[each], node[word]) if each < word else (node[word], node[each]))
            node[word] = len(heads) + len(merges) - 1
    return merges
