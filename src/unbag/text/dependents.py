"""Who depends on whom, the other way round: from the token that each depends on to those that depend on each."""

from collections.abc import Sequence


def dependents(heads: Sequence[int]) -> list[list[int]]:
    """Return the tokens that depend on each, in order, from the token that each depends on."""
    children: list[list[int]] = [[] for _ in heads]
    for i, head in enumerate(heads):
        if i != head:
            children[head].append(i)
    return children
