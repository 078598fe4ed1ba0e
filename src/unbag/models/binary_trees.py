"""Conversion of dependency parses to binary trees over words."""

from collections.abc import Sequence

from unbag.data.text.dependencies import compute_dependents


def binarize_parse(heads: Sequence[int]) -> list[tuple[int, int]]:
    """Convert a dependency parse to a binary tree over its words.

    Each word is merged with its dependents, from the nearest to the farthest. In each merge, the left constituent
    becomes the left child. All words of a phrase are therefore merged first. Additional roots are treated as dependents
    of the first root.

    Args:
        heads: Index of the head of each word, shape (n,). A root is its own head.

    Returns:
        n - 1 merges, in the format of `tree_lstm.Merges`.

    >>> binarize_parse([1, 2, 2])  # "a dog runs"
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
    # An explicit stack, because long sentences may exceed the recursion limit. Dependents are merged first.
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
