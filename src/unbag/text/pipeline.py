"""spaCy pipelines: how one is found, and what it is called."""

import functools
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from unbag.utils.hub import HubReadError, hub_read
from unbag.utils.offline import unless_unreachable
from unbag.utils.redaction import first_line

PIPELINE: Final = "spacy/en_core_web_sm"
"""The Hub repository, by spaCy's authors, of the pipeline that reads English by default."""

ALL: Final = "all"
"""The name, in place of a pipeline's, that makes every word count. It needs no tagger."""

_EXPECTED: Final = "expected an installed spaCy pipeline, a folder with one, or a Hub repository"
_ON_HUB: Final = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def load(pipeline: str | Path, exclude: Sequence[str]) -> Any:
    """Load a pipeline without some of its components.

    Args:
        pipeline: an installed package, a folder, or a Hub repository.
        exclude: the components that are not needed, for speed.

    Raises:
        ValueError: if there is no such pipeline.
    """
    import spacy

    source = pipeline
    if "/" in str(pipeline) and not Path(pipeline).exists():
        source = _from_hub(str(pipeline))
    try:
        return spacy.load(source, exclude=list(exclude))
    except Exception as error:  # of a folder that anyone may have made: anything
        raise ValueError(f"{_EXPECTED}, found {str(pipeline)!r} ({first_line(error)})") from error


@functools.cache  # taggers and parsers of a run ask for the same one, each with a progress bar of 26 files
def _from_hub(pipeline: str) -> str:
    """Download a pipeline, or find it where it was downloaded before; return its folder."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    with unless_unreachable() as unreachable:
        try:
            return hub_read(f"the spaCy pipeline {pipeline}", lambda: snapshot_download(pipeline))
        except HubReadError:
            raise
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            why = unreachable or f"the Hub does not give it: {first_line(error)}"
            raise ValueError(f"the spaCy pipeline {pipeline!r} is not on this machine, and {why}") from error


def require(pipeline: str | Path) -> None:
    """Refuse what is surely no pipeline, before anything is read or fetched; what is on the Hub, `load` sees.

    Raises:
        ValueError: if it is neither installed, nor a folder with one, nor a name on the Hub.
    """
    name, path = str(pipeline), Path(pipeline)
    if path.exists():
        known = (path / "meta.json").is_file()
    else:
        known = _ON_HUB.fullmatch(name) is not None or (name.isidentifier() and is_installed(name))
    if not known:
        raise ValueError(
            f"expected an installed spaCy pipeline, a folder with one, or a Hub repository, found {name!r}"
        )


def is_installed(package: str) -> bool:
    """Tell whether a package can be imported, without doing so."""
    try:
        return find_spec(package) is not None
    except ValueError:  # it is being imported, or somebody has put nothing in its place
        return sys.modules.get(package) is not None


def identity(nlp: Any) -> str:
    """Return name, version and spaCy version of a pipeline: what decides its output."""
    return f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, spaCy {version('spacy')}"
