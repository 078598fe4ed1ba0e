"""The last linear layer of a sequence classifier: the decoder f of the HEX paper, section 3."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

_TOLERANCE: Final = 1e-5  # the same numbers, at most copied to another place; half precision rounds them alike


def last_linear(network: Any, inputs: Mapping[str, Tensor]) -> str:
    """Return the name of the linear layer whose outputs are the logits.

    Found by looking, not by name (`classifier`, `classifier.out_proj`, `classification_head.out_proj`, `score`, …): of
    all linear layers with one output a label, the last one run whose output for each example is that example's logits.
    A decoder runs its layer at every position and returns one of them, so any position may be the one.

    Args:
        network: a `PreTrainedModel` for sequence classification.
        inputs: a batch to run, of pairs of different lengths, hence with padding.

    Raises:
        ValueError: if there is no such layer: the logits are not linear in anything, or are changed after the layer.
    """
    k = network.config.num_labels
    seen: list[tuple[str, Tensor]] = []

    def watch(name: str) -> Any:
        return lambda _module, _arguments, output: seen.append((name, output))

    linear = {name: layer for name, layer in network.named_modules() if isinstance(layer, nn.Linear)}
    handles = [layer.register_forward_hook(watch(name)) for name, layer in linear.items() if layer.out_features == k]
    training = network.training
    network.eval()  # dropout would not change the layer, but this draws no random number
    try:
        with torch.no_grad():
            logits: Tensor = network(**inputs).logits
    finally:
        network.train(training)
        for handle in handles:
            handle.remove()
    for name, output in reversed(seen):
        if _holds(output, logits):
            return name
    last_layers = ", ".join(f"{name} ({layer.out_features} outputs)" for name, layer in list(linear.items())[-3:])
    raise ValueError(
        f"expected a classifier whose logits are the outputs of its last linear layer, found none in "
        f"{type(network).__name__} with {k} labels (its last ones: {last_layers or 'none'}); this recipe needs one"
    )


def _holds(output: Any, logits: Tensor) -> bool:
    """Tell whether a layer's output holds each example's logits, at some position of that example."""
    if not isinstance(output, Tensor) or output.shape[:1] != logits.shape[:1] or output.shape[-1:] != logits.shape[-1:]:
        return False
    positions = output.reshape(len(logits), -1, logits.shape[-1])
    difference = (positions - logits[:, None]).abs().amax(dim=2).amin(dim=1)  # (b,)
    return bool((difference <= _TOLERANCE * logits.abs().amax().clamp(min=1)).all())
