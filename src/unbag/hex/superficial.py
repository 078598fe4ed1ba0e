"""The superficial branch of HEX: what the words of a pair say, whatever their order (HEX paper, section 3).

g(X; φ) = ReLU(W^φ · mean of the words' embeddings), and W_g g, its part in the widened last layer f.
"""

from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, relu, rms_norm


class SuperficialBranch(nn.Module):
    """g and its part of f: from the mean of the words' embeddings to W_g g, shape (b, k).

    The embeddings are the network's own input embeddings, without positions and before any normalisation of its own.
    The authors freeze them: so here no gradient goes back into them, though they move as the network trains them (a
    copy as they were would be as large as the table, for good). A word in several pieces is as many. Special tokens
    and padding are no words: they are left out of the mean, as is what the tokenizer has no word for. A pair without a
    single word has g = 0.

    Computed in float32, also under autocast.

    Attributes:
        phi: W^φ, shape (width, dimensions); without bias, as in the paper.
        decoder: W_g, shape (k, width): the columns by which f, the decoder, is widened.
        special: the ids left out, shape (s,).
        normalise: whether g is scaled to a root mean square of 1 for each example.
    """

    special: Tensor

    def __init__(self, dimensions: int, outputs: int, special: Collection[int], *, width: int, normalise: bool) -> None:
        super().__init__()
        self.phi = _Linear(dimensions, width)
        self.decoder = _Linear(width, outputs)
        self.normalise = normalise
        self.register_buffer("special", torch.tensor(sorted(special), dtype=torch.long), persistent=False)

    @classmethod
    def of(cls, weights: Mapping[str, Tensor], special: Collection[int], *, normalise: bool) -> "SuperficialBranch":
        """Return the branch with the weights of a `state_dict`."""
        (width, dimensions), (outputs, _) = weights["phi.weight"].shape, weights["decoder.weight"].shape
        branch = cls(dimensions, outputs, special, width=width, normalise=normalise)
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
    def mean(self, table: Tensor, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return the mean embedding of each pair's words, shape (b, dimensions).

        Args:
            table: the embeddings, shape (vocabulary, dimensions).
            input_ids: shape (b, t).
            attention_mask: 0 at padding, shape (b, t); without it nothing is padding.
        """
        with torch.autocast(input_ids.device.type, enabled=False):
            words = ~torch.isin(input_ids, self.special)
            if attention_mask is not None:
                words &= attention_mask.bool()
            share = words / words.sum(dim=1, keepdim=True).clamp(min=1)  # (b, t): 1 / words at words, else 0
            return torch.bmm(share[:, None], embedding(input_ids, table).float()).squeeze(1)


class _Linear(nn.Linear):
    """A linear layer without bias that computes in float32, whatever FSDP or DeepSpeed made of its weights."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        return linear(values.float(), self.weight.float())
