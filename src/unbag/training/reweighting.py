"""Weights by the bias: a pair counts the less, the surer a biased model is of its gold label.

    l_i = ((1 − b_i[y_i]) / (1 − 1/k))^(γ s) · −log p_i[y_i]

b_i[y_i] is the biased model's probability of the gold label, s the strength. γ = 1 is the reweighting baseline of
Clark et al. 2019 (https://aclanthology.org/D19-1418), who weigh by 1 − b_i[y_i]. With another γ it is the debiased
focal loss of Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), −(1 − b_i[y_i])^γ log p_i[y_i], γ = 2
in their code, after Lin et al. 2017's focal loss, whose weight is the network's own. Utama et al. 2020b
(https://aclanthology.org/2020.emnlp-main.613) anneal the exponent.

The constant 1 − 1/k, which the papers do not have, makes a uniform bias plain cross-entropy, and so does s = 0. Their
code divides by the sum of a batch's weights instead; then what a pair weighs would depend on its neighbours, and a
batch cut in two would not be the batch. Where the bias is certain and right, loss and gradient are zero.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.training.debias_options import ReweightingConfig
from unbag.training.debiased import Debiased
from unbag.training.known import BIAS


class Reweighted(Debiased):
    """Cross-entropy, weighted by how little the biased model knows of the gold label."""

    def __init__(self, network: Any, options: ReweightingConfig, *, gamma: float = 1.0, language: str = "en") -> None:
        """Set out to train `network`; see `Debiased`.

        Args:
            network: a `PreTrainedModel` for sequence classification.
            options: of the recipe.
            gamma: γ, the exponent.
            language: of the sentences.
        """
        super().__init__(network, options, language=language)
        self._gamma = gamma

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return the weighted cross-entropy of each example."""
        k = logits.shape[1]
        of_gold = known[BIAS].gather(1, labels[:, None]).squeeze(1)
        doubt = -torch.expm1(of_gold).clamp(max=0) * k / (k - 1)
        weights = doubt ** (self._gamma * self.strength)
        return weights * cross_entropy(logits, labels, reduction="none")
