"""Product of experts: learn what is left to say once a biased model has spoken.

    l_i = −log softmax(log p_i + s · log b_i)[y_i]

p_i is the network's distribution of pair i, b_i the biased model's, s the strength; b_i is fixed, and only the network
learns. Products of experts are Hinton 2002's ("Training Products of Experts by Minimizing Contrastive Divergence",
Neural Computation 14); this loss is the bias product of Clark et al. 2019 ("Don't Take the Easy Way Out",
https://aclanthology.org/D19-1418), DRiFt of He et al. 2019 (https://aclanthology.org/D19-6115) and the product of
Mahabadi et al. 2020 (https://aclanthology.org/2020.acl-main.769), whose code has s too, as `poe_alpha`. With b_i to the
power s, Utama et al. 2020b (https://aclanthology.org/2020.emnlp-main.613) anneal it; here its normalisation falls out,
since a constant beside the logits changes nothing.

Where b_i is certain and right, the loss and its gradient are zero: nothing is learnt of that pair. Where b_i is
uniform, or s = 0, it is cross-entropy. The gradient is softmax(log p + s log b) − one-hot(y) at the logits.
"""

from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.training.debiased import Debiased
from unbag.training.known import BIAS


class ProductOfExperts(Debiased):
    """Cross-entropy of the product of the network and the biased model; what is published is the network alone."""

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return −log softmax(logits + s · log b)[gold] of each example."""
        return cross_entropy(logits + self.strength * known[BIAS], labels, reduction="none")
