"""What a pipeline found in sentences, kept on disk: one SQLite file a kind of finding and a pipeline."""

import hashlib
from pathlib import Path
from typing import Final

from unbag.utils.files import cache_folder
from unbag.utils.sqlite_cache import Kept

_LAYOUT: Final = 2  # of the file; 1 had no checksums


def findings(kind: str, identity: str, folder: Path | None = None) -> Kept:
    """Return findings by sentence, as they were kept.

    Args:
        kind: what is kept, e.g. `tagged`.
        identity: what made it; findings of another identity are never mixed in.
        folder: where they lie; by default `unbag/<kind>` in the user's cache folder.
    """
    name = hashlib.sha256(f"{identity}, layout {_LAYOUT}".encode()).hexdigest()[:16]
    return Kept((folder or cache_folder(kind)) / f"{name}.sqlite", kind)
