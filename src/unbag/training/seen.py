"""What HEX reads of a network's own weights, read while they are whole.

FSDP and DeepSpeed's ZeRO-3 gather the weights of a module for its forward pass and drop them after it. So the last
layer's bias is read by a hook, in the midst of the network's pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass
class Seen:
    """What was seen in one pass.

    Attributes:
        bias: a copy of the last layer's, if it has one; its gradient is the layer's.
    """

    bias: Tensor | None = None


class Watch:
    """Looks at a network's last linear layer while it runs."""

    def __init__(self, network: Any, layer: str) -> None:
        """Put a hook into a network before it is wrapped, so that it runs before the wrapper's.

        Args:
            network: a `PreTrainedModel`.
            layer: the name of the linear layer.
        """
        self._seen: Seen | None = None
        network.get_submodule(layer).register_forward_hook(self._see_bias)

    @contextmanager
    def during(self) -> Iterator[Seen]:
        """Look on while the network runs in this context."""
        self._seen = Seen()
        try:
            yield self._seen
        finally:
            self._seen = None

    def _see_bias(self, module: Any, _inputs: Any, _output: Any) -> None:
        if self._seen is not None and module.bias is not None:
            self._seen.bias = module.bias.clone()  # the layer's own may be gone when it is needed
