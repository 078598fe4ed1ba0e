"""The ASGI application: dispatches every request to its handler, injects faults and logs the requests."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import asdict, dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from tests.fake_hub import repositories, transfers  # noqa: F401  (registers the handlers)
from tests.fake_hub.accounts import HubError
from tests.fake_hub.faults import ConnectionCut, FaultList, cut_request, cut_response
from tests.fake_hub.routing import Call, Hub, find_handler, route
from tests.fake_hub.serving import close_connection

_logger = logging.getLogger(__name__)
# `datasets` derives the address of the dataset viewer from the Hub's address. Requests to the viewer get no response
# here.
_DATASET_VIEWER = "http://datasets-server.127.0.0.1"


@dataclass(frozen=True)
class LoggedRequest:
    """One request. Contains no tokens, so it can be shown in the output of a failed test."""

    method: str
    path: str
    """The path as sent, percent-encoded. A request for another server, which arrives here because this server is set as
    proxy, has the whole URL here, or `host:port` if the method is CONNECT."""
    query: str
    status: int | None  # None if the connection was closed before
    token_in_url: bool  # whether the URL contained a token, which is an error

    @property
    def is_for_external_host(self) -> bool:
        """Whether the request was meant for a server other than this Hub."""
        return not self.path.startswith(("/", _DATASET_VIEWER))


class HubApp:
    """The ASGI application."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._faults = FaultList()
        self._log: list[LoggedRequest] = []
        self._token = re.compile("|".join([*map(re.escape, hub.tokens), r"hf_\w+"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, with a matching fault if one is armed."""
        request = Request(scope, receive)
        raw_path: str = scope["raw_path"].decode()
        if raw_path.startswith("/_test/"):  # requests of the test itself are neither logged nor broken
            await (await self._control(request))(scope, receive, send)
            return
        has_answered = False

        async def send_and_log(message: Message) -> None:
            nonlocal has_answered
            if message["type"] == "http.response.start" and not has_answered:
                # Before the client receives the response, so that a test always finds the entry in the log.
                has_answered = True
                self._add_to_log(request, raw_path, message["status"])
            await send(message)

        try:
            await self._answer(request, raw_path, send_and_log)
        except (ConnectionCut, ClientDisconnect) as error:
            if not has_answered:
                self._add_to_log(request, raw_path, None)
            if isinstance(error, ConnectionCut):
                close_connection(scope)

    async def _answer(self, request: Request, raw_path: str, send: Send) -> None:
        if (fault := self._faults.take(request.method, raw_path)) is not None:
            await asyncio.sleep(fault.delay)
            if response := fault.response():
                # A client that is still sending may miss the response, so read the whole request.
                async for _ in request.stream():
                    pass
                await response(request.scope, request.receive, send)
                return
            if (limit := fault.bytes_until_cut("request", request.method)) is not None:
                request = Request(request.scope, cut_request(request.receive, limit))
            if (limit := fault.bytes_until_cut("response", request.method)) is not None:
                send = cut_response(send, limit)
        response = await self._respond(request, raw_path)
        await response(request.scope, request.receive, send)

    async def _respond(self, request: Request, raw_path: str) -> Response:
        try:
            if not raw_path.startswith("/"):
                # A proxy request for another server; see `RunningHub.env`.
                raise HubError(403, f"the test hub lets no request out, not to {raw_path}")
            handler, parts = find_handler(request.method, raw_path)
            return await handler(Call(self._hub, request, parts))
        except HubError as error:
            return error.response()
        except (ConnectionCut, ClientDisconnect):
            raise
        except Exception as error:
            _logger.exception("%s %s", request.method, raw_path)
            return HubError(500, f"the test hub failed: {error!r}").response()

    def _add_to_log(self, request: Request, path: str, status: int | None) -> None:
        query = request.url.query
        shown = [self._token.sub("***", each) for each in (path, query)]
        self._log.append(LoggedRequest(request.method, *shown, status, shown != [path, query]))

    async def _control(self, request: Request) -> Response:
        """Return the log of requests, or replace or return the armed faults."""
        if request.url.path == "/_test/requests":
            return JSONResponse([asdict(entry) for entry in self._log])
        if request.method == "POST":
            self._faults.arm(json.loads(await request.body()))
        return JSONResponse([asdict(fault) for fault in self._faults.armed()])


@route("GET", "/api/telemetry/{any}")
@route("POST", "/v1/telemetry")
async def accept_telemetry(call: Call) -> Response:
    return JSONResponse({})
