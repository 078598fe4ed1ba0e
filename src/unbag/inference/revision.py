"""What identifies the files of a model in a folder."""

import hashlib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from unbag.utils.hashing import file_hash

_FILES: Final = (
    "config.json",
    "model*.safetensors*",
    "pytorch_model*",
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "*.model",  # SentencePiece
    "added_tokens.json",
    "special_tokens_map.json",
)
"""What the library reads to build the model and its tokenizer. A card, results or a trainer's state beside them do not
change a prediction."""


def folder_revision(folder: Path) -> str:
    """Return `sha256:` and a hash of the model's and its tokenizer's files: their names and contents.

    The folder's own name and place are no part of it: a copy is the same model.
    """
    files = (path for path in folder.iterdir() if path.is_file() and is_of_model(path.name))
    return revision_of({path.name: file_hash(path) for path in files})


def is_of_model(name: str) -> bool:
    """Tell whether a file of that name at the top of a folder is one of the model's or its tokenizer's."""
    return any(fnmatchcase(name, pattern) for pattern in _FILES)


def revision_of(hashes: Mapping[str, str]) -> str:
    """Return `sha256:` and a hash of files, from the sha256 of each by its name."""
    digest = hashlib.sha256()
    for name in sorted(hashes):
        digest.update(f"{name}\0{hashes[name]}\n".encode())
    return f"sha256:{digest.hexdigest()}"
