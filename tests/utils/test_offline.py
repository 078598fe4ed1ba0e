"""Where the Hub cannot be reached, what is here is used at once, and what is not is told at once."""

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
    """Give an address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(offline, "_last", {})
        yield address


@pytest.fixture
def waits(monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def test_an_unreachable_hub_is_told_once_in_seconds_and_left_alone(endpoint, waits, caplog):
    for _ in range(3):
        with use_cache_if_unreachable() as reason, use_cache_if_unreachable() as inner:
            assert is_offline_mode()
            assert endpoint in reason
            assert inner == reason
        assert not is_offline_mode(), "only within"
    assert sum(waits) <= 3
    assert len(caplog.records) == 1


def test_a_corpus_that_is_neither_here_nor_to_be_had_is_told_so(endpoint, waits):
    with pytest.raises(
        readers.DataError, match=rf"org/pairs, split test: expected a local copy, got none, and {endpoint} cannot"
    ):
        readers.open_hub_table("org/pairs", None, "test", "a" * 40)
    assert sum(waits) <= 3, "the clients' own tries would take 23 s"


def test_a_hub_that_answers_whatever_it_says_is_reached(endpoint, monkeypatch):
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)  # 501 to all
    threading.Thread(target=server.handle_request, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    with use_cache_if_unreachable() as reason:
        assert reason == ""
        assert not is_offline_mode()
    server.server_close()
    with use_cache_if_unreachable() as reason:  # remembered: what fails later is tried again as ever
        assert reason == ""


def test_who_is_offline_as_asked_stays_so(endpoint, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with use_cache_if_unreachable() as reason:
        assert reason == ""
        assert is_offline_mode()
    assert is_offline_mode()
