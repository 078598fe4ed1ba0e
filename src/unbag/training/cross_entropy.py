"""Cross-entropy of the gold labels: ordinary fine-tuning."""

from torch import Tensor
from torch.nn.functional import cross_entropy

from unbag.training.objective import Loss, Objective


class CrossEntropy(Objective):
    """−log p(gold), the mean over the examples."""

    def loss(self, labels: Tensor, **encoded: Tensor) -> Loss:
        """Return the loss of a batch; there are no further pairs."""
        logits = self.network(**encoded).logits.float()  # the sum of exponentials wants more than half precision
        return Loss(cross_entropy(logits, labels), logits, {})
