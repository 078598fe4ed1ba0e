"""Training objectives, which combine a classifier and a loss in one module: the base class, and cross-entropy.

FSDP and DeepSpeed leave each process a shard of the weights and gather those of a module during its forward pass only.
Therefore weights are read in the forward pass of their module, or from the argument of `Objective.save`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]

    from unbag.training.data import ExtraPairBuilder


class BatchLoss(NamedTuple):
    """Loss of a batch, with the logits and quantities to log.

    Attributes:
        loss: Mean over the examples of this process's batch, a scalar.
        logits: Logits of the examples in the network's output order, shape (b, k).
        parts: Terms of the loss and further quantities to log; detached scalars.
    """

    loss: Tensor
    logits: Tensor
    parts: Mapping[str, Tensor]


class Objective(nn.Module):
    """Base class of training objectives: a module that contains the network and computes the loss.

    The training loop calls it as one module, so that DDP synchronizes all parameters.

    Attributes:
        network: `PreTrainedModel` to publish, with an unchanged architecture.
        build_extra_pairs: Function that builds the unlabelled pairs that the collator appends to the examples of a
            batch; None for no such pairs. It holds no weights, since data loading processes get a copy.
    """

    build_extra_pairs: "ExtraPairBuilder | None" = None

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        # accelerate reads this attribute of transformers' models: the layers that FSDP shards one by one, unless its
        # config names others.
        self._no_split_modules = getattr(network, "_no_split_modules", None)

    def tie_weights(self) -> None:
        """Tie the shared weights of the network. accelerate calls this method after replacing weights."""
        self.network.tie_weights()

    def forward(self, labels: Tensor | None, **inputs: Tensor) -> Any:
        """Compute the loss of a batch, or the logits if `labels` is None."""
        return self.predict(**inputs) if labels is None else self.compute_loss(labels, **inputs)

    def compute_loss(self, labels: Tensor, **inputs: Tensor) -> BatchLoss:
        """Compute the loss of a batch.

        Args:
            labels: Output of the network that is the gold label of each example, shape (b,).
            inputs: Tokenizer outputs for the b examples and, after them, the extra pairs: `input_ids`,
                `attention_mask`, … of shape (b + extra, length). Recipes with pair features (`bias.PairFeatures`) add
                them, in the order of the network's outputs.
        """
        raise NotImplementedError

    def predict(self, **encoded: Tensor) -> Tensor:
        """Compute the logits of the network that is saved after training, shape (b, k).

        The module must be in evaluation mode.
        """
        logits: Tensor = self.network(**encoded).logits
        return logits

    def build_provenance(self) -> dict[str, Any]:
        """Build a JSON record of additional inputs that determine the weights. By default, the record is empty."""
        return {}

    def begin(self, step: int, steps: int) -> None:
        """Prepare the objective for training from a given step. Does nothing by default."""

    def finish(self, module: nn.Module, batches: Iterable[dict[str, Tensor]], accelerator: "Accelerator") -> None:
        """Fit quantities that depend on the final weights. Does nothing by default.

        All processes must call this method together.

        Args:
            module: Objective as accelerate wrapped it, to be called in its place.
            batches: This process's part of the training data, once, as inputs of `predict`; equally many per process.
            accelerator: Accelerator, for sums over the processes.
        """

    def save(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write additional learned parameters to the output folder. Does nothing by default.

        Only the first process calls this method.

        Args:
            folder: Output folder.
            weights: Complete `state_dict` of the objective, gathered from all shards.
        """


class CrossEntropyObjective(Objective):
    """Objective of plain fine-tuning: the mean cross-entropy of a batch."""

    def compute_loss(self, labels: Tensor, **encoded: Tensor) -> BatchLoss:
        """Compute the mean cross-entropy of a batch."""
        logits = self.network(**encoded).logits.float()  # half precision loses digits in the sum of exponentials
        return BatchLoss(cross_entropy(logits, labels), logits, {})
