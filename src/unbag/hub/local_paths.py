"""Removal of local folders from records before publication."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_LOCAL: Final = (os.sep, "~", f".{os.sep}", f"..{os.sep}")


def replace_paths_with_file_names(value: Any) -> Any:
    """Replace the local paths in a record with their file names. Tuples are converted to lists.

    >>> replace_paths_with_file_names({"embeddings": "../vectors/glove.txt", "mode": "hypothesis", "sizes": (1, 2)})
    {'embeddings': 'glove.txt', 'mode': 'hypothesis', 'sizes': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {key: replace_paths_with_file_names(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_paths_with_file_names(each) for each in value]
    if isinstance(value, Path) or (isinstance(value, str) and value.startswith(_LOCAL)):
        return Path(value).name
    return value
