"""Cross-entropy with the gold labels: plain fine-tuning."""

from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.training.objective import BatchLoss, Objective


class CrossEntropyObjective(Objective):
    """Objective of plain fine-tuning: the mean cross-entropy of a batch."""

    def compute_loss(self, labels: Tensor, **encoded: Tensor) -> BatchLoss:
        """Compute the mean cross-entropy of a batch."""
        logits = self.network(**encoded).logits.float()  # half precision loses digits in the sum of exponentials
        return BatchLoss(cross_entropy(logits, labels), logits, {})
