"""What identifies the files of a model in a folder."""

import hashlib
from pathlib import Path
from typing import Final

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
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _FILES for path in folder.glob(pattern) if path.is_file()}):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.name}\0{content}\n".encode())
    return f"sha256:{digest.hexdigest()}"
