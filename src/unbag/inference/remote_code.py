"""Code that a model's repository brings along: run where the user says so, and recorded; never else."""

import json
from pathlib import Path
from typing import Any

from unbag.inference.revision import revision_of
from unbag.utils.hashing import file_hash


def names_code(folder: Path) -> bool:
    """Tell whether a model's files name code of their own for transformers to run (`auto_map`)."""
    return bool(_auto_maps(folder))


def elsewhere(folder: Path) -> str | None:
    """Return the first class of a model whose code lies in another repository, of which no commit is known.

    >>> elsewhere(Path("/nowhere")) is None
    True
    """
    return next((name for each in _auto_maps(folder) for name in _classes(each) if "--" in name), None)


def code_revision(folder: Path) -> str:
    """Return `sha256:` and a hash of the code beside a model's config: which code it was that was trusted."""
    return revision_of({path.name: file_hash(path) for path in folder.glob("*.py")})


def _auto_maps(folder: Path) -> list[dict[str, Any]]:
    maps = []
    for name in ("config.json", "tokenizer_config.json"):
        try:
            record = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):  # what is wrong with it, its reader says
            continue
        if isinstance(record, dict) and isinstance(record.get("auto_map"), dict) and record["auto_map"]:
            maps.append(record["auto_map"])
    return maps


def _classes(auto_map: dict[str, Any]) -> list[str]:
    """Return the classes that a map names: one, or for a tokenizer a slow and a fast one."""
    values = [each for value in auto_map.values() for each in (value if isinstance(value, list) else [value])]
    return [value for value in values if isinstance(value, str)]
