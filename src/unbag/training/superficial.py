"""The superficial branch of HEX: what the words of a pair say, whatever their order (HEX paper, section 3).

g(X; φ) = ReLU(W^φ · mean of the words' embeddings), and W_g g, its part in the widened last layer f.
"""

from collections.abc import Collection

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, relu, rms_norm


class SuperficialBranch(nn.Module):
    """g and its part of f: from token ids to W_g g, shape (b, k).

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
        self.phi = nn.Linear(dimensions, width, bias=False)
        self.decoder = nn.Linear(width, outputs, bias=False)
        self.normalise = normalise
        self.register_buffer("special", torch.tensor(sorted(special), dtype=torch.long), persistent=False)

    def forward(self, table: Tensor, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Return W_g g.

        Args:
            table: the embeddings, shape (vocabulary, dimensions).
            input_ids: shape (b, t).
            attention_mask: 0 at padding, shape (b, t); without it nothing is padding.
        """
        with torch.autocast(input_ids.device.type, enabled=False):
            g = relu(linear(self._mean(table, input_ids, attention_mask), self.phi.weight.float()))
            if self.normalise:
                g = rms_norm(g, g.shape[-1:], eps=1e-12)
            return linear(g, self.decoder.weight.float())

    @torch.no_grad()
    def _mean(self, table: Tensor, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        words = ~torch.isin(input_ids, self.special)
        if attention_mask is not None:
            words &= attention_mask.bool()
        share = words / words.sum(dim=1, keepdim=True).clamp(min=1)  # (b, t): 1 / words at words, else 0
        return torch.bmm(share[:, None], embedding(input_ids, table).float()).squeeze(1)
