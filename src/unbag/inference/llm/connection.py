"""Connection to an LLM endpoint: URL, API key, retries, and error messages."""

import os
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from unbag.utils.redaction import extract_first_line, redact

try:
    import httpx
    import openai
except ImportError as error:
    raise ImportError("an endpoint requires the openai client: pip install 'unbag[llm]'") from error

__all__ = [
    "KEY",
    "RETRIES",
    "EndpointConnection",
    "EndpointError",
    "httpx",
    "openai",
    "shorten_client_error",
]

KEY: Final = "OPENAI_API_KEY"
RETRIES: Final = 8
"""Maximum number of retries after a temporary error (429, 5xx) or a broken connection. The wait is the time in
`Retry-After`, up to two minutes; otherwise 0.5 s, doubled after each retry up to 8 s: 40 s in total."""

_LONGEST_URL: Final = 2_000  # characters; the client rejects URLs of some ten thousand


class EndpointError(ValueError):
    """Error for an endpoint that is unreachable, rejects a request, or returns an unexpected format."""


class EndpointConnection(NamedTuple):
    """Client for an LLM endpoint, which retries after temporary errors, with its URL."""

    client: "openai.OpenAI"
    base_url: str  # without a slash at its end

    @classmethod
    def open(cls, base_url: str | None, *, retries: int = RETRIES) -> "EndpointConnection":
        """Create a client for a URL without sending a request. Raises `EndpointError` if the URL is invalid."""
        address = _validate_url(base_url)
        try:
            client = openai.OpenAI(
                api_key=os.environ.get(KEY) or "none",  # the client requires a key
                base_url=address,
                max_retries=retries,
                # A redirect could send the pairs and the key to another host.
                http_client=openai.DefaultHttpxClient(follow_redirects=False),
            )
        except Exception as error:  # the HTTP client's error for an invalid host name derives from Exception directly
            raise EndpointError(
                f"--base-url: expected a URL such as http://localhost:8000/v1, got {address!r:.200} "
                f"({extract_first_line(error)}); correct it"
            ) from error
        return cls(client, str(client.base_url).rstrip("/"))

    def describe_error_response(self, model: str, error: "openai.APIStatusError", *, url_suffix: str = "/v1") -> str:
        """Describe an HTTP error response, and suggest a fix. `url_suffix` is the usual end of the address."""
        what = f"{self.base_url} responded with {error.status_code} to {model}: {shorten_client_error(error)}"
        if error.status_code in (401, 403):
            return f"{what}; set {KEY} in the environment to a key with access to the model"
        if HTTPStatus.MULTIPLE_CHOICES <= error.status_code < HTTPStatus.BAD_REQUEST:
            to = urlsplit(error.response.headers.get("location", ""))
            there = f"{to.scheme}://{to.hostname}{to.path}" if to.hostname else "another path"
            return (
                f"{self.base_url} responded with {error.status_code}, a redirect to {there}, which unbag does not "
                "follow; pass that URL as --base-url if you trust it"
            )
        if error.status_code == 404:
            return f"{what}; check the model's name and --base-url, which usually ends in {url_suffix}"
        if error.status_code == 429:
            return f"{what}; reduce --concurrency and run the same command again to continue"
        return f"{what}; run the same command again to continue"


def shorten_client_error(error: Exception) -> str:
    """Shorten the message of an API client error to its first line."""
    return extract_first_line(error, max_length=300)


def _validate_url(base_url: str | None) -> str:
    if not base_url:
        raise EndpointError(
            "--base-url: expected the URL of the endpoint, got none; pass a URL such as --base-url "
            "http://localhost:8000/v1"
        )
    # `urlsplit` drops line breaks and tabs, which the client would reject later with an error of its own.
    for position, character in enumerate(base_url, start=1):
        if character == " " or not character.isprintable():
            raise EndpointError(  # the message omits the address, which may hold a password
                f"--base-url: expected a URL such as http://localhost:8000/v1, got {character!r} at position "
                f"{position}; remove it"
            )
    try:
        parts = urlsplit(base_url)
        # A connection encodes the host the same way: it fails for an empty label or one of more than 63 characters.
        (parts.hostname or "").encode("idna")
        # The property `port` raises for an invalid port.
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # invalid brackets or port; the `UnicodeError` of a host name is a ValueError too
        is_address = False
    if not is_address or len(base_url) > _LONGEST_URL:
        raise EndpointError(
            f"--base-url: expected a URL such as http://localhost:8000/v1, got {redact(base_url)!r:.200}"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(  # the address is recorded with the results
            f"--base-url: expected a URL without user name, password or query, got one for {parts.hostname}; "
            f"set the key as {KEY} in the environment"
        )
    return base_url
