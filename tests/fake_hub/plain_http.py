"""Single HTTP requests without a client library: no redirects, no retries, no proxies."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """A response. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request(
    method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None, timeout: float = 10
) -> Answer:
    """Send one request. Raises an exception of `http.client` if the connection is closed early."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
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
