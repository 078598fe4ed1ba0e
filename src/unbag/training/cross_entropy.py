"""Cross-entropy with the gold labels: plain fine-tuning."""

from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.training.objective import Loss, Objective


class CrossEntropy(Objective):
    """Mean of −log p(gold) over the examples of a batch."""

    def loss(self, labels: Tensor, **encoded: Tensor) -> Loss:
        """Compute the loss of a batch, without extra pairs."""
        logits = self.network(**encoded).logits.float()  # half precision loses digits in the sum of exponentials
        return Loss(cross_entropy(logits, labels), logits, {})
