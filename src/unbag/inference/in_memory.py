"""Predictors for loaded classifiers: a sentence-transformers CrossEncoder, or a transformers pipeline.

They are recognized by the names of their classes, so that neither library is imported for other models.
"""

import copy
import hashlib
import logging
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from unbag.inference.hub_files import ModelIdentity, compute_folder_revision

if TYPE_CHECKING:
    from unbag.inference.cross_encoder import CrossEncoderPredictor
    from unbag.inference.single_output import Threshold
    from unbag.inference.transformer import TransformerPredictor

_CLASSES: Final = {("sentence_transformers", "CrossEncoder"), ("transformers", "TextClassificationPipeline")}
_NAME: Final = "memory"  # in place of a Hub id or `folder`

logger = logging.getLogger(__name__)


def is_classifier(model: object) -> bool:
    """Check whether an object is a `CrossEncoder` or a text-classification pipeline."""
    return any((cls.__module__.partition(".")[0], cls.__name__) in _CLASSES for cls in type(model).__mro__)


def find_model_name(model: Any) -> str:
    """Get the name of a classifier: the Hub id, or the name of the folder from which it was loaded."""
    from unbag.data.readers import is_hub_id

    loaded = str(getattr(model.model.config, "_name_or_path", "") or "")
    return loaded if is_hub_id(loaded) else Path(loaded).name or type(model).__name__


def build_classifier_predictor(
    model: Any,
    *,
    label_map: Mapping[str, str] | None = None,
    threshold: "Threshold | None" = None,
    max_length: int | None = None,
    batch_tokens: int | None = None,
) -> "TransformerPredictor | CrossEncoderPredictor":
    """Build a predictor from a loaded `CrossEncoder` or text-classification pipeline.

    Its probabilities equal those of the object up to rounding: a softmax over the outputs, or the sigmoid of a single
    output. The network runs on its device and in its dtype. The exception is float16 weights on a CPU: few processors
    compute in float16, so they are copied to float32 on every processor. The object itself is not changed: only its
    tensors are shared.

    The options are those of `inference.options.InMemoryKwargs`. The default of `max_length` is that of the pipeline.
    """
    import torch
    from transformers import PreTrainedModel

    from unbag.inference.cross_encoder import CrossEncoderPredictor
    from unbag.inference.loading import build_classifier
    from unbag.inference.predictor import ModelError
    from unbag.inference.transformer import TransformerPredictor

    kind = type(model).__name__
    if _has_extra_modules(model):
        identity = ModelIdentity(f"the {kind}", _NAME, _revision(model, model.tokenizer, repr(model)))
        return CrossEncoderPredictor(
            _copy_module(model),
            identity,
            label_map=label_map,
            threshold=threshold,
            max_length=max_length,
            batch_tokens=batch_tokens,
        )
    architecture = type(model.model).__name__
    if not isinstance(model.model, PreTrainedModel) or not architecture.endswith("ForSequenceClassification"):
        raise ModelError(
            f"expected the {kind} to contain a transformers sequence classifier (…ForSequenceClassification), got "
            f"{architecture}; pass a function that calls the model"
        )
    network = _copy_module(model.model)
    if network.device.type == "cpu" and network.dtype == torch.float16:
        logger.warning(
            "the %s has float16 weights, which are slow on a CPU: evaluating a float32 copy; load the model with "
            "dtype=torch.float32 to avoid the copy, or on a GPU to evaluate it in float16",
            kind,
        )
        network = copy.deepcopy(network).float()
    tokenizer = copy.deepcopy(model.tokenizer)
    if hasattr(tokenizer, "backend_tokenizer"):  # the settings of the last call would change the hash of its files
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    identity = ModelIdentity(f"the {kind}", _NAME, _revision(model.model, tokenizer))
    classifier = build_classifier(network, tokenizer, identity, label_map=label_map, threshold=threshold)
    if max_length is None:
        max_length = getattr(model, "_preprocess_params", {}).get("max_length")  # a pipeline's own option
    return TransformerPredictor(
        classifier, device=str(network.device), max_length=max_length, batch_tokens=batch_tokens
    )


def _copy_module(module: Any) -> Any:
    """Copy a module, whose copy shares the tensors: deepcopy takes the objects in its memo as copied already."""
    return copy.deepcopy(module, {id(each): each for each in chain(module.parameters(), module.buffers())})


def _has_extra_modules(model: Any) -> bool:
    """Check whether a CrossEncoder has other modules beside a sequence classifier, or a prompt."""
    if not hasattr(model, "default_prompt_name"):  # a pipeline
        return False
    return len(list(model.children())) > 1 or bool((model.prompts or {}).get(model.default_prompt_name))


def _revision(network: Any, tokenizer: Any, modules: str = "") -> str:
    """Compute `sha256:` and a hash of weights, config and tokenizer, as `compute_folder_revision` does for files."""
    import torch

    digest = hashlib.sha256(modules.encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    with TemporaryDirectory() as folder:
        network.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        digest.update(compute_folder_revision(Path(folder)).encode())
    return f"sha256:{digest.hexdigest()}"
