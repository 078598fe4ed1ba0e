"""A dependency parse as a binary tree over its words."""

from collections.abc import Sequence

from unbag.data.text.parses import dependents


def binarised(heads: Sequence[int]) -> list[tuple[int, int]]:
    """Return a dependency parse as a binary tree over its words.

    A word is merged with what depends on it, the nearest first; what stands left of it is the left child. So the words
    that belong together are merged before others. Several roots are merged with the first one like its dependents.

    Args:
        heads: of each word the one that it depends on, its own position for a root, shape (n,).

    >>> binarised([1, 2, 2])  # "a dog runs"
    [(0, 1), (3, 2)]
    """
    roots = [word for word, head in enumerate(heads) if word == head]
    below = dependents(heads)
    for root in roots[1:]:
        below[roots[0]].append(root)
    for head, words in enumerate(below):
        words.sort(key=lambda word: (abs(word - head), word))
    merges: list[tuple[int, int]] = []
    node = list(range(len(heads)))  # above each word, as far as it is merged
    # Without recursion: what depends on a word is merged before the word is.
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
