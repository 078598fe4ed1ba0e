"""Answers of an endpoint on disk, each as soon as it is there: what was paid for once is not asked again."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from unbag.utils.sqlite_cache import Kept


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
        self._kept = Kept(path, "kept_answers", wal=True)

    def get(self, key: str) -> Answer | None:
        """Return the answer to what was asked, if it is there."""
        kept = self._kept.get([key])
        if key not in kept:
            return None
        text, top, *rest = json.loads(kept[key])
        return Answer(text, tuple((token, log) for token, log in top), *rest)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; where another process was faster, its stays."""
        self._kept.put([(key, json.dumps(answer, ensure_ascii=False))], replace=False)

    def __len__(self) -> int:
        return len(self._kept)


def request_key(base_url: str, request: Mapping[str, Any]) -> str:
    """Return the key of a request to an endpoint."""
    content = json.dumps([base_url, request], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()
