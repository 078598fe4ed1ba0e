"""The web server around the application: uvicorn, with two wishes that it does not grant by itself."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TextIO

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol


class _ReachableProtocol(H11Protocol):
    """Lets the application reach the connection: ASGI has no way to close one in the middle of a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "connection": transport}  # uvicorn puts this into every scope


def close_connection(scope: Scope) -> None:
    """Close the connection of a request, after what was already sent."""
    connection: asyncio.Transport = scope["state"]["connection"]
    connection.close()


def listen(host: str, port: int) -> socket.socket:
    """Take a port, 0 for any that is free. From now on clients can connect; they wait until `serve` runs."""
    # asyncio turns Nagle's algorithm off only for sockets that say they are TCP; with it, each answer waits for 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener


def serve(app: ASGIApp, listener: socket.socket, *, until_closed: TextIO | None = None) -> None:
    """Answer requests until the process is told to stop, or until a stream is closed."""
    config = uvicorn.Config(
        app,
        http=_ReachableProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",  # uvicorn takes every cut for an error of the application; `HubApp` reports real ones
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    if until_closed is not None:
        threading.Thread(target=_stop_when_closed, args=(server, until_closed), daemon=True).start()
    server.run(sockets=[listener])


def _stop_when_closed(server: uvicorn.Server, stream: TextIO) -> None:
    stream.read()
    server.should_exit = True
