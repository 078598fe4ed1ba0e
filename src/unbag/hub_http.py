"""The HTTP library that huggingface_hub speaks through, whichever it is: httpx of old, httpx2 of late."""

import importlib
from functools import cache
from types import ModuleType


@cache
def hub_http() -> ModuleType:
    """Return the module whose exceptions huggingface_hub's own calls raise: `httpx` or `httpx2`, by its version."""
    from huggingface_hub.errors import HfHubHTTPError

    # The one public thing that tells: what an error of the Hub is derived from.
    library = next(
        base.__module__.partition(".")[0] for base in HfHubHTTPError.__mro__ if base.__module__.startswith("httpx")
    )
    return importlib.import_module(library)
