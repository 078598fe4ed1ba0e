"""The ASGI application: dispatches every request to its handler, injects faults and logs the requests."""

import asyncio
import json
import logging
import re
from dataclasses import asdict, dataclass

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from tests.fake_hub import repositories, transfers  # noqa: F401  (registers the handlers)
from tests.fake_hub.accounts import HubError
from tests.fake_hub.faults import ConnectionCut, FaultList
from tests.fake_hub.routing import ROUTES, Hub
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
        self._router = Router(ROUTES, redirect_slashes=False, default=_find_nothing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, with a matching fault if one is armed."""
        request, path = Request(scope, receive), scope["raw_path"].decode()
        if path.startswith("/_test/"):  # requests of the test itself are neither logged nor broken
            await (await self._control(request))(scope, receive, send)
            return
        has_answered = False

        async def send_and_log(message: Message) -> None:
            nonlocal has_answered
            if message["type"] == "http.response.start" and not has_answered:
                # Before the client receives the response, so that a test always finds the entry in the log.
                has_answered = True
                self._add_to_log(request, path, message["status"])
            await send(message)

        try:
            await self._answer(scope, receive, send_and_log, path)
        except (ConnectionCut, ClientDisconnect) as error:
            if not has_answered:
                self._add_to_log(request, path, None)
            if isinstance(error, ConnectionCut):
                close_connection(scope)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, path: str) -> None:
        method = scope["method"]
        if (fault := self._faults.take(method, path)) is not None:
            await asyncio.sleep(fault.delay)
            if response := fault.response():
                # A client that is still sending may miss the response, so read the whole request.
                async for _ in Request(scope, receive).stream():
                    pass
                await response(scope, receive, send)
                return
            receive, send = fault.break_connection(method, receive, send)
        try:
            if not path.startswith("/"):
                # A proxy request for another server; see `RunningHub.env`.
                raise HubError(403, f"the test hub lets no request out, not to {path}")
            await self._router({**scope, "path": path, "hub": self._hub}, receive, send)
        except HubError as error:
            await error.response()(scope, receive, send)
        except (ConnectionCut, ClientDisconnect):
            raise
        except Exception as error:
            _logger.exception("%s %s", method, path)
            await HubError(500, f"the test hub failed: {error!r}").response()(scope, receive, send)

    def _add_to_log(self, request: Request, path: str, status: int | None) -> None:
        query = request.url.query
        shown = [self._token.sub("***", each) for each in (path, query)]
        self._log.append(LoggedRequest(request.method, *shown, status, shown != [path, query]))

    async def _control(self, request: Request) -> JSONResponse:
        """Return the log of requests, or replace or return the armed faults."""
        if request.url.path == "/_test/requests":
            return JSONResponse([asdict(entry) for entry in self._log])
        if request.method == "POST":
            self._faults.arm(json.loads(await request.body()))
        return JSONResponse([asdict(fault) for fault in self._faults])


async def _find_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise HubError(404, "Sorry, we can't find the page you are looking for.")
