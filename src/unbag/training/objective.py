"""Training objectives: one module with a classifier, a loss, and the additional weights of the objective.

FSDP and DeepSpeed leave each process a shard of the weights and gather those of a module during its forward pass only.
Therefore weights are read in the forward pass of their module, or from the argument of `Objective.save`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor, nn

from unbag.data.sources import Example

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]


class Loss(NamedTuple):
    """Loss of a batch.

    Attributes:
        loss: Mean over the examples of this process's batch, a scalar.
        logits: Logits of the examples in the network's output order, shape (b, k).
        parts: Terms of the loss and further quantities to log; detached scalars.
    """

    loss: Tensor
    logits: Tensor
    parts: Mapping[str, Tensor]


class Objective(nn.Module):
    """Classifier with a loss. The loop calls it as one module, so that DDP registers all parameters.

    Attributes:
        network: `PreTrainedModel` to publish, with an unchanged architecture.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        # accelerate reads this attribute of transformers' models: the layers that FSDP shards one by one, unless its
        # config names others.
        self._no_split_modules = getattr(network, "_no_split_modules", None)

    def tie_weights(self) -> None:
        """Tie the weights that modules share. accelerate calls this method after replacing weights."""
        self.network.tie_weights()

    def extra_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Build unlabelled pairs that are encoded after the examples of a batch; none by default.

        Args:
            examples: Examples of the batch, b in number.
            epoch: Number of the pass over the data, from 0. Random numbers depend on it and on the example's id.
        """
        return []

    def forward(self, labels: Tensor | None, **inputs: Tensor) -> Any:
        """Compute the loss of a batch (`loss`), or, without labels, the logits (`predict`)."""
        return self.predict(**inputs) if labels is None else self.loss(labels, **inputs)

    def loss(self, labels: Tensor, **inputs: Tensor) -> Loss:
        """Compute the loss of a batch.

        Args:
            labels: Output of the network that is the gold label of each example, shape (b,).
            inputs: Tokenizer outputs for the b examples and, after them, the extra pairs: `input_ids`,
                `attention_mask`, … of shape (b + extra, length). Recipes with pair features (`bias.PairFeatures`) add
                them, in the order of the network's outputs.
        """
        raise NotImplementedError

    def predict(self, **encoded: Tensor) -> Tensor:
        """Compute the logits of the published network, shape (b, k). Called in evaluation mode."""
        logits: Tensor = self.network(**encoded).logits
        return logits

    def provenance(self) -> dict[str, Any]:
        """Build the record of all other factors that determine the weights; empty by default."""
        return {}

    def begin(self, step: int, steps: int) -> None:
        """Prepare to start after `step` of `steps` steps; does nothing by default."""

    def finish(self, module: nn.Module, batches: Iterable[dict[str, Tensor]], accelerator: "Accelerator") -> None:
        """Fit components that depend on the final weights; does nothing by default. All processes call this together.

        Args:
            module: Objective as accelerate wrapped it, to be called in its place.
            batches: This process's part of the training data, once, as inputs of `predict`; equally many per process.
            accelerator: Accelerator, for sums over the processes.
        """

    def save(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write the learned components besides the network; does nothing by default. The first process calls this.

        Args:
            folder: Output folder.
            weights: Complete `state_dict` of the objective, gathered from all shards.
        """
