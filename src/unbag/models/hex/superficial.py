"""Superficial branch of HEX: logits from the words of a pair, independent of word order (HEX paper, section 3).

The branch computes g(X; φ) = ReLU(W^φ · mean word embedding), and W_g g, its contribution to the widened last layer f.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, relu, rms_norm


class WordTable(NamedTuple):
    """Fixed word embeddings for the branch g, indexed by token id.

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
    """Feed-forward branch that maps the mean word embedding of a pair to logits W_g g.

    The embeddings are a fixed table, as in the paper and as its authors recommend. No gradient flows into the table,
    and it does not change while the network trains its own embeddings. A word with several tokens counts once per
    token. Special tokens, padding and tokens without an embedding are excluded from the mean. For a pair without words,
    g is 0.

    All computations are in float32, even under autocast.

    Attributes:
        table: Word embeddings. The table is neither a parameter nor a buffer. Because it never changes, it is not
            sharded, rounded, broadcast or saved in checkpoints.
        phi: W^φ, shape (width, dimensions), without bias as in the paper.
        decoder: W_g, shape (k, width): the columns that widen the last layer f.
        normalize: Whether g is scaled to a root mean square of 1 per example.
    """

    def __init__(self, table: WordTable, outputs: int, *, width: int, normalize: bool) -> None:
        super().__init__()
        self.table = table
        self.phi = _Linear(table.vectors.shape[1], width)
        self.decoder = _Linear(width, outputs)
        self.normalize = normalize

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor], table: WordTable, *, normalize: bool) -> "SuperficialBranch":
        """Create a branch with the weights from a `state_dict`."""
        outputs, width = weights["decoder.weight"].shape
        branch = cls(table, outputs, width=width, normalize=normalize)
        branch.load_state_dict(weights)
        return branch

    def forward(self, mean: Tensor) -> Tensor:
        """Compute the logits W_g g from the output of `compute_mean`, shape (b, k)."""
        with torch.autocast(mean.device.type, enabled=False):
            g = relu(self.phi(mean))
            if self.normalize:
                g = rms_norm(g, g.shape[-1:], eps=1e-12)
            logits: Tensor = self.decoder(g)
            return logits

    @torch.no_grad()
    def compute_mean(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Compute the mean word embedding of each pair, shape (b, dimensions).

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
    """Linear layer without bias that computes in float32, even if FSDP or DeepSpeed casts its weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return linear(values.float(), self.weight.float())
