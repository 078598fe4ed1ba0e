"""Whether a network that was made faster still says what it said."""

from typing import Any, Final

import torch
from torch import Tensor

_TOLERANCE: Final = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""Most that a logit may differ from the plain forward's. Half precision rounds each sum to 3 or 2 digits, whatever the
order; a layer that is laid out otherwise is wrong in the first digit."""


def logits_of(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    """Return what a classifier says of a batch, shape (b, labels), in float32."""
    with torch.inference_mode():
        logits: Tensor = model(**inputs).logits.float()
    return logits


def agree(actual: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """Tell whether two networks that compute in `dtype` say the same but for rounding; NaN is no agreement."""
    return bool((expected - actual).abs().max() <= _TOLERANCE[dtype])
