"""Injected faults: status 503 and 429, delays, broken connections, and pages in place of data.

A test arms faults, and each matching request uses one up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Send


@dataclass
class Fault:
    """A fault, the requests that it matches, and their number."""

    path: str = ""  # a regular expression that is searched in the path (as sent: `refs%2Fpr%2F1`)
    method: str = ".*"  # a regular expression for the whole method
    times: int = 1  # number of requests that fail
    after: int = 0  # number of matching requests that succeed before
    delay: float = 0.0  # seconds to wait before the response
    status: int | None = None  # status of a response that replaces the normal one
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = "an armed fault"  # error message of that response
    content: str | None = None
    """The whole body of that response, such as the login page of a network. With it, the default status is 200."""
    content_type: str = "text/html"
    cut: int | None = None  # number of bytes of content after which the connection is closed
    cut_in: Literal["request", "response"] | None = None
    """By default, the request if the method sends content, else the response. `cut=0, cut_in="response"` loses the
    response to a completed request."""

    def fits(self, method: str, raw_path: str) -> bool:
        """Check whether the fault matches a request."""
        return self.times > 0 and bool(re.fullmatch(self.method, method)) and bool(re.search(self.path, raw_path))

    def response(self) -> Response | None:
        """Build the response that replaces the normal one. Return None if there is none."""
        if self.content is not None:
            return Response(self.content, self.status or 200, dict(self.headers), self.content_type)
        if self.status is None:
            return None
        return JSONResponse({"error": self.body}, self.status, {"X-Error-Message": self.body, **self.headers})

    def bytes_until_cut(self, side: Literal["request", "response"], method: str) -> int | None:
        """Return the number of bytes after which the connection is closed on one side, or None."""
        default = "request" if method in ("POST", "PUT", "PATCH") else "response"
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
    """Wrap `send` so that the connection breaks after `limit` bytes of the response, or before the status if 0."""
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
