"""The callers in the tests of the Hub, and single HTTP requests without a client library."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.fake_hub.accounts import ALICE, ALICE_READS, BOB

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def connect_as_alice() -> HfApi:
    """Return a client for a member of `org` with a write token."""
    return _api(ALICE)


def connect_as_alice_read_only() -> HfApi:
    """Return a client for the same member with a read token."""
    return _api(ALICE_READS)


def connect_as_bob() -> HfApi:
    """Return a client for a user outside `org`."""
    return _api(BOB)


def connect_anonymously() -> HfApi:
    """Return a client without a token."""
    return _api(False)


def _api(token: str | bool) -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(token=token)


@dataclass(frozen=True)
class Answer:
    """A response. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request(method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Send one request. Raises an exception of `http.client` if the connection is closed early."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, dict(headers or {}))
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, response.read())
    finally:
        connection.close()


def get(url: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Send a GET request."""
    return request("GET", url, headers=headers)
