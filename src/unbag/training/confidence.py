"""Confidence regularisation: learn from a teacher, who is made the less sure of a pair, the surer a biased model is.

    target_i[j] ∝ t_i[j]^(1 − β_i)        β_i = softmax(s · log b_i)[y_i]
    l_i = −Σ_j target_i[j] log p_i[j]

t_i is the distribution of a plainly fine-tuned teacher, the same network as the student, β_i the biased model's
probability of the gold label. Utama et al. 2020a, "Mind the Trade-off: Debiasing NLU Models without Degrading the
In-distribution Performance" (https://aclanthology.org/2020.acl-main.770); `SmoothedDistillLoss` in their code, and with
the strength s annealed `SmoothedDistillLossAnnealed` of Utama et al. 2020b.

No pair is left out: where the bias is certain and right the target is uniform, so the network learns to be undecided
there, not to be right. With a teacher who is certain of every gold label, all this is cross-entropy unless β_i = 1.
Without strength (s = 0) β_i is 1/k for every pair: self-distillation, a little flattened, in which words play no part.
"""

from torch import Tensor
from torch.nn.functional import log_softmax

from unbag.training.debiased import Debiased
from unbag.training.known import BIAS, TEACHER


class ConfidenceRegularised(Debiased):
    """Cross-entropy of a teacher's answers, flattened as far as the biased model knows the gold label."""

    def losses(self, logits: Tensor, labels: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Return −Σ target log p of each example."""
        beta = (self.strength * known[BIAS]).softmax(dim=1).gather(1, labels[:, None])
        target = ((1 - beta) * known[TEACHER]).softmax(dim=1)
        return -(target * log_softmax(logits, dim=1)).sum(dim=1)
