"""Does an NLI model read sentences, or count words? Challenge sets, metrics and trainers that answer it.

>>> import unbag
>>> permuted = unbag.load("permuted", "snli")            # doctest: +SKIP
>>> report = unbag.evaluate("org/my-nli-model")          # doctest: +SKIP
"""

from importlib import import_module
from typing import Any

_HOMES = {"load": "unbag.sets", "evaluate": "unbag.evaluation", "compare": "unbag.comparison"}
__all__ = ["compare", "evaluate", "load"]


def __getattr__(name: str) -> Any:
    """Import a public function when it is first asked for: `import unbag` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'unbag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
