"""A log of all requests, for tests of client behavior: one JSON object per line.

The log contains no tokens, so it can be shown in the output of a failed test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from starlette.requests import Request

_TOKEN_LIKE = r"hf_\w+"
# `datasets` derives the address of the dataset viewer from the Hub's address. Requests to the viewer get no response
# here.
_DATASET_VIEWER = "http://datasets-server.127.0.0.1"


@dataclass(frozen=True)
class LoggedRequest:
    """One request.

    Attributes:
        method: the HTTP method.
        path: the path as sent, percent-encoded. A request for another server, which arrives here because this
            server is set as proxy, has the whole URL here, or `host:port` if the method is CONNECT.
        query: the query of the URL without `?`.
        status: the status of the response. None if the connection was closed before.
        authorized: whether the request had an Authorization header.
        token_in_url: whether the URL contained a token, which is an error.
        host: the Host header.
        user_agent: the User-Agent header.
        range: the Range header.
        ms: the time until the start of the response, in milliseconds.
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
    def is_for_external_host(self) -> bool:
        """Whether the request was meant for a server other than this Hub."""
        return not self.path.startswith(("/", _DATASET_VIEWER))


class RequestsLog:
    """The log of one server."""

    def __init__(self, path: Path, tokens: Iterable[str]) -> None:
        self._path = path
        self._token = re.compile("|".join([*map(re.escape, tokens), _TOKEN_LIKE]))
        path.touch()

    def add(self, request: Request, status: int | None, ms: float) -> None:
        """Log a request and its response."""
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
    """Parse the lines of a log."""
    return [LoggedRequest(**json.loads(line)) for line in text.splitlines()]
