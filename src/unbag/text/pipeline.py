"""spaCy pipelines: how one is found, and what it is called."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

PIPELINE: Final = "spacy/en_core_web_sm"
"""The Hub repository, by spaCy's authors, of the pipeline that reads English by default."""


def load(pipeline: str | Path, exclude: Sequence[str]) -> Any:
    """Load a pipeline without some of its components.

    Args:
        pipeline: an installed package, a folder, or a Hub repository.
        exclude: the components that are not needed, for speed.

    Raises:
        ImportError: without spaCy.
        ValueError: if there is no such pipeline.
    """
    spacy = _spacy()
    source = pipeline
    if "/" in str(pipeline) and not Path(pipeline).exists():
        from huggingface_hub import snapshot_download

        source = snapshot_download(str(pipeline))
    try:
        return spacy.load(source, exclude=list(exclude))
    except OSError as error:
        raise ValueError(
            f"expected an installed spaCy pipeline, a folder with one, or a Hub repository, found {str(pipeline)!r} "
            f"({error})"
        ) from error


def identity(nlp: Any) -> str:
    """Return name, version and spaCy version of a pipeline: what decides its output."""
    return f"{nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, spaCy {_spacy().__version__}"


def _spacy() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ImportError("tagging and parsing sentences needs spaCy: pip install 'unbag[parse]'") from error
    return spacy
