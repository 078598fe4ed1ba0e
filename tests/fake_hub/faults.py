"""Injected faults: status 503 and 429, delays, broken connections, and pages in place of data.

A test arms faults, and each matching request uses one up. This module contains the fault that tests create, and the
list of armed faults in the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Send

_METHODS_WITH_CONTENT = ("POST", "PUT", "PATCH")


@dataclass
class Fault:
    """A fault, the requests that it matches, and their number.

    Attributes:
        path: a regular expression that is searched in the path (as sent: `refs%2Fpr%2F1`).
        method: a regular expression for the whole method.
        times: the number of requests that fail.
        after: the number of matching requests that succeed before.
        delay: seconds to wait before the response.
        status: the status of a response that replaces the normal one.
        headers: the headers of that response, such as `{"Retry-After": "1"}`.
        body: the error message of that response.
        content: the whole body of that response, such as the login page of a network. With it, the default
            status is 200.
        content_type: the Content-Type of `content`.
        cut: the number of bytes of content after which the connection is closed.
        cut_in: "request" or "response". By default, the request if the method sends
            content, else the response. `cut=0, cut_in="response"` loses the response to a completed request.
    """

    path: str = ""
    method: str = ".*"
    times: int = 1
    after: int = 0
    delay: float = 0.0
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = "an armed fault"
    content: str | None = None
    content_type: str = "text/html"
    cut: int | None = None
    cut_in: Literal["request", "response"] | None = None

    def __post_init__(self) -> None:
        if self.content is not None and self.status is None:
            self.status = 200
        if self.status is None and self.cut is None and not self.delay:
            raise ValueError(f"a fault needs a status, a cut or a delay: {self}")
        if self.status is not None and self.cut is not None:
            raise ValueError(f"a fault either answers a status or cuts the connection: {self}")
        for pattern in (self.method, self.path):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error

    def fits(self, method: str, raw_path: str) -> bool:
        """Check whether the fault matches a request."""
        return self.times > 0 and bool(re.fullmatch(self.method, method)) and bool(re.search(self.path, raw_path))

    def response(self) -> Response | None:
        """Build the response that replaces the normal one. Return None if there is none."""
        if self.status is None:
            return None
        if self.content is not None:
            return Response(self.content, self.status, dict(self.headers), self.content_type)
        return JSONResponse({"error": self.body}, self.status, {"X-Error-Message": self.body, **self.headers})

    def bytes_until_cut(self, side: Literal["request", "response"], method: str) -> int | None:
        """Return the number of bytes after which the connection is closed on one side, or None."""
        default = "request" if method in _METHODS_WITH_CONTENT else "response"
        return self.cut if side == (self.cut_in or default) else None


class FaultList:
    """The list of armed faults."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def arm(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Replace the armed faults."""
        self._faults = [Fault(**document) for document in documents]

    def armed(self) -> list[Fault]:
        """Return the faults that are still armed."""
        return [fault for fault in self._faults if fault.times > 0]

    def take(self, method: str, raw_path: str) -> Fault | None:
        """Use up and return the first fault that matches a request."""
        for fault in self._faults:
            if not fault.fits(method, raw_path):
                continue
            if fault.after:
                fault.after -= 1
                continue
            fault.times -= 1
            return fault
        return None


class ConnectionCut(Exception):
    """The connection must be closed without a further response."""


def cut_request(receive: Receive, limit: int) -> Receive:
    """Wrap `receive` so that the connection breaks after `limit` bytes of the request."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received >= limit:
            raise ConnectionCut
        return message

    return limited


def cut_response(send: Send, limit: int) -> Send:
    """Wrap `send` so that the connection breaks after `limit` bytes of the response. A limit of 0 also drops the
    status.
    """
    left = limit

    async def limited(message: Message) -> None:
        nonlocal left
        body = message.get("body", b"")
        if message["type"] == "http.response.body" and len(body) >= left:
            await send({"type": "http.response.body", "body": body[:left], "more_body": True})
            raise ConnectionCut
        if limit == 0:
            raise ConnectionCut
        left -= len(body)
        await send(message)

    return limited
