"""Tests without access to the Hub: cached files are used at once, and missing files are reported at once."""

import http.server
import socket
import threading
import time

import pytest
from huggingface_hub import constants, is_offline_mode

from unbag.data import readers
from unbag.utils import offline
from unbag.utils.offline import use_cache_if_unreachable


@pytest.fixture
def endpoint(monkeypatch):
    """Return an address without a server."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(offline, "_last", {})
        yield address


@pytest.fixture
def waits(monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def test_unreachable_hub_is_reported_once_within_seconds(endpoint, waits, caplog):
    for _ in range(3):
        with use_cache_if_unreachable() as reason, use_cache_if_unreachable() as inner:
            assert is_offline_mode()
            assert endpoint in reason
            assert inner == reason
        assert not is_offline_mode(), "only within"
    assert sum(waits) <= 3
    assert len(caplog.records) == 1


def test_missing_corpus_is_reported_without_hub(endpoint, waits):
    with pytest.raises(
        readers.DataError, match=rf"org/pairs, split test: expected a local copy, got none, and {endpoint} cannot"
    ):
        readers.open_hub_table("org/pairs", None, "test", "a" * 40)
    assert sum(waits) <= 3, "the clients' own tries would take 23 s"


def test_hub_with_error_response_counts_as_reachable(endpoint, monkeypatch):
    # answers all requests with 501
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.handle_request, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    with use_cache_if_unreachable() as reason:
        assert reason == ""
        assert not is_offline_mode()
    server.server_close()
    with use_cache_if_unreachable() as reason:  # the result is cached, so that later errors are retried as usual
        assert reason == ""


def test_explicit_offline_mode_is_kept(endpoint, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with use_cache_if_unreachable() as reason:
        assert reason == ""
        assert is_offline_mode()
    assert is_offline_mode()
