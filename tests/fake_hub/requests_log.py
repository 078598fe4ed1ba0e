"""A record of every request, for tests that ask what a client did: one JSON object a line.

It holds no token, whatever the request held, so it may be shown in the output of a failed test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from starlette.requests import Request

_TOKEN_LIKE = r"hf_\w+"
# `datasets` derives the viewer's address from the Hub's, so it has to do with this Hub. It gets no answer here.
_DATASET_VIEWER = "http://datasets-server.127.0.0.1"


@dataclass(frozen=True)
class LoggedRequest:
    """One request.

    Attributes:
        method: of the request.
        path: as it was sent, percent-encoded. A request that was meant for another server and came here because this
            one is set as proxy has the whole URL here, or `host:port` if the method is CONNECT.
        query: of the URL, without the `?`.
        status: of the answer; None where the connection was cut before there was one.
        authorized: whether there was an Authorization header.
        token_in_url: whether there was a token in the URL, where none belongs.
        host: whom the client thought it was talking to.
        user_agent: the program that it says it is.
        range: the Range header.
        ms: how long the answer took to begin.
    """

    method: str
    path: str
    query: str
    status: int | None
    authorized: bool
    token_in_url: bool
    host: str
    user_agent: str
    range: str | None
    ms: float

    @property
    def is_for_elsewhere(self) -> bool:
        """Whether the request was meant for a server that has nothing to do with this Hub."""
        return not self.path.startswith(("/", _DATASET_VIEWER))


class RequestsLog:
    """The record of one server."""

    def __init__(self, path: Path, tokens: Iterable[str]) -> None:
        self._path = path
        self._token = re.compile("|".join([*map(re.escape, tokens), _TOKEN_LIKE]))
        path.touch()

    def add(self, request: Request, status: int | None, ms: float) -> None:
        """Record a request and its answer."""
        path, query = request.scope["raw_path"].decode(), request.url.query
        entry = LoggedRequest(
            method=request.method,
            path=self._token.sub("***", path),
            query=self._token.sub("***", query),
            status=status,
            authorized="authorization" in request.headers,
            token_in_url=bool(self._token.search(path) or self._token.search(query)),
            host=request.headers.get("host", ""),
            user_agent=request.headers.get("user-agent", ""),
            range=request.headers.get("range"),
            ms=round(ms, 1),
        )
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry)) + "\n")

    def text(self) -> str:
        """Return all lines."""
        return self._path.read_text(encoding="utf-8")


def parse_log(text: str) -> list[LoggedRequest]:
    """Read the lines of a log."""
    return [LoggedRequest(**json.loads(line)) for line in text.splitlines()]
