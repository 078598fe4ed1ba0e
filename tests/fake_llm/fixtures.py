"""Fixture with an endpoint, which serves the whole session."""

from collections.abc import Iterator

import pytest

from tests.fake_llm import RunningEndpoint, running_endpoint


@pytest.fixture(scope="session")
def _endpoint() -> Iterator[RunningEndpoint]:
    with running_endpoint() as running:
        yield running


@pytest.fixture
def endpoint(_endpoint: RunningEndpoint, empty_caches: None, monkeypatch: pytest.MonkeyPatch) -> RunningEndpoint:
    """Return an endpoint with default settings and no requests. Clients store no answers yet and retry at once."""
    client = pytest.importorskip("openai._base_client", reason="needs unbag[llm]")
    monkeypatch.setattr(client, "INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr(client, "MAX_RETRY_DELAY", 0.02)
    _endpoint.reset()
    return _endpoint
