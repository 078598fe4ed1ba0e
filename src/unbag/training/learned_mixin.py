"""Learned mixin: a product of experts in which the network learns, pair by pair, how far to trust the biased model.

    l_i = −log softmax(log p_i + g_i · s · log b_i)[y_i] + w · H(softmax(g_i · s · log b_i))
    g_i = softplus(v · h_i + c)

h_i is the network's hidden state of pair i, the input of its last linear layer; v and c are learnt along and thrown
away. Clark et al. 2019, "Don't Take the Easy Way Out" (https://aclanthology.org/D19-1418): the learned-mixin, and with
the entropy penalty, which keeps g from becoming 0 so that the bias would be learnt after all, learned-mixin +H. Their
code adds the penalty as it is written here, w · H with H in nats.

With a uniform bias, or s = 0, the entropy is ln k whatever g is, and the rest is cross-entropy.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softplus

from unbag.training.debias_options import LearnedMixinConfig
from unbag.training.debiased import Debiased
from unbag.training.known import BIAS
from unbag.training.last_linear import last_linear
from unbag.training.max_entropy import entropies

_PROBE: Final = "Two dogs run.", "Animals are moving."


class LearnedMixin(Debiased):
    """Cross-entropy of the product of the network and the biased model to a learnt power.

    Attributes:
        gate: v and c.
    """

    def __init__(self, network: Any, tokenizer: Any, options: LearnedMixinConfig, *, language: str = "en") -> None:
        """Set out to train `network`; see `Debiased`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            tokenizer: its tokenizer, to find the last layer with.
            options: of the recipe.
            language: of the sentences.

        Raises:
            ValueError: if the network's logits are not the outputs of a linear layer.
        """
        super().__init__(network, options, language=language)
        self._entropy_penalty = options.entropy_penalty
        encoded = tokenizer(*_PROBE, return_tensors="pt")
        inputs = {name: encoded[name].to(network.device) for name in ("input_ids", "attention_mask")}
        layer = network.get_submodule(last_linear(network, inputs))
        self.gate = nn.Linear(layer.in_features, 1, device=network.device)
        self._seen: tuple[Tensor, Tensor] | None = None
        layer.register_forward_hook(self._see)

    def _see(self, _module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        self._seen = inputs[0], output

    def _forward(self, labels: Tensor, known: dict[str, Tensor], encoded: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        logits = self.network(**encoded).logits.float()
        assert self._seen is not None, "the last layer ran"
        hidden, b = _of_logits(*self._seen, logits)[: len(labels)].float(), len(labels)
        self._seen = None  # or it would hold the graph
        with torch.autocast(logits.device.type, enabled=False):
            bias = softplus(self.gate(hidden)) * self.strength * known[BIAS]
            losses = cross_entropy(logits[:b] + bias, labels, reduction="none")
            return logits, losses + self._entropy_penalty * entropies(bias)


def _of_logits(hidden: Tensor, output: Tensor, logits: Tensor) -> Tensor:
    """Return the hidden states that became the logits, shape (b, d): a decoder's layer runs at every position."""
    if hidden.ndim == 2:
        return hidden
    with torch.no_grad():
        position = (output.float() - logits[:, None]).abs().amax(dim=2).argmin(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), position]
