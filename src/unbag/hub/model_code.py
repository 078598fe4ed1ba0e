"""The code of a model of ours in one file of its repository, for those who let transformers run code of others."""

import json
from collections.abc import Mapping
from typing import Any, Final

from unbag.hub.vendoring import bundle_modules, source_notice

FILE: Final = "modeling_unbag.py"

_TYPES: Final = "unbag-"  # what the types of the models in `unbag.models` begin with
_ALLOWED: Final = frozenset({"numpy", "torch", "transformers", "spacy", "huggingface_hub"})
_REPLACEMENTS: Final = {"unbag.models.trees": "unbag.models.vendored_trees"}


def is_unbag_config(config: Mapping[str, Any]) -> bool:
    """Tell whether a model's architecture is one of `unbag.models`, by its config."""
    return str(config.get("model_type")).startswith(_TYPES)


def remove_code(config: bytes) -> bytes:
    """Return, of a repository's config.json, what the folder had before `with_code`, as transformers writes it."""
    record = json.loads(config)
    record.pop("auto_map", None)
    return (json.dumps(record, indent=2) + "\n").encode()


def add_code(config: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a model's config that says where its code is, and the code: the modules of `unbag.models` that it needs.

    Raises:
        ValueError: if its architecture is none of `unbag.models`.
        ImportError: without PyTorch and transformers.
    """
    from unbag.models import ARCHITECTURES

    networks = {kind.config.model_type: kind.network for kind in ARCHITECTURES.values()}
    if config.get("model_type") not in networks:
        raise ValueError(
            f"a model of type {config.get('model_type')!r} has its code in transformers and needs no code of its own; "
            "leave out --with-code"
        )
    network = networks[config["model_type"]]
    module = FILE.removesuffix(".py")
    auto_map = {
        "AutoConfig": f"{module}.{network.config_class.__name__}",
        "AutoModelForSequenceClassification": f"{module}.{network.__name__}",
    }
    title = f"{network.__name__}, for those who load it without unbag."
    code = bundle_modules([network.__module__], title=title, allowed=_ALLOWED, instead=_REPLACEMENTS)
    return {**config, "auto_map": auto_map}, source_notice() + code
