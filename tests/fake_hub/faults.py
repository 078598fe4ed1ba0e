"""Broken answers on demand: bursts of 503 and 429, delays, connections cut in the middle, pages where data should be.

A test arms faults; each is used up by the requests it fits. Here are the fault itself, which tests make, and the list
of those that are armed, which the server keeps.
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
    """What shall go wrong, with which requests, and how often.

    Attributes:
        path: a regular expression found anywhere in the path (as sent: `refs%2Fpr%2F1`).
        method: a regular expression for the whole method.
        times: with how many requests.
        after: how many requests that fit go well before.
        delay: seconds to wait first.
        status: answer this, and do nothing else.
        headers: of that answer, such as `{"Retry-After": "1"}`.
        body: the message of that answer.
        content: all of that answer in place of a message, such as a page of a network that wants a login; with it the
            status is 200 unless another is said.
        content_type: what it says it is.
        cut: let this many bytes of content through, then close the connection.
        cut_in: whose content: "request" or "response". If not said, that of the request where the method sends
            content, else that of the response. `cut=0, cut_in="response"` loses the answer to work that was done.
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
        """Whether this request is one to break."""
        return self.times > 0 and bool(re.fullmatch(self.method, method)) and bool(re.search(self.path, raw_path))

    def response(self) -> Response | None:
        """Build the answer to give in place of the right one, if the fault has one."""
        if self.status is None:
            return None
        if self.content is not None:
            return Response(self.content, self.status, dict(self.headers), self.content_type)
        return JSONResponse({"error": self.body}, self.status, {"X-Error-Message": self.body, **self.headers})

    def bytes_until_cut(self, side: Literal["request", "response"], method: str) -> int | None:
        """Return how many bytes a side's content may have before the connection is cut; None if it is not cut there."""
        default = "request" if method in _METHODS_WITH_CONTENT else "response"
        return self.cut if side == (self.cut_in or default) else None


class FaultList:
    """The faults that are armed."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def arm(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Replace whatever was armed."""
        self._faults = [Fault(**document) for document in documents]

    def armed(self) -> list[Fault]:
        """Return the faults that are not used up."""
        return [fault for fault in self._faults if fault.times > 0]

    def take(self, method: str, raw_path: str) -> Fault | None:
        """Use the first fault that fits a request and whose turn it is."""
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
    """The connection has to be closed, with nothing more said."""


def cut_request(receive: Receive, limit: int) -> Receive:
    """Read a request's content, up to a limit."""
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
    """Send a response's content, up to a limit; a limit of 0 keeps the status back too."""
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
