"""Binary trees over words from dependency parses, and a tree-LSTM over a batch of trees, computed level by level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unbag.data.text.dependencies import compute_dependents

Merges = Sequence[tuple[int, int]]
"""Binary tree over the leaves 0 … n − 1: merge k creates node n + k from two nodes. Nodes have at most one parent."""


def binarize_parse(heads: Sequence[int]) -> list[tuple[int, int]]:
    """Convert a dependency parse to a binary tree over its words.

    Each word is merged with its dependents, from the nearest to the farthest. In each merge, the left constituent
    becomes the left child. All words of a phrase are therefore merged first. A root is its own head. Additional roots
    are treated as dependents of the first root.

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


class NodeStates(NamedTuple):
    """States h and c of tree nodes, shape (nodes, hidden) each."""

    h: Tensor
    c: Tensor


class TreeLstmCell(nn.Module):
    """Binary tree-LSTM cell (Chen et al. 2017, section 3.1; Tai et al. 2015).

        i = σ(W_i x + U_i [hᴸ; hᴿ])      fᴸ = σ(W_f x + U_fᴸ [hᴸ; hᴿ])      u = tanh(W_u x + U_u [hᴸ; hᴿ])
        o = σ(W_o x + U_o [hᴸ; hᴿ])      fᴿ = σ(W_f x + U_fᴿ [hᴸ; hᴿ])
        c = fᴸ ⊙ cᴸ + fᴿ ⊙ cᴿ + i ⊙ u    h = o ⊙ tanh(c)

    A leaf has an input and no children. Without inputs (`inputs = 0`), biases replace W x. `forget_bias` is a constant
    that is added to both forget gates before their sigmoid.
    """

    def __init__(self, inputs: int, hidden: int, *, forget_bias: float = 0.0) -> None:
        super().__init__()
        self.hidden = hidden
        self.forget_bias = forget_bias
        self.of_input = nn.Linear(inputs, 4 * hidden) if inputs else None  # i, o, u, f
        self.of_children = nn.Linear(2 * hidden, 5 * hidden, bias=not inputs)  # i, o, u, fᴸ, fᴿ

    def compute_leaves(self, inputs: Tensor) -> NodeStates:
        """Compute the states of n leaves from their inputs, shape (n, inputs)."""
        assert self.of_input is not None
        i, o, u, _ = self.of_input(inputs).chunk(4, dim=-1)
        c = i.sigmoid() * u.tanh()
        return NodeStates(o.sigmoid() * c.tanh(), c)

    def merge(self, left: NodeStates, right: NodeStates, inputs: Tensor | None = None) -> NodeStates:
        """Compute the states of parent nodes from their children's states and, optionally, from the parents' inputs."""
        added = None if inputs is None else self.compute_input_gates(inputs)
        return self.compute_parents(torch.cat([left.h, right.h], dim=-1), left.c, right.c, added)

    def compute_input_gates(self, inputs: Tensor) -> Tensor:
        """Compute the contribution of inputs, shape (…, inputs), to the gates of inner nodes, shape (…, 5 * hidden)."""
        assert self.of_input is not None
        x = self.of_input(inputs)
        return torch.cat([x, x[..., 3 * self.hidden :]], dim=-1)  # the same term for both forget gates

    def compute_parents(
        self, children: Tensor, c_left: Tensor, c_right: Tensor, added: Tensor | None = None
    ) -> NodeStates:
        """Compute the states of parent nodes from h, shape (…, 2 hidden), and c of their children."""
        gates = self.of_children(children)
        if added is not None:
            gates = gates + added
        i, o, u, f_left, f_right = gates.chunk(5, dim=-1)
        f_left, f_right = ((f + self.forget_bias).sigmoid() for f in (f_left, f_right))
        c = f_left * c_left + f_right * c_right + i.sigmoid() * u.tanh()
        return NodeStates(o.sigmoid() * c.tanh(), c)


@dataclass(frozen=True)
class TreeBatch:
    """Trees of a batch of sentences. Nodes are in order of computation: leaves first, then level by level."""

    leaves: Tensor  # sentence index and token position of each leaf, shape (leaves, 2)
    # Indices of the left and right child of each node, one array of shape (nodes, 2) per level above the leaves.
    levels: tuple[Tensor, ...]
    places: Tensor  # node indices of each sentence, from its leaves to its root, padded with 0, shape (b, 2 t − 1)
    mask: Tensor  # False at padding of `places`, shape (b, 2 t − 1)
    roots: Tensor  # index of the root of each sentence, shape (b,)

    @classmethod
    def from_trees(cls, trees: Sequence[Merges], lengths: Sequence[int], device: Any = None) -> "TreeBatch":
        """Create a batch from the trees and lengths of sentences. Each length is at least 1."""
        heights = [_heights(merges, n) for merges, n in zip(trees, lengths, strict=True)]
        height = np.concatenate(heights)
        sentence = np.repeat(np.arange(len(trees)), [len(each) for each in heights])
        starts = np.concatenate([[0], np.cumsum([len(each) for each in heights])])
        # Sorted by height, then by sentence, because all nodes with the same height are computed in one step.
        order = np.lexsort((np.arange(len(height)), height))
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        children = np.zeros((len(height), 2), dtype=np.int64)
        for start, merges, n in zip(starts, trees, lengths, strict=False):
            if merges:
                children[start + n : start + n + len(merges)] = position[np.asarray(merges) + start]
        by_height: list[NDArray[np.int64]] = np.split(
            order, np.searchsorted(height[order], np.arange(1, height.max() + 1))
        )
        widest = max(len(each) for each in heights)
        places = np.zeros((len(trees), widest), dtype=np.int64)
        mask = np.zeros((len(trees), widest), dtype=bool)
        for row, (start, each) in enumerate(zip(starts, heights, strict=False)):
            places[row, : len(each)] = position[start : start + len(each)]
            mask[row, : len(each)] = True
        leaves = np.stack([sentence[by_height[0]], by_height[0] - starts[sentence[by_height[0]]]], axis=1)
        roots = position[starts[1:] - 1]

        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(device)

        levels = tuple(tensor(children[level]) for level in by_height[1:])
        return cls(tensor(leaves), levels, tensor(places), tensor(mask), tensor(roots))

    def compute_states(self, cell: TreeLstmCell, inputs: Tensor, inner: Tensor | None = None) -> Tensor:
        """Compute the states h of all nodes in order of computation, shape (nodes, hidden).

        `inputs` are those of all nodes in this order, shape (nodes, inputs), or those of the leaves by sentence, shape
        (b, t, inputs). All inner nodes then have the input `inner`, shape (inputs,).
        """
        n = len(self.leaves)
        nodes = cell.compute_leaves(inputs[self.leaves[:, 0], self.leaves[:, 1]] if inputs.ndim == 3 else inputs[:n])
        # One matrix product for all levels.
        added = cell.compute_input_gates(inner if inner is not None else inputs[n:])
        for level in self.levels:
            h, c = (each.index_select(0, level.flatten()).view(len(level), 2, -1) for each in nodes)
            start = len(nodes.h) - n
            own = added if inner is not None else added[start : start + len(level)]
            made = cell.compute_parents(h.flatten(1), c[:, 0], c[:, 1], own)
            nodes = NodeStates(torch.cat([nodes.h, made.h]), torch.cat([nodes.c, made.c]))
        return nodes.h

    def group_by_sentence(self, nodes: Tensor) -> Tensor:
        """Group the values of nodes by sentence, padded with zeros, shape (b, 2 t − 1, …)."""
        return nodes[self.places] * self.mask[..., None]

    def flatten(self, values: Tensor) -> Tensor:
        """Flatten values of shape (b, 2 t − 1, d) into the order of computation, shape (nodes, d)."""
        flat = torch.empty(int(self.mask.sum()), dtype=torch.long, device=values.device)
        flat[self.places[self.mask]] = self.mask.flatten().nonzero().flatten()
        return values.flatten(0, 1)[flat]


def _heights(merges: Merges, leaves: int) -> NDArray[np.int64]:
    """Compute the height of each node: the number of merges to its farthest leaf."""
    heights = [0] * leaves
    for left, right in merges:
        heights.append(1 + max(heights[left], heights[right]))
    return np.array(heights)
