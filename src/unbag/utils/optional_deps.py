"""Optional dependencies and the extras that install them."""

from importlib.util import find_spec
from typing import Final

EXTRA_OF: Final = {
    "accelerate": "models",
    "torch": "models",
    "transformers": "models",
    "evaluate": "metrics",
    "onnxruntime": "onnx",
    "openvino": "openvino",
    "rjieba": "zh",
    "nltk": "wordnet",
    "openai": "llm",
    "ray": "ray",
    "tensorboard": "trackers",
    "trackio": "trackers",
}
"""Extra by module, for modules that are not installed without extras."""


def build_install_hint(error: ImportError) -> str:
    """Build the message for an import error. It names the extra that installs the package, if there is one."""
    extra = EXTRA_OF.get((error.name or "").partition(".")[0])
    if extra is None or f"unbag[{extra}]" in str(error):
        return str(error)
    return _missing(error.name or "", extra)


def validate_dependency(package: str) -> None:
    """Validate that an optional package is installed, without importing it. The error names the extra to install.

    >>> validate_dependency("numpy")
    """
    try:
        spec = find_spec(package)
    except ValueError:  # `sys.modules[package]` is None or has no spec
        spec = None
    if spec is None:
        raise ImportError(_missing(package, EXTRA_OF[package]), name=package)


def _missing(package: str, extra: str) -> str:
    return f"expected the package {package}, got none; install it: pip install 'unbag[{extra}]'"
