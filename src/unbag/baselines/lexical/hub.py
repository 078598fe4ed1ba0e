"""Loading of lexical models from folders and Hub repositories."""

from functools import partial
from pathlib import Path
from typing import Final, Literal

from typing_extensions import TypedDict  # pydantic reads records by it

from unbag.baselines.lexical.model import CONFIG_FILE, MODEL_TYPE, WEIGHTS_FILE
from unbag.baselines.lexical.words import ALL, BY_TYPE
from unbag.data.readers import is_hub_id
from unbag.data.sources import PairSource
from unbag.utils.files import read_json_object
from unbag.utils.hub import HubReadError, read_from_hub

KNOWN_PIPELINES: Final = tuple(
    f"{place}{language}_{size}"
    for place in ("spacy/", "")
    for language in ("en_core_web", "zh_core_web")
    for size in ("sm", "md", "lg", "trf")
)
"""Trusted pipelines by the authors of spaCy, on the Hub or installed. A model may use them without user consent."""


class _Source(TypedDict):
    origin: str
    split: str
    revision: str


class _Record(TypedDict):
    """Required fields in the record of a model, which is untrusted input."""

    pipeline: str | None
    tags: Literal["type", "context"] | None
    language: str
    words: str
    hypothesis_only: bool
    pairs: int
    l2: float
    training: list[_Source]


def is_lexical_model(name: str | Path, *, revision: str | None = None) -> bool:
    """Check whether a folder or Hub repository contains a lexical model. Return False if neither exists."""
    config = Path(name) / CONFIG_FILE
    try:
        if is_hub_id(str(name)):
            from huggingface_hub import hf_hub_download

            what = f"the model {name}"
            config = Path(read_from_hub(what, lambda: hf_hub_download(str(name), CONFIG_FILE, revision=revision)))
        return config.is_file() and read_json_object(config).get("model_type") == MODEL_TYPE
    except HubReadError:
        raise
    except (OSError, ValueError):
        # Missing, private, damaged, or no network: loading it as another type of model then reports the error.
        return False


def locate_lexical_model(
    name: str | Path, *, revision: str | None = None, test_source: PairSource | None = None, pipeline: str | None = None
) -> Path:
    """Locate a fitted lexical model, in a folder or on the Hub, and download it if necessary. Returns its folder.

    The training data of the model must not include `test_source`. `pipeline` is trusted in addition to
    `KNOWN_PIPELINES`: loading the pipeline that tags the words of the model executes its code, so the caller must allow
    it.
    """
    if not is_lexical_model(name, revision=revision):
        raise ValueError(
            f"lexical model: expected a folder or Hub repository written by `unbag lexical fit`, got {str(name)!r}"
        )
    folder = Path(name)
    if is_hub_id(str(name)):
        from huggingface_hub import snapshot_download

        what, files = f"the lexical model {name}", [CONFIG_FILE, WEIGHTS_FILE]
        download = partial(snapshot_download, str(name), revision=revision, allow_patterns=files)
        folder = Path(read_from_hub(what, download))
    record = _record(folder / CONFIG_FILE)
    needed = record["pipeline"]
    if record["tags"] != BY_TYPE and needed not in (None, ALL, pipeline, *KNOWN_PIPELINES):
        raise ValueError(
            f"{name}: expected a pipeline by the authors of spaCy ({', '.join(KNOWN_PIPELINES[:2])}, …), got "
            f"{needed!r}, which would execute code on this machine; if you trust it, pass pipeline={needed!r}"
        )
    if test_source is not None and test_source.record in record["training"]:
        raise ValueError(
            f"{name}: expected a model that was not fitted to the scored pairs, got one fitted to "
            f"{test_source.origin} {test_source.split}; omit the model to score the pairs with cross-fitted models"
        )
    return folder


def _record(config: Path) -> _Record:
    """Load and validate the record of a model."""
    from pydantic import TypeAdapter, ValidationError  # slow to import

    try:
        return TypeAdapter(_Record).validate_python(read_json_object(config).get("record"), strict=True)
    except ValidationError as error:
        fault = error.errors(include_input=False)[0]
        place = ".".join(map(str, ("record", *fault["loc"])))
        raise ValueError(
            f"{config}: expected the record of a lexical model, got {place}: {fault['msg'].lower()}; fit the model "
            "again with `unbag lexical fit`"
        ) from None
