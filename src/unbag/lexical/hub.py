"""Lexical models by name: folders and Hub repositories."""

import json
from pathlib import Path
from typing import Any

from unbag.lexical.model import CONFIG_FILE, MODEL_TYPE, WEIGHTS_FILE
from unbag.rows import is_hub_id
from unbag.sources import Source


def is_lexical_model(name: str | Path, *, revision: str | None = None) -> bool:
    """Tell whether a folder or Hub repository holds a lexical model; False where there is none of either."""
    if is_hub_id(str(name)):
        from huggingface_hub import hf_hub_download

        try:
            config = Path(hf_hub_download(str(name), CONFIG_FILE, revision=revision))
        except (OSError, ValueError):  # not there, not ours to read, no network: whoever opens it as a model says so
            return False
    else:
        config = Path(name) / CONFIG_FILE
    return config.is_file() and _read(config).get("model_type") == MODEL_TYPE


def open_lexical_model(name: str | Path, *, revision: str | None = None, unseen: Source | None = None) -> Path:
    """Return the folder of a fitted lexical model, fetching it from the Hub where that is where it is.

    Args:
        name: a folder or a Hub repository.
        revision: branch, tag or commit of a repository.
        unseen: pairs that it must not have been fitted to.

    Raises:
        ValueError: if it is no lexical model, or was fitted to those pairs.
    """
    if not is_lexical_model(name, revision=revision):
        raise ValueError(
            f"expected a lexical model (a folder or Hub repository that `unbag lexical fit` made), found {str(name)!r}"
        )
    folder = Path(name)
    if is_hub_id(str(name)):
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(str(name), revision=revision, allow_patterns=[CONFIG_FILE, WEIGHTS_FILE]))
    if unseen is not None:
        seen = [
            (part["origin"], part["split"], part["revision"])
            for part in _read(folder / CONFIG_FILE)["record"]["training"]
        ]
        if (unseen.origin, unseen.split, unseen.revision) in seen:
            raise ValueError(
                f"{name} was fitted to {unseen.origin} {unseen.split}, so its scores of these pairs say nothing; "
                "leave the model out, and models of k folds are fitted, each to score what it has not seen"
            )
    return folder


def _read(config: Path) -> dict[str, Any]:
    content = json.loads(config.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}
