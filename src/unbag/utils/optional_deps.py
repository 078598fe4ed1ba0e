"""Which extra of ours brings a package that is missing."""

from importlib.util import find_spec
from typing import Final

EXTRA_OF: Final = {
    "accelerate": "models",
    "torch": "models",
    "transformers": "models",
    "evaluate": "metrics",
    "jieba": "zh",
    "lemminflect": "wordnet",
    "nltk": "wordnet",
    "openai": "llm",
    "ray": "ray",
    "tensorboard": "trackers",
    "trackio": "trackers",
}
"""The modules that no plain installation has, and the extra that each comes with."""


def install_hint(error: ImportError) -> str:
    """Return an import error's message, with what to install where that is an extra of ours."""
    extra = EXTRA_OF.get((error.name or "").partition(".")[0])
    if extra is None or f"unbag[{extra}]" in str(error):
        return str(error)
    return _missing(error.name or "", extra)


def require(package: str) -> None:
    """Refuse to begin what needs a package of an extra that is not installed, without importing it.

    Raises:
        ImportError: naming the extra.

    >>> require("numpy")
    """
    try:
        found = find_spec(package)
    except ValueError:  # somebody has put nothing in its place
        found = None
    if found is None:
        raise ImportError(_missing(package, EXTRA_OF[package]), name=package)


def _missing(package: str, extra: str) -> str:
    return f"expected the package {package} to be installed: pip install 'unbag[{extra}]'"
