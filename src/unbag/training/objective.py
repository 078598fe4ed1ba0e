"""What a trainer minimises, as one module: the classifier, and whatever an objective adds to it.

FSDP and DeepSpeed leave each process a shard of the weights, and gather those of a module for its forward pass alone.
So weights are read in the forward pass of the module that holds them, or as `Objective.save` is given them.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor, nn

from unbag.data.sources import Example

if TYPE_CHECKING:
    from accelerate import Accelerator  # type: ignore[import-untyped, unused-ignore]


class Loss(NamedTuple):
    """What a step minimises.

    Attributes:
        loss: a scalar: the mean over the examples of this process's batch.
        logits: the examples' logits in the network's output order, shape (b, k).
        parts: what the loss is the sum of, or is worth watching; scalars, detached.
    """

    loss: Tensor
    logits: Tensor
    parts: Mapping[str, Tensor]


class Objective(nn.Module):
    """A classifier with a loss. The loop calls it as a module, so that all its parameters are one model's to DDP.

    Attributes:
        network: the `PreTrainedModel` that is published in the end: an unchanged architecture.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        # What accelerate looks for in a model of transformers: the layers that FSDP shards one by one, unless its
        # config names others.
        self._no_split_modules = getattr(network, "_no_split_modules", None)

    def tie_weights(self) -> None:
        """Tie what the network shares between its modules: accelerate asks for it where it puts other weights there."""
        self.network.tie_weights()

    def extra_pairs(self, examples: Sequence[Example], epoch: int) -> list[tuple[str, str]]:
        """Return pairs without label that are encoded beneath the examples of a batch; by default none.

        Args:
            examples: the batch, b examples.
            epoch: which pass over the data this is, from 0: with the example's id it decides what is drawn anew.
        """
        return []

    def forward(self, labels: Tensor | None, **inputs: Tensor) -> Any:
        """Return the loss of a batch, as `loss` does, or without labels what is predicted, as `predict` does."""
        return self.predict(**inputs) if labels is None else self.loss(labels, **inputs)

    def loss(self, labels: Tensor, **inputs: Tensor) -> Loss:
        """Return the loss of a batch.

        Args:
            labels: the examples' outputs of the network, shape (b,).
            inputs: what the tokenizer made of the b examples and, after them, of the further pairs: `input_ids`,
                `attention_mask`, … of shape (b + further, length); and where the recipe asks for it what is known of
                the examples beside their labels (`bias.PairFeatures`), in the order of the network's outputs.
        """
        raise NotImplementedError

    def predict(self, **encoded: Tensor) -> Tensor:
        """Return the network's logits, shape (b, k), which are what is published; called in evaluation mode."""
        logits: Tensor = self.network(**encoded).logits
        return logits

    def provenance(self) -> dict[str, Any]:
        """Return what else decides the weights, exactly, for the record and the checkpoints; by default nothing."""
        return {}

    def begin(self, step: int, steps: int) -> None:
        """Prepare, before the first step, to go on after so many steps of so many; by default nothing."""

    def finish(self, module: nn.Module, batches: Iterable[dict[str, Tensor]], accelerator: "Accelerator") -> None:
        """Do what is left once the weights stand, in every process; by default nothing.

        Args:
            module: the objective as accelerate wrapped it, to be called in its stead.
            batches: this process's share of the training data, once, as `predict` takes them; as many in each process.
            accelerator: for sums over the processes.
        """

    def save(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write, in the first process, what the objective learnt beside the network; by default nothing.

        Args:
            folder: where.
            weights: the objective's whole `state_dict`, gathered from all shards.
        """
