"""Answers of an endpoint on disk, each as soon as it is there: what was paid for once is not asked again."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

_PATIENCE: Final = 60.0  # seconds that a process waits for another's write


class Answer(NamedTuple):
    """What an endpoint answered.

    Attributes:
        text: what it says.
        top: its likeliest first tokens with their log-probabilities; empty where it gives none.
        finish: why it stopped: `stop`, `length`, …
        tokens_in: tokens of the question, as the endpoint counts them; 0 where it does not.
        tokens_out: tokens of the answer.
    """

    text: str
    top: tuple[tuple[str, float], ...]
    finish: str
    tokens_in: int
    tokens_out: int


class AnswerCache:
    """Answers by what was asked, in one SQLite file; for any number of threads and processes.

    The key is a hash of the endpoint's address and the whole request, model and parameters included. A model that is
    changed behind its name is not noticed: remove the file to ask anew.

    Args:
        path: the file; made where absent.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
        self._file.execute("PRAGMA journal_mode = WAL")  # a killed writer leaves whole answers
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, "
            "asked TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        )

    def get(self, key: str) -> Answer | None:
        """Return the answer to what was asked, if it is there."""
        with self._lock:
            row = self._file.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        text, top, *rest = json.loads(row[0])
        return Answer(text, tuple((token, log) for token, log in top), *rest)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; where another process was faster, its stays."""
        with self._lock:
            self._file.execute(
                "INSERT OR IGNORE INTO answers (key, answer) VALUES (?, ?)",
                (key, json.dumps(answer, ensure_ascii=False)),
            )

    def __len__(self) -> int:
        with self._lock:
            return int(self._file.execute("SELECT COUNT(*) FROM answers").fetchone()[0])


def request_key(base_url: str, request: Mapping[str, Any]) -> str:
    """Return the key of a request to an endpoint."""
    content = json.dumps([base_url, request], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()
