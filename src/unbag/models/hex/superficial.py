"""The superficial branch of HEX: what the words of a pair say, whatever their order (HEX paper, section 3).

g(X; φ) = ReLU(W^φ · mean of the words' embeddings), and W_g g, its part in the widened last layer f.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, relu, rms_norm


class WordTable(NamedTuple):
    """The embeddings that g is made of, by the token ids of a network's tokenizer: pre-trained, and fixed.

    Attributes:
        vectors: shape (vocabulary, dimensions), float32.
        is_word: which tokens have one and count as words, shape (vocabulary,).
    """

    vectors: Tensor
    is_word: Tensor

    def to(self, device: torch.device) -> "WordTable":
        """Return the table on a device."""
        return WordTable(self.vectors.to(device), self.is_word.to(device))


class SuperficialBranch(nn.Module):
    """g and its part of f: from the mean of the words' embeddings to W_g g, shape (b, k).

    The embeddings are a fixed table, as in the paper and as its authors advise: no gradient goes into it, and it stays
    as it is while the network trains its own. A word in several tokens is as many. Special tokens and padding are no
    words: they are left out of the mean, as is what has no embedding. A pair without a single word has g = 0.

    Computed in float32, also under autocast.

    Attributes:
        table: the embeddings. No parameter and no buffer: it is not shared out, rounded, broadcast or kept in
            checkpoints, for it never changes.
        phi: W^φ, shape (width, dimensions); without bias, as in the paper.
        decoder: W_g, shape (k, width): the columns by which f, the decoder, is widened.
        normalise: whether g is scaled to a root mean square of 1 for each example.
    """

    def __init__(self, table: WordTable, outputs: int, *, width: int, normalise: bool) -> None:
        super().__init__()
        self.table = table
        self.phi = _Linear(table.vectors.shape[1], width)
        self.decoder = _Linear(width, outputs)
        self.normalise = normalise

    @classmethod
    def of(cls, weights: Mapping[str, Tensor], table: WordTable, *, normalise: bool) -> "SuperficialBranch":
        """Return the branch with the weights of a `state_dict`."""
        outputs, width = weights["decoder.weight"].shape
        branch = cls(table, outputs, width=width, normalise=normalise)
        branch.load_state_dict(weights)
        return branch

    def forward(self, mean: Tensor) -> Tensor:
        """Return W_g g of pairs, from what `mean` returns."""
        with torch.autocast(mean.device.type, enabled=False):
            g = relu(self.phi(mean))
            if self.normalise:
                g = rms_norm(g, g.shape[-1:], eps=1e-12)
            logits: Tensor = self.decoder(g)
            return logits

    @torch.no_grad()
    def mean(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return the mean embedding of each pair's words, shape (b, dimensions).

        Args:
            input_ids: shape (b, t).
            attention_mask: 0 at padding, shape (b, t); without it nothing is padding.
        """
        if self.table.vectors.device != input_ids.device:
            self.table = self.table.to(input_ids.device)
        vectors, is_word = self.table
        with torch.autocast(input_ids.device.type, enabled=False):
            words = is_word[input_ids]
            if attention_mask is not None:
                words &= attention_mask.bool()
            share = words / words.sum(dim=1, keepdim=True).clamp(min=1)  # (b, t): 1 / words at words, else 0
            return torch.bmm(share[:, None], embedding(input_ids, vectors)).squeeze(1)


class _Linear(nn.Linear):
    """A linear layer without bias that computes in float32, whatever FSDP or DeepSpeed made of its weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return linear(values.float(), self.weight.float())
