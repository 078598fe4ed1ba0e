"""Dependents of the tokens of a parsed sentence. Exported model code includes this module."""

from collections.abc import Sequence


def compute_dependents(heads: Sequence[int]) -> list[list[int]]:
    """List the children of each token in order, based on the heads of all tokens. A root is its own head."""
    children: list[list[int]] = [[] for _ in heads]
    for i, head in enumerate(heads):
        if i != head:
            children[head].append(i)
    return children
