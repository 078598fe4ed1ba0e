"""What the environment says of caches: an empty variable says nothing, and one that names a file is refused at once."""

import os
from pathlib import Path
from typing import Final

_CACHES: Final = ("UNBAG_CACHE", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "HF_XET_CACHE")


def settle() -> None:
    """Make empty names of cache folders absent, as their readers disagree on them; before anything imports those.

    Raises:
        ValueError: if a variable names what no folder can be.
    """
    for name in _CACHES:
        value = os.environ.get(name)
        if value is None:
            continue
        if not value.strip():
            del os.environ[name]  # else it would be the folder that one happens to be in
            continue
        path = Path(value).expanduser()
        above = next((each for each in (path, *path.parents) if each.exists()), path)
        if not above.is_dir():
            raise ValueError(f"expected {name} in the environment to be a folder, found {value!r}: {above} is a file")
