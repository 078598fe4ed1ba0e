"""What a pipeline found in sentences, kept on disk: one SQLite file a kind of finding and a pipeline."""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from unbag.files import cache_folder

_AT_ONCE: Final = 500  # below SQLite's limit of variables


class Store:
    """Findings by sentence. Several processes may share one; a killed process leaves no half of a batch."""

    def __init__(self, kind: str, identity: str, folder: Path | None = None) -> None:
        """Open the store, or begin one.

        Args:
            kind: what is kept, e.g. `tags`.
            identity: what made it; findings of another identity are never mixed in.
            folder: where it lies; by default `unbag/<kind>` in the user's cache folder.
        """
        folder = folder or cache_folder(kind)
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._kind = kind
        self._connection = sqlite3.connect(folder / f"{name}.sqlite", timeout=60)
        columns = "(sentence TEXT PRIMARY KEY, found)"
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS {kind} {columns} WITHOUT ROWID")

    def get(self, sentences: Sequence[str]) -> dict[str, Any]:
        """Return what is known of each sentence, those unknown left out."""
        known: dict[str, Any] = {}
        for start in range(0, len(sentences), _AT_ONCE):
            some = sentences[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            known.update(self._connection.execute(f"SELECT * FROM {self._kind} WHERE sentence IN ({marks})", some))
        return known

    def put(self, findings: Iterable[tuple[str, str | bytes]]) -> None:
        """Keep findings by sentence: all of them, or none if it fails."""
        with self._connection:
            self._connection.executemany(f"INSERT OR REPLACE INTO {self._kind} VALUES (?, ?)", findings)
