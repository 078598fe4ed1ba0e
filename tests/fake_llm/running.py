"""Start the endpoint in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import uvicorn

from tests.fake_hub.serving import _ReachableProtocol, listen
from tests.fake_llm.app import EndpointApp


class RunningEndpoint(EndpointApp):
    """A running endpoint.

    Attributes:
        base_url: the address for OpenAI clients.
    """

    base_url: str = ""

    def route(self, name: str) -> str:
        """Return the URL of a classification route."""
        return f"{self.base_url.removesuffix('/v1')}/{name}"

    def reset(self) -> None:
        """Restore the initial state."""
        new = EndpointApp()
        for field in fields(EndpointApp):
            setattr(self, field.name, getattr(new, field.name))

    def arm(self, *faults: dict[str, Any]) -> None:
        """Replace the armed faults."""
        self.faults.arm(faults)


@contextmanager
def running_endpoint() -> Iterator[RunningEndpoint]:
    """Run an endpoint on a free port of this machine until the block ends."""
    app = RunningEndpoint()
    listener = listen("127.0.0.1", 0)
    app.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    config = uvicorn.Config(
        app, http=_ReachableProtocol, ws="none", lifespan="off", access_log=False, log_level="critical"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield app
    finally:
        server.should_exit = True
        thread.join(10)
