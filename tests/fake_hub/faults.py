"""Injected faults: status 503 and 429, delays, broken connections, and pages in place of data.

A test arms faults, and each matching request uses one up.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Send


@dataclass(eq=False)
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

    def response(self) -> Response | None:
        """Build the response that replaces the normal one. Return None if there is none."""
        if self.content is not None:
            return Response(self.content, self.status or 200, dict(self.headers), self.content_type)
        if self.status is None:
            return None
        return JSONResponse({"error": self.body}, self.status, {"X-Error-Message": self.body, **self.headers})

    def break_connection(self, method: str, receive: Receive, send: Send) -> tuple[Receive, Send]:
        """Wrap `receive` or `send` so that the connection breaks after `cut` bytes."""
        if self.cut is None:
            return receive, send
        if (self.cut_in or ("request" if method in ("POST", "PUT", "PATCH") else "response")) == "request":
            return _cut_request(receive, self.cut), send
        return receive, _cut_response(send, self.cut)


class FaultList(list[Fault]):
    """The faults that are still armed."""

    def arm(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Replace the armed faults."""
        self[:] = [Fault(**document) for document in documents]

    def take(self, method: str, raw_path: str) -> Fault | None:
        """Use up and return the first fault that matches a request."""
        for fault in self:
            if not re.fullmatch(fault.method, method) or not re.search(fault.path, raw_path):
                continue
            if fault.after:
                fault.after -= 1
                continue
            fault.times -= 1
            if not fault.times:
                self.remove(fault)
            return fault
        return None


class ConnectionCut(Exception):
    """The connection must be closed without a further response."""


def _cut_request(receive: Receive, limit: int) -> Receive:
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


def _cut_response(send: Send, limit: int) -> Send:
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
