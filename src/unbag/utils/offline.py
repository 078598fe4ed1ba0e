"""Offline mode of the Hub clients."""

import os
import sys
from typing import Final

_SETTINGS: Final = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Module variables of the clients that are set from the environment only at import."""


def enable_offline_mode() -> None:
    """Switch Hub clients to offline mode, in this process and its children, like `HF_HUB_OFFLINE=1`."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for module, name in _SETTINGS:
        if module in sys.modules:
            setattr(sys.modules[module], name, True)
