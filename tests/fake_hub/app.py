"""The ASGI application: dispatches every request to its handler, injects faults and logs the requests."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from tests.fake_hub import repositories, transfers
from tests.fake_hub.accounts import HubError
from tests.fake_hub.faults import ConnectionCut, Fault, cut_request, cut_response
from tests.fake_hub.hub import Hub
from tests.fake_hub.routing import Call, find_handler, route
from tests.fake_hub.serving import close_connection

_logger = logging.getLogger(__name__)


class HubApp:
    """The ASGI application."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, with a matching fault if one is armed."""
        request = Request(scope, receive)
        raw_path: str = scope["raw_path"].decode()
        if raw_path.startswith("/_test/"):  # requests of the test itself are neither logged nor broken
            await self._answer(request, raw_path, send)
            return
        recorder = _Recorder(self._hub, request, send)
        fault = self._hub.faults.take(request.method, raw_path)
        try:
            if fault is None:
                await self._answer(request, raw_path, recorder.send)
            else:
                await self._answer_with_fault(fault, request, raw_path, recorder.send)
        except ConnectionCut:
            recorder.record(None)
            close_connection(scope)
        except ClientDisconnect:
            recorder.record(None)

    async def _answer(self, request: Request, raw_path: str, send: Send) -> None:
        response = await self._response(request, raw_path)
        await response(request.scope, request.receive, send)

    async def _answer_with_fault(self, fault: Fault, request: Request, raw_path: str, send: Send) -> None:
        await asyncio.sleep(fault.delay)
        if response := fault.response():
            # A client that is still sending may miss the response, so read the whole request.
            async for _ in request.stream():
                pass
            await response(request.scope, request.receive, send)
            return
        receive = request.receive
        if (limit := fault.bytes_until_cut("request", request.method)) is not None:
            receive = cut_request(receive, limit)
        if (limit := fault.bytes_until_cut("response", request.method)) is not None:
            send = cut_response(send, limit)
        await self._answer(Request(request.scope, receive), raw_path, send)

    async def _response(self, request: Request, raw_path: str) -> Response:
        found = find_handler(_ROUTES, request.method, raw_path)
        try:
            if not raw_path.startswith("/"):
                # A proxy request for another server; see `client_environment`.
                raise HubError(403, f"the test hub lets no request out, not to {raw_path}")
            if found is None:
                raise HubError(404, "Sorry, we can't find the page you are looking for.")
            handler, parts = found
            return await handler(Call(self._hub, request, parts))
        except HubError as error:
            return error.response()
        except (ConnectionCut, ClientDisconnect):
            raise
        except Exception as error:
            _logger.exception("%s %s", request.method, raw_path)
            return HubError(500, f"the test hub failed: {error!r}").response()


class _Recorder:
    """Forwards a response and logs the request as soon as the status is known.

    The entry is written before the client receives the response, so a test always finds it in the log.
    """

    def __init__(self, hub: Hub, request: Request, send: Send) -> None:
        self._hub = hub
        self._request = request
        self._send = send
        self._started = time.perf_counter()
        self._is_recorded = False

    async def send(self, message: Message) -> None:
        """Forward a message."""
        if message["type"] == "http.response.start":
            self.record(message["status"])
        await self._send(message)

    def record(self, status: int | None) -> None:
        """Log the request, at most once."""
        if not self._is_recorded:
            self._is_recorded = True
            self._hub.log.add(self._request, status, 1000 * (time.perf_counter() - self._started))


async def accept_telemetry(call: Call) -> Response:
    """Accept telemetry and ignore it."""
    return JSONResponse({})


async def arm_faults(call: Call) -> Response:
    """Replace the armed faults."""
    try:
        call.hub.faults.arm(await call.json())
    except (TypeError, ValueError) as error:  # an unknown field, invalid values or an invalid regular expression
        raise HubError(400, str(error)) from error
    return await list_faults(call)


async def list_faults(call: Call) -> Response:
    """List the faults that are still armed."""
    return JSONResponse([vars(fault) for fault in call.hub.faults.armed()])


async def clear_faults(call: Call) -> Response:
    """Disarm all faults."""
    call.hub.faults.arm([])
    return JSONResponse([])


async def list_requests(call: Call) -> Response:
    """Return the request log, one JSON object per line."""
    return PlainTextResponse(call.hub.log.text(), media_type="application/x-ndjson")


_ROUTES = [
    *repositories.ROUTES,
    *transfers.ROUTES,
    route("GET", "/api/telemetry/{any}", accept_telemetry),
    route("POST", "/v1/telemetry", accept_telemetry),
    route("POST", "/_test/faults", arm_faults),
    route("GET", "/_test/faults", list_faults),
    route("DELETE", "/_test/faults", clear_faults),
    route("GET", "/_test/requests", list_requests),
]
