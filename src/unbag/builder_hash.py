"""What decides a set's rows that `datasets` does not know of, as a part of the cache key."""

import hashlib
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from unbag.data.corpora import CORPORA
from unbag.source_config import SourceConfig
from unbag.utils.hashing import file_hash
from unbag.utils.safe_io import require_file

_PACKAGE: Final = Path(__file__).parent
_MAKES_ROWS: Final = (
    *("labels.py", "corpora.py", "sources.py", "columns.py", "plain.py", "builder.py", "official.py", "noted.py"),
    *("source_config.py", "rows.py", "row.py", "file_rows.py", "text_rows.py", "row_starts.py", "parquet_rows.py"),
    *("counter_rng.py", "text", "perturb", "lexical", "natlog", "wordnet"),
    *("scoring/bleu.py", "scoring/pos_minitree.py", "scoring/uncertainty_partitions.py"),
)
"""The code that decides what rows a set has; a change of it makes every cached set stale."""


def builder_hash(builder_file: str, config: type[SourceConfig], options: Mapping[str, Any]) -> str:
    """Return the part of the cache key that `datasets` leaves out: the code, the tokenizer, the user's files.

    Args:
        builder_file: the builder's module; what else is in its folder counts too.
        config: the builder's config class.
        options: the builder's; one of `config.FILES` that names a file or folder counts with its content.
    """
    digest = hashlib.sha256()
    for file in sorted(Path(builder_file).parent.glob("*.py")):  # a set of another package may make its rows there
        digest.update(file.read_bytes())
    for name in _MAKES_ROWS:
        for file in _files(_PACKAGE / name):
            if file.suffix == ".py":
                digest.update(file.read_bytes())
    for package in ("spacy", "jieba"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"absent")
    for option in config.FILES:
        for path in named_files(options.get(option) or getattr(config, option)):
            for file in _files(path) if path.is_dir() else [require_file(path)]:
                digest.update(f"{option}\0{file.relative_to(path)}\0{file_hash(file)}\n".encode())
    return digest.hexdigest()


def named_files(value: Any) -> list[Path]:
    """Return the files and folders that an option names; it may name what is on the Hub instead, and a list corpora."""
    # No `isinstance` of `Path` here: `datasets` puts a class of its own in that name's place when a builder is made.
    names = [name for name in value if name not in CORPORA] if isinstance(value, list | tuple) else [value]
    return [Path(os.fspath(name)) for name in names if name and os.path.exists(name)]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
