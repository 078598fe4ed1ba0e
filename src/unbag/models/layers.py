"""The parts that the models are made of: reading a sentence in order or not, pooling it, aligning two, classifying."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

State = tuple[Tensor, Tensor]
"""The hidden and cell states of both directions of a recurrence, each of shape (2, b, hidden)."""


class Read(NamedTuple):
    """What was read of b sentences.

    Attributes:
        outputs: at each token, shape (b, t, 2 hidden); zeros at padding.
        state: after the last token of each direction; None of what has no state.
    """

    outputs: Tensor
    state: State | None


class Reader(Protocol):
    """Reads sentences: in order, or each word by itself."""

    def __call__(self, vectors: Tensor, mask: Tensor, state: State | None = None) -> Read:
        """Read b sentences of vectors, shape (b, t, inputs), from a state on."""
        ...


class BiLstm(nn.Module):
    """A bidirectional LSTM that does not see padding."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True)

    def forward(self, vectors: Tensor, mask: Tensor, state: State | None = None) -> Read:
        """Read b sentences.

        Args:
            vectors: shape (b, t, inputs).
            mask: False at padding, which is at the right, shape (b, t).
            state: where both directions begin; zeros where None.
        """
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = self.lstm(packed, state)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=vectors.shape[1])
        return Read(padded, last)


class PositionWise(nn.Module):
    """A fully connected layer with ReLU at each token, as wide as the `BiLstm` it stands in for.

    The BoW variants of Nie et al. 2019, section 3.2 and table 3: "replacing their RNNs with fully-connected layers".
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, 2 * hidden)

    def forward(self, vectors: Tensor, mask: Tensor, state: State | None = None) -> Read:
        """Read b sentences, each token by itself; there is no state."""
        return Read(self.linear(vectors).relu() * mask[..., None], None)


def reader(inputs: int, hidden: int, *, bag_of_words: bool) -> nn.Module:
    """Return a `Reader`: a `BiLstm`, or what stands in its place in a bag of words."""
    return PositionWise(inputs, hidden) if bag_of_words else BiLstm(inputs, hidden)


def max_over(vectors: Tensor, mask: Tensor) -> Tensor:
    """Return the largest value of each feature over the tokens of b sentences, shape (b, d)."""
    return vectors.masked_fill(~mask[..., None], torch.finfo(vectors.dtype).min).amax(dim=1)


def mean_over(vectors: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of each feature over the tokens of b sentences, shape (b, d); zeros where there is none."""
    return sum_over(vectors, mask) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def sum_over(vectors: Tensor, mask: Tensor) -> Tensor:
    """Return the sum of each feature over the tokens of b sentences, shape (b, d)."""
    return (vectors * mask[..., None]).sum(dim=1)


def attention(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax of scores over the last dimension, without what is masked.

    Args:
        scores: shape (b, m, n).
        mask: False at padding of the n, shape (b, n).
    """
    return scores.masked_fill(~mask[:, None, :], torch.finfo(scores.dtype).min).softmax(dim=-1)


class Alignment(NamedTuple):
    """How the tokens of two sides are aligned.

    Attributes:
        premise: the weights of each premise token's counterparts, shape (b, m, n).
        hypothesis: of each hypothesis token's, shape (b, n, m).
    """

    premise: Tensor
    hypothesis: Tensor


def aligned(scores: Tensor, premise: Tensor, hypothesis: Tensor) -> Alignment:
    """Return the soft alignment of two sides (Parikh et al. 2016, equation 2; Chen et al. 2017, equations 12 and 13).

    Args:
        scores: of each premise token with each hypothesis token, shape (b, m, n).
        premise: False at padding, shape (b, m).
        hypothesis: likewise, shape (b, n).
    """
    return Alignment(attention(scores, hypothesis), attention(scores.transpose(1, 2), premise))


def enhanced(own: Tensor, counterpart: Tensor) -> Tensor:
    """Return [a; ã; a − ã; a ⊙ ã] of tokens and their counterparts (Chen et al. 2017, equations 14 and 15)."""
    return torch.cat([own, counterpart, own - counterpart, own * counterpart], dim=-1)


class Mlp(nn.Sequential):
    """Linear layers, each with dropout before it and an activation after it; after the last one only where asked."""

    def __init__(
        self, sizes: Sequence[int], activation: type[nn.Module], dropout: float, *, activated: bool = False
    ) -> None:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Dropout(dropout), nn.Linear(inputs, outputs), activation()]
        super().__init__(*(layers if activated else layers[:-1]))
