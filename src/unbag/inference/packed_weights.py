"""Weights of linear layers in the layout that the processor multiplies fastest, made once and not at each call.

By oneDNN, through the operators that torch's own compiler uses. On a processor with AVX-512 a MiniLM answers 1.16 times
as many pairs in float32 and 1.07 times as many in bfloat16. The same sums are formed in another order, so logits differ
by rounding.
"""

from typing import Final

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from unbag.inference.agreement import agree, logits_of

_PACKABLE: Final = (torch.float32, torch.bfloat16)


class PackedLinear(nn.Linear):
    """A linear layer whose weights only its own product reads; made of another, which stays as it is.

    Args:
        layer: on the CPU.
        rows: vectors a call, for which the layout is chosen; any number can be multiplied.
    """

    def __init__(self, layer: nn.Linear, rows: int) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features, self.bias = layer.in_features, layer.out_features, layer.bias
        self.weight = nn.Parameter(_packed(layer.weight.detach(), rows), requires_grad=False)

    def forward(self, input: Tensor) -> Tensor:
        """Map (…, in_features) to (…, out_features)."""
        return _product(input, self.weight, self.bias)


def _packed(weight: Tensor, rows: int) -> Tensor:
    """Return a weight in oneDNN's layout; a processor without instructions for its dtype raises RuntimeError."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
    return packed


def _product(input: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(input, packed, bias, "none", [], "")
    return product


def use_packed_weights(model: PreTrainedModel, inputs: dict[str, Tensor], rows: int) -> bool:
    """Pack the weights of a model's linear layers in place, if its logits stay what they were.

    Args:
        model: a sequence classifier in evaluation mode.
        inputs: a batch to compare on.
        rows: vectors a call, as `PackedLinear` takes it.

    Returns:
        Whether they are packed now; if not, the model is as it was.
    """
    if model.device.type != "cpu" or model.dtype not in _PACKABLE:
        return False
    expected = logits_of(model, inputs)
    replaced: list[tuple[nn.Module, str, nn.Linear]] = []
    try:
        for module in list(model.modules()):
            for name, layer in list(module.named_children()):
                if type(layer) is nn.Linear:
                    setattr(module, name, PackedLinear(layer, rows))
                    replaced.append((module, name, layer))
        if agree(logits_of(model, inputs), expected, model.dtype):
            return bool(replaced)
    except (AttributeError, RuntimeError, TypeError):  # no such operators here, or others read the weights too
        pass
    for module, name, layer in replaced:
        setattr(module, name, layer)
    return False
