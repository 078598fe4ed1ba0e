"""Bundled code of unbag architectures, to load them with `trust_remote_code` in transformers."""

import json
from collections.abc import Mapping
from typing import Any, Final

from unbag.hub.vendoring import build_source_notice, bundle_modules

FILE: Final = "modeling_unbag.py"

_TYPES: Final = "unbag-"  # prefix of the model types in `unbag.models`
_ALLOWED: Final = frozenset({"numpy", "torch", "transformers", "spacy", "huggingface_hub"})
_REPLACEMENTS: Final = {"unbag.models.trees": "unbag.models.vendored_trees"}


def is_unbag_config(config: Mapping[str, Any]) -> bool:
    """Check whether a model config describes an architecture of `unbag.models`."""
    return str(config.get("model_type")).startswith(_TYPES)


def remove_code(config: bytes) -> bytes:
    """Revert the changes of `add_code` to a config.json, byte for byte."""
    record = json.loads(config)
    record.pop("auto_map", None)
    # transformers writes config.json in this format. Equal bytes have equal hashes, which identify the model.
    return (json.dumps(record, indent=2) + "\n").encode()


def add_code(config: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Add an `auto_map` to a model's config, and bundle the `unbag.models` modules that it refers to.

    Returns:
        The new config, and the source of the module.

    Raises:
        ValueError: If the architecture is not in `unbag.models`.
        ImportError: If PyTorch or transformers is not installed.
    """
    from unbag.models import ARCHITECTURES

    networks = {kind.config.model_type: kind.network for kind in ARCHITECTURES.values()}
    if config.get("model_type") not in networks:
        raise ValueError(
            f"--with-code: expected an unbag architecture, got {config.get('model_type')!r}, which is part of "
            "transformers; remove --with-code"
        )
    network = networks[config["model_type"]]
    module = FILE.removesuffix(".py")
    auto_map = {
        "AutoConfig": f"{module}.{network.config_class.__name__}",
        "AutoModelForSequenceClassification": f"{module}.{network.__name__}",
    }
    title = f"{network.__name__}, which can be loaded without unbag."
    code = bundle_modules([network.__module__], title=title, allowed=_ALLOWED, instead=_REPLACEMENTS)
    return {**config, "auto_map": auto_map}, build_source_notice() + code
