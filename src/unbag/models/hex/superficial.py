"""Superficial branch of HEX: logits from the words of a pair regardless of their order (HEX paper, section 3).

g(X; φ) = ReLU(W^φ · mean of the words' embeddings), and W_g g, its contribution to the widened last layer f.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, relu, rms_norm


class WordTable(NamedTuple):
    """Fixed pre-trained embeddings that g reads, indexed by the token ids of a network's tokenizer.

    Attributes:
        vectors: Embeddings, shape (vocabulary, dimensions), float32.
        is_word: Whether each token has an embedding and counts as a word, shape (vocabulary,).
    """

    vectors: Tensor
    is_word: Tensor

    def to(self, device: torch.device) -> "WordTable":
        """Move the table to a device."""
        return WordTable(self.vectors.to(device), self.is_word.to(device))


class SuperficialBranch(nn.Module):
    """g and its contribution to f: from the mean of the words' embeddings to W_g g, shape (b, k).

    The embeddings are a fixed table, as in the paper and as its authors advise. No gradient flows into the table, and
    it does not change while the network trains its own embeddings. A word of several tokens counts once per token.
    Special tokens, padding and tokens without an embedding are excluded from the mean. A pair without words has g = 0.

    All computations are in float32, also under autocast.

    Attributes:
        table: Embeddings. Neither a parameter nor a buffer: because it never changes, it is not sharded, rounded,
            broadcast or saved in checkpoints.
        phi: W^φ, shape (width, dimensions), without bias as in the paper.
        decoder: W_g, shape (k, width): the columns by which the decoder f is widened.
        normalise: Whether g is scaled to a root mean square of 1 for each example.
    """

    def __init__(self, table: WordTable, outputs: int, *, width: int, normalise: bool) -> None:
        super().__init__()
        self.table = table
        self.phi = _Linear(table.vectors.shape[1], width)
        self.decoder = _Linear(width, outputs)
        self.normalise = normalise

    @classmethod
    def of(cls, weights: Mapping[str, Tensor], table: WordTable, *, normalise: bool) -> "SuperficialBranch":
        """Build a branch with the weights of a `state_dict`."""
        outputs, width = weights["decoder.weight"].shape
        branch = cls(table, outputs, width=width, normalise=normalise)
        branch.load_state_dict(weights)
        return branch

    def forward(self, mean: Tensor) -> Tensor:
        """Compute W_g g of pairs from the output of `mean`, shape (b, k)."""
        with torch.autocast(mean.device.type, enabled=False):
            g = relu(self.phi(mean))
            if self.normalise:
                g = rms_norm(g, g.shape[-1:], eps=1e-12)
            logits: Tensor = self.decoder(g)
            return logits

    @torch.no_grad()
    def mean(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute the mean embedding of each pair's words, shape (b, dimensions).

        Args:
            input_ids: Token ids, shape (b, t).
            attention_mask: 0 at padding, shape (b, t); None means no padding.
        """
        # The table is not a buffer, so `Module.to` does not move it.
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
    """A linear layer without bias that computes in float32, whatever dtype FSDP or DeepSpeed gives its weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return linear(values.float(), self.weight.float())
