"""Layers shared by the models: token encoders, pooling, alignment of two sentences, and a classifier."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

State = tuple[Tensor, Tensor]
"""Hidden and cell states of both directions of an LSTM, shape (2, b, hidden) each."""


class TokenEncoderOutput(NamedTuple):
    """Output of a `BiLstm` or a `PositionWiseLayer` for a batch of b sentences."""

    outputs: Tensor  # output at each token, shape (b, t, 2 hidden); zeros at padding
    state: State | None  # state after the last token of each direction; None for an encoder without state


class BiLstm(nn.Module):
    """Bidirectional LSTM that ignores padding."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True, bidirectional=True)

    def forward(self, vectors: Tensor, mask: Tensor, state: State | None = None) -> TokenEncoderOutput:
        """Encode b sentences, shape (b, t, inputs), in both directions, from an initial state (default: zeros).

        The mask, shape (b, t), is False at padding, which is on the right.
        """
        # pack_padded_sequence requires the lengths on the CPU and rejects a length of 0.
        lengths = mask.sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = self.lstm(packed, state)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=vectors.shape[1])
        return TokenEncoderOutput(padded, last)


class PositionWiseLayer(nn.Module):
    """Fully connected layer with ReLU for each token, which replaces a `BiLstm` of the same output size.

    Nie et al. 2019, section 3.2 and table 3: bag-of-words variants, "replacing their RNNs with fully-connected layers".
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, 2 * hidden)

    def forward(self, vectors: Tensor, mask: Tensor, state: State | None = None) -> TokenEncoderOutput:
        """Encode each token of b sentences independently. The returned state is None."""
        # The bias makes padding nonzero, so it is masked.
        return TokenEncoderOutput(self.linear(vectors).relu() * mask[..., None], None)


def build_token_encoder(input_size: int, hidden_size: int, *, bag_of_words: bool) -> nn.Module:
    """Build a `BiLstm`, or a `PositionWiseLayer` for a bag-of-words model."""
    return PositionWiseLayer(input_size, hidden_size) if bag_of_words else BiLstm(input_size, hidden_size)


def max_pool(vectors: Tensor, mask: Tensor) -> Tensor:
    """Compute the maximum over the tokens of each sentence, shape (b, d)."""
    # The smallest finite number instead of -inf, so that a sentence without tokens has no infinite features.
    return vectors.masked_fill(~mask[..., None], torch.finfo(vectors.dtype).min).amax(dim=1)


def mean_pool(vectors: Tensor, mask: Tensor) -> Tensor:
    """Compute the mean over the tokens of each sentence, shape (b, d). Sentences without tokens get zeros."""
    return sum_pool(vectors, mask) / mask.sum(dim=1, keepdim=True).clamp(min=1)


def sum_pool(vectors: Tensor, mask: Tensor) -> Tensor:
    """Compute the sum over the tokens of each sentence, shape (b, d)."""
    return (vectors * mask[..., None]).sum(dim=1)


def compute_attention(scores: Tensor, mask: Tensor) -> Tensor:
    """Compute attention weights, shape (b, m, n): the softmax over the last dimension.

    Positions where the mask, shape (b, n), is False get 0. Each row sums to 1.
    """
    # The smallest finite number instead of -inf, because the softmax of a row of -inf is NaN.
    return scores.masked_fill(~mask[:, None, :], torch.finfo(scores.dtype).min).softmax(dim=-1)


class SoftAlignment(NamedTuple):
    """Soft alignment of the tokens of two sentences."""

    premise: Tensor  # weights of the hypothesis tokens for each premise token, shape (b, m, n)
    hypothesis: Tensor  # weights of the premise tokens for each hypothesis token, shape (b, n, m)


def compute_soft_alignment(scores: Tensor, premise: Tensor, hypothesis: Tensor) -> SoftAlignment:
    """Compute the soft alignment of two sentences from attention scores, shape (b, m, n).

    Parikh et al. 2016, equation 2; Chen et al. 2017, equations 12 and 13. The masks are False at padding.
    """
    return SoftAlignment(compute_attention(scores, hypothesis), compute_attention(scores.transpose(1, 2), premise))


def build_comparison_features(tokens: Tensor, aligned_tokens: Tensor) -> Tensor:
    """Compute [a; ã; a − ã; a ⊙ ã] for each token a and its aligned token ã (Chen et al. 2017, equations 14 and 15)."""
    return torch.cat([tokens, aligned_tokens, tokens - aligned_tokens, tokens * aligned_tokens], dim=-1)


class Mlp(nn.Sequential):
    """Multilayer perceptron with dropout before each linear layer.

    `sizes` are the widths of input, hidden layers and output. With `activated`, the last layer also has an activation.
    """

    def __init__(
        self, sizes: Sequence[int], activation: type[nn.Module], dropout: float, *, activated: bool = False
    ) -> None:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Dropout(dropout), nn.Linear(inputs, outputs), activation()]
        super().__init__(*(layers if activated else layers[:-1]))
