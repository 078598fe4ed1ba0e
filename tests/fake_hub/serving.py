"""The uvicorn server in a thread, extended to close connections."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol


class _ReachableProtocol(H11Protocol):
    """Gives the application access to the connection, since ASGI cannot close one in the middle of a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "connection": transport}  # uvicorn adds this to every scope


def close_connection(scope: Scope) -> None:
    """Close the connection of a request after the bytes that were already sent."""
    connection: asyncio.Transport = scope["state"]["connection"]
    connection.close()


def listen(port: int = 0) -> socket.socket:
    """Bind a port of this machine, or any free port if it is 0. Clients can connect, and wait until `serve` runs."""
    # asyncio disables Nagle's algorithm only for sockets whose protocol is TCP. With it, each response takes 40 ms
    # longer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


@contextmanager
def serve(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """Serve requests in a thread until the block ends."""
    config = uvicorn.Config(
        app,
        http=_ReachableProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="critical",  # hides an error for each closed connection; the applications report the real ones
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
