"""Keys of stored predictions: a hash of all that decides the numbers."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from unbag.inference.store import SCHEMA


def key_material(
    identity: Mapping[str, str] | None,
    parts: Sequence[str],
    *,
    rows: int,
    chunk_rows: int,
    label_space: Sequence[str],
) -> dict[str, Any]:
    """Return all that decides stored predictions, as a manifest shows it.

    Args:
        identity: the predictor's.
        parts: the hash of the rows of each part, in their order.
        rows: rows of the data.
        chunk_rows: rows a part; batches do not reach across parts, so it decides the last bits.
        label_space: the predictor's labels.
    """
    return {
        "schema": SCHEMA,
        "identity": None if identity is None else dict(identity),
        "content": hashlib.sha256("\n".join(parts).encode()).hexdigest(),
        "rows": rows,
        "chunk_rows": chunk_rows,
        "space": list(label_space),
    }


def store_key(material: Mapping[str, Any]) -> str:
    """Return the key for what `key_material` returned; for an unknown predictor one that nobody will find again."""
    if material["identity"] is None:
        return f"once-{uuid.uuid4().hex}"
    return hashlib.sha256(json.dumps(material, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
