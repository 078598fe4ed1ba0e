"""Start the endpoint in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from tests.fake_hub.serving import listen, serve
from tests.fake_llm.app import EndpointApp


class RunningEndpoint(EndpointApp):
    """A running endpoint."""

    base_url: str = ""  # address for OpenAI clients

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
    listener = listen()
    app.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    with serve(app, listener):
        yield app
