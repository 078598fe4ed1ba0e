"""Lexical models by name: folders and Hub repositories."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from unbag.baselines.lexical.model import CONFIG_FILE, MODEL_TYPE, WEIGHTS_FILE
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, BY_TYPE
from unbag.data.corpora import LANGUAGES
from unbag.data.readers import is_hub_id
from unbag.data.sources import Source
from unbag.utils.files import read_json_object
from unbag.utils.hub import HubReadError, hub_read

KNOWN_PIPELINES: Final = tuple(
    f"{place}{language}_{size}"
    for place in ("spacy/", "")
    for language in ("en_core_web", "zh_core_web")
    for size in ("sm", "md", "lg", "trf")
)
"""Pipelines by spaCy's authors, in their repositories of the Hub or installed: those that a model may name."""

_PART: Final = ("origin", "split", "revision")
_FIELDS: Final[dict[str, Callable[[Any], bool]]] = {
    "pipeline": lambda value: value is None or isinstance(value, str),
    "tags": lambda value: value in (None, BY_TYPE, BY_CONTEXT),
    "language": lambda value: isinstance(value, str) and value in LANGUAGES,
    "words": lambda value: isinstance(value, str),
    "hypothesis_only": lambda value: isinstance(value, bool),
    "pairs": lambda value: type(value) is int,
    "l2": lambda value: type(value) in (int, float),
    "training": lambda value: (
        isinstance(value, list)
        and all(isinstance(part, dict) and all(isinstance(part.get(name), str) for name in _PART) for part in value)
    ),
}
"""What the record of a model must have that anyone may have written."""


def is_lexical_model(name: str | Path, *, revision: str | None = None) -> bool:
    """Tell whether a folder or Hub repository holds a lexical model; False where there is none of either."""
    if is_hub_id(str(name)):
        from huggingface_hub import hf_hub_download

        try:
            config = Path(
                hub_read(f"the model {name}", lambda: hf_hub_download(str(name), CONFIG_FILE, revision=revision))
            )
        except HubReadError:
            raise
        except (OSError, ValueError):  # not there, not ours to read, no network: whoever opens it as a model says so
            return False
    else:
        config = Path(name) / CONFIG_FILE
    return config.is_file() and _read(config).get("model_type") == MODEL_TYPE


def open_lexical_model(
    name: str | Path, *, revision: str | None = None, unseen: Source | None = None, pipeline: str | None = None
) -> Path:
    """Return the folder of a fitted lexical model, fetching it from the Hub where that is where it is.

    Args:
        name: a folder or a Hub repository.
        revision: branch, tag or commit of a repository.
        unseen: pairs that it must not have been fitted to.
        pipeline: the spaCy pipeline that tags its words, where it is none of `KNOWN_PIPELINES`. A pipeline is code:
            whoever made the model says which it was, and you say whether it is loaded.

    Raises:
        ValueError: if it is no lexical model, was fitted to those pairs, or needs a pipeline that nobody chose.
    """
    if not is_lexical_model(name, revision=revision):
        raise ValueError(
            f"expected a lexical model (a folder or Hub repository that `unbag lexical fit` made), found {str(name)!r}"
        )
    folder = Path(name)
    if is_hub_id(str(name)):
        from huggingface_hub import snapshot_download

        files = [CONFIG_FILE, WEIGHTS_FILE]
        folder = Path(
            hub_read(
                f"the lexical model {name}",
                lambda: snapshot_download(str(name), revision=revision, allow_patterns=files),
            )
        )
    record = _record(folder / CONFIG_FILE)
    needed = record["pipeline"]
    if record["tags"] != BY_TYPE and needed not in (None, ALL, pipeline, *KNOWN_PIPELINES):
        raise ValueError(
            f"{name}: whoever made this lexical model names {needed!r} to tag its words, which would be loaded and run "
            f"here; if you trust it, say so with pipeline={needed!r}. Without being asked, only spaCy's own are loaded "
            f"({', '.join(KNOWN_PIPELINES[:2])}, …)"
        )
    if unseen is not None:
        seen = [(part["origin"], part["split"], part["revision"]) for part in record["training"]]
        if (unseen.origin, unseen.split, unseen.revision) in seen:
            raise ValueError(
                f"{name} was fitted to {unseen.origin} {unseen.split}, so its scores of these pairs say nothing; "
                "leave the model out, and models of k folds are fitted, each to score what it has not seen"
            )
    return folder


def _read(config: Path) -> dict[str, Any]:
    """Return what is in a config; nothing of one that cannot be read: whoever opens it as a model says so."""
    try:
        return read_json_object(config)
    except ValueError:
        return {}


def _record(config: Path) -> dict[str, Any]:
    """Return how a model was made; anyone may have written it."""
    record = read_json_object(config).get("record")
    if not isinstance(record, dict):
        raise ValueError(f"{config}: expected a record of how the model was made, found {record!r:.100}")
    if missing := [name for name in _FIELDS if name not in record]:
        raise ValueError(
            f"{config}: expected a record with {', '.join(_FIELDS)}, got one without {', '.join(missing)}, as an "
            "earlier version wrote it; fit the model again with `unbag lexical fit`"
        )
    for name, fits in _FIELDS.items():
        if not fits(record[name]):
            raise ValueError(f"{config}: the record has {name} = {record[name]!r:.100}, which no lexical model has")
    return record
