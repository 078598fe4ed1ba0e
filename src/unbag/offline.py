"""Keep the Hub's clients from the network."""

import os
import sys
from typing import Final

_SETTINGS: Final = (
    ("huggingface_hub.constants", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_HUB_OFFLINE"),
    ("datasets.config", "HF_DATASETS_OFFLINE"),
)
"""Where the clients keep what they read of the environment when they were imported."""


def go_offline() -> None:
    """Keep the Hub's clients from the network, as `HF_HUB_OFFLINE=1` does, in this process and its children."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    for module, name in _SETTINGS:
        if module in sys.modules:
            setattr(sys.modules[module], name, True)
