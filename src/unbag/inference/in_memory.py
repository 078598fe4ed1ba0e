"""Classifiers that the caller holds already: a CrossEncoder of sentence-transformers, or a pipeline of transformers.

They are told by their classes' names, so that nobody who holds none needs, or waits for, either library.
"""

import copy
import hashlib
import logging
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from unbag.inference.hub_files import folder_revision

if TYPE_CHECKING:
    from unbag.inference.single_output import Threshold
    from unbag.inference.transformer import TransformerPredictor

_CLASSES: Final = {("sentence_transformers", "CrossEncoder"), ("transformers", "TextClassificationPipeline")}
_NAME: Final = "memory"  # stands where the Hub id or `folder` of another classifier does

logger = logging.getLogger(__name__)


def is_classifier(model: object) -> bool:
    """Tell whether an object is a `CrossEncoder` or a text-classification pipeline."""
    return any((cls.__module__.partition(".")[0], cls.__name__) in _CLASSES for cls in type(model).__mro__)


def name_of(model: Any) -> str:
    """Return what a classifier was loaded as: the Hub id, or its folder's own name."""
    from unbag.data.readers import is_hub_id

    loaded = str(getattr(model.model.config, "_name_or_path", "") or "")
    return loaded if is_hub_id(loaded) else Path(loaded).name or type(model).__name__


def predictor_of_classifier(
    model: Any,
    *,
    label_map: Mapping[str, str] | None = None,
    max_length: int | None = None,
    batch_tokens: int | None = None,
    threshold: "Threshold | None" = None,
) -> "TransformerPredictor":
    """Return a predictor with the network and the tokenizer of a `CrossEncoder` or a text-classification pipeline.

    Its numbers are theirs within rounding: a softmax over the outputs, or of one output its sigmoid. The network
    answers on the device and in the dtype that it has, but for float16 weights on a CPU: few processors compute in
    float16, so these are copied to float32, whatever the processor. What was handed in is left as it is: only its
    tensors are shared.

    Args:
        model: what `is_classifier` tells.
        label_map: as `TransformerPredictor.load` takes it.
        max_length: likewise; by default a pipeline's own.
        batch_tokens: likewise.
        threshold: likewise.

    Raises:
        ModelError: if what it is made of is no classifier, or it has one output and no threshold.
        labels.LabelError: if its config does not tell which output is which label.
    """
    import torch
    from transformers import PreTrainedModel

    from unbag.inference.loading import classifier_of
    from unbag.inference.predictor import ModelError
    from unbag.inference.transformer import TransformerPredictor

    kind = type(model).__name__
    architecture = type(model.model).__name__
    if not isinstance(model.model, PreTrainedModel) or not architecture.endswith("ForSequenceClassification"):
        raise ModelError(
            f"expected the {kind} to hold a sequence classifier of transformers (…ForSequenceClassification), found "
            f"{architecture}; hand in a function that asks it"
        )
    if _is_more_than_its_network(model):
        raise ModelError(
            f"expected the {kind} to be a sequence classifier alone, found layers after it or a prompt before each "
            "text; hand in a function that asks it"
        )
    converts = model.model.device.type == "cpu" and model.model.dtype == torch.float16
    tensors = () if converts else chain(model.model.parameters(), model.model.buffers())
    network: Any = copy.deepcopy(model.model, {id(each): each for each in tensors})
    tokenizer = copy.deepcopy(model.tokenizer)
    if converts:
        logger.warning(
            "the %s has float16 weights on a CPU, which computes slowly in float16: a copy is asked in float32; "
            "load it with dtype=torch.float32 to save the copy, or on a GPU to ask it in float16",
            kind,
        )
        network = network.float()
    if hasattr(tokenizer, "backend_tokenizer"):  # what the last call left there would be part of its files
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    classifier = classifier_of(
        network,
        tokenizer,
        name=_NAME,
        revision=_revision(model.model, tokenizer),
        source=f"the {kind}",
        label_map=label_map,
        threshold=threshold,
    )
    if max_length is None:
        max_length = getattr(model, "_preprocess_params", {}).get("max_length")  # of a pipeline
    return TransformerPredictor(
        classifier, device=str(network.device), max_length=max_length, batch_tokens=batch_tokens
    )


def _is_more_than_its_network(model: Any) -> bool:
    """Tell whether a CrossEncoder has modules of its own beside the network, or a prompt."""
    modules = list(model.children()) if hasattr(model, "children") else []
    return len(modules) > 1 or getattr(model, "default_prompt_name", None) is not None


def _revision(network: Any, tokenizer: Any) -> str:
    """Return `sha256:` and a hash of weights, config and tokenizer, as `hub_files.folder_revision` does of files."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    with TemporaryDirectory() as folder:
        network.config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        digest.update(folder_revision(Path(folder)).encode())
    return f"sha256:{digest.hexdigest()}"
