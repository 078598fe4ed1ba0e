"""Optimizations of BERT-like classifiers, with a check that the logits do not change.

First token: the last layer is computed only for the token that the head reads. A classification head of the BERT family
reads the first position only. So the last layer needs the keys and values of all positions, but the query, the
attention output and the feed-forward of position 0 alone. This saves about 14 % of the work of a six-layer model, 7 %
of a twelve-layer one. Nothing is approximated: the same sums are formed, though matrix products of another shape may
round differently, by less than 1e-4 in the logits in float32.

Packed weights: the weights of linear layers are converted once, instead of at each call, to the layout that the
processor multiplies fastest. This uses oneDNN, through the operators of torch's own compiler. On a processor with
AVX-512, a MiniLM predicts 1.16 times as many pairs in float32 and 1.07 times as many in bfloat16. The same sums are
formed in another order, so logits differ by rounding.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel

_TOLERANCE: Final = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""Maximum difference from a logit of the unmodified network. Half precision rounds each sum to 3 (float16) or 2
(bfloat16) digits, whatever the order of summation; a layer with another layout is wrong in the first digit."""


def compute_logits(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    """Compute the logits of a batch, shape (b, labels), in float32."""
    with torch.inference_mode():
        logits: Tensor = model(**inputs).logits.float()
    return logits


def are_logits_equal(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """Check whether two tensors of logits are equal up to the rounding errors of `dtype`. NaN is never equal."""
    return bool((expected - actual).abs().max() <= _TOLERANCE[dtype])


_BERT_LAYOUT: Final = frozenset({"bert", "camembert", "electra", "ernie", "roberta", "xlm-roberta"})
_DISTILBERT_LAYOUT: Final = frozenset({"distilbert"})


def _attend(layer_input: Tensor, query: Any, key: Any, value: Any, size: int, mask: Tensor | None) -> Tensor:
    """Compute the attention output of the first token, shape (b, 1, hidden), with heads of width `size`."""

    def heads(projected: Tensor) -> Tensor:  # (b, t, hidden) → (b, heads, t, size)
        return projected.view(*projected.shape[:-1], -1, size).transpose(1, 2)

    gathered = scaled_dot_product_attention(
        heads(query(layer_input[:, :1])),
        heads(key(layer_input)),
        heads(value(layer_input)),
        attn_mask=None if mask is None else mask[:, :, :1],  # (b, 1, t, t): the row of position 0
    )
    return gathered.transpose(1, 2).flatten(2)


class FirstTokenLayer(nn.Module):
    """BERT or DistilBERT layer that computes only the output of the first token."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None, *_: object, **__: object) -> Tensor:
        """Compute the output of the first token, shape (b, 1, hidden), from hidden states of shape (b, t, hidden)."""
        layer: Any = self.layer
        first = hidden_states[:, :1]
        result: Tensor
        if hasattr(layer, "ffn"):  # DistilBERT
            own = layer.attention
            gathered = _attend(hidden_states, own.q_lin, own.k_lin, own.v_lin, own.attention_head_size, attention_mask)
            attended = layer.sa_layer_norm(own.out_lin(gathered) + first)
            result = layer.output_layer_norm(layer.ffn(attended) + attended)
        else:
            own = layer.attention.self
            gathered = _attend(hidden_states, own.query, own.key, own.value, own.attention_head_size, attention_mask)
            result = layer.feed_forward_chunk(layer.attention.output(gathered, first))
        return result


def shorten_last_layer(model: PreTrainedModel, inputs: dict[str, Tensor]) -> bool:
    """Replace the last layer in place by one that computes only the first token, if the logits stay equal.

    Returns whether the model was changed. A model with an unknown layout is not changed.

    Args:
        inputs: Batch for the comparison, with pairs of different lengths, so that it has padding.
    """
    # Other attention implementations take masks of other shapes; a decoder also has a causal mask.
    if model.config._attn_implementation not in ("sdpa", "eager") or getattr(model.config, "is_decoder", False):
        return False
    base: Any = model.base_model
    if model.config.model_type not in _BERT_LAYOUT | _DISTILBERT_LAYOUT:
        return False
    layers = base.encoder.layer if model.config.model_type in _BERT_LAYOUT else base.transformer.layer
    plain = layers[-1]
    # The names of the layers do not prove that the forward pass is the usual one, so the logits are compared.
    expected = compute_logits(model, inputs)
    layers[-1] = FirstTokenLayer(plain)
    if are_logits_equal(compute_logits(model, inputs), expected, model.dtype):
        return True
    layers[-1] = plain
    return False


_PACKABLE: Final = (torch.float32, torch.bfloat16)


class PackedLinear(nn.Linear):
    """Linear layer on the CPU whose weights are packed in oneDNN's memory layout.

    oneDNN chooses the layout for `rows` vectors per call, but any number can be multiplied. `layer` is not changed.
    """

    def __init__(self, layer: nn.Linear, rows: int) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features, self.bias = layer.in_features, layer.out_features, layer.bias
        self.weight = nn.Parameter(_packed(layer.weight.detach(), rows), requires_grad=False)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer to inputs of shape (…, in_features). Returns shape (…, out_features)."""
        return _product(input, self.weight, self.bias)


def _packed(weight: Tensor, rows: int) -> Tensor:
    """Convert a weight to oneDNN's layout. Raises RuntimeError if the processor does not support the dtype."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, rows)
    return packed


def _product(input: Tensor, packed: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(input, packed, bias, "none", [], "")
    return product


def pack_linear_weights(model: PreTrainedModel, inputs: dict[str, Tensor], rows: int) -> bool:
    """Pack the weights of all linear layers in place (see `PackedLinear`), if the logits stay equal.

    Returns whether the weights were packed.

    `rows` is the expected number of vectors per call, as for `PackedLinear`.
    """
    if model.device.type != "cpu" or model.dtype not in _PACKABLE:
        return False
    expected = compute_logits(model, inputs)
    replaced: list[tuple[nn.Module, str, nn.Linear]] = []
    try:
        for module in list(model.modules()):
            for name, layer in list(module.named_children()):
                if type(layer) is nn.Linear:  # subclasses may have another forward pass
                    setattr(module, name, PackedLinear(layer, rows))
                    replaced.append((module, name, layer))
        if are_logits_equal(compute_logits(model, inputs), expected, model.dtype):
            return bool(replaced)
    except (AttributeError, RuntimeError, TypeError):  # no such operators in torch, or other code reads the weights
        pass
    for module, name, layer in replaced:
        setattr(module, name, layer)
    return False
