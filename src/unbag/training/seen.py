"""What HEX reads of a network's own weights, read while they are whole.

FSDP and DeepSpeed's ZeRO-3 gather the weights of a module for its forward pass and drop them after it. So the
embeddings and the last layer's bias are read by hooks, in the midst of the network's pass.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass
class Seen:
    """What was seen in one pass.

    Attributes:
        of_table: what was made of the input embeddings.
        bias: a copy of the last layer's, if it has one; its gradient is the layer's.
    """

    of_table: Tensor | None = None
    bias: Tensor | None = None


class Watch:
    """Looks at a network's input embeddings and its last linear layer while they run."""

    def __init__(self, network: Any, layer: str) -> None:
        """Put hooks into a network before it is wrapped, so that they run before the wrapper's.

        Args:
            network: a `PreTrainedModel`.
            layer: the name of the linear layer.
        """
        self._make: Callable[[Tensor], Tensor] | None = None
        self._seen = Seen()
        table = network.get_input_embeddings().weight
        for module in network.modules():
            if getattr(module, "weight", None) is table:  # BART has three such modules, of which two run
                module.register_forward_hook(self._see_table)
        network.get_submodule(layer).register_forward_hook(self._see_bias)

    @contextmanager
    def during(self, make: Callable[[Tensor], Tensor]) -> Iterator[Seen]:
        """Look on while the network runs in this context.

        Args:
            make: makes of the embeddings, shape (vocabulary, dimensions), what is wanted of them.
        """
        self._make, self._seen = make, Seen()
        try:
            yield self._seen
        finally:
            self._make, self._seen = None, Seen()

    def _see_table(self, module: Any, _inputs: Any, _output: Any) -> None:
        if self._make is not None and self._seen.of_table is None:
            self._seen.of_table = self._make(module.weight)

    def _see_bias(self, module: Any, _inputs: Any, _output: Any) -> None:
        if self._make is not None and module.bias is not None:
            self._seen.bias = module.bias.clone()  # the layer's own may be gone when it is needed
