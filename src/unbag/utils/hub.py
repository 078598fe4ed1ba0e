"""Reads from the Hub with retries, and one-line errors with the host, the file and a fix."""

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit

from unbag.utils.errors import is_disk_full
from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.retries import (
    call_with_retries,
    find_http_cause,
    import_hub_http,
    is_malformed_response,
    iter_causes,
    read_requested_wait,
)

READ_TRIES: Final = 4  # in addition to the clients' retries, which cover server errors of the Hub
_CHECK_PROXY: Final = "the response may come from a login page or a proxy; check the network and HF_ENDPOINT"
_LOG_IN: Final = "log in with `hf auth login`, or set HF_TOKEN"
_AGAIN: Final = "check the network and HF_ENDPOINT, and rerun the command"
_UNREADABLE: Final = (AttributeError, IndexError, KeyError, TypeError)
"""Exceptions that the clients raise for JSON with an unexpected structure."""

T = TypeVar("T")


class HubReadError(ValueError):
    """Error for a failed read from the Hub. The message contains the host, the file and a fix."""


def read_from_hub(
    description: str, function: Callable[[], T], *, tries: int = READ_TRIES, retry_connection_errors: bool = False
) -> T:
    """Call a function that reads from the Hub, and retry transient failures.

    Args:
        description: Name of the object for messages, such as `the dataset org/name`.
        function: Function that reads it. It must not modify the Hub, since it may be called several times.
        tries: Maximum number of calls (default: 4).
        retry_connection_errors: Whether to retry if there is no connection (default: no). See
            `utils.retries.call_with_retries`.

    Raises:
        HubReadError: If the network fails, the Hub has a server error, or the response is malformed.
        Exception: Any other error of the call, for example for a missing or private repository.
    """
    try:
        return call_with_retries(function, tries=tries, retry_connection_errors=retry_connection_errors)
    except HubReadError:
        raise
    except Exception as error:
        reason = describe_hub_failure(error)
        if reason is None:
            raise
        raise HubReadError(f"{description}: {reason}") from error


def describe_missing_repo(error: BaseException, kind: str, name: str) -> str | None:
    """Build the message for a missing, private or gated repository. Return None for other errors.

    Args:
        error: Error of the client.
        kind: Type of the repository, such as `model`.
        name: Id of the repository.
    """
    from huggingface_hub import get_token
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    def is_missing(cause: BaseException) -> bool:
        # A mirror may respond with a plain 404, without the code by which the client detects a missing repository.
        plain = type(cause) is HfHubHTTPError and cause.response.status_code == 404
        return plain or isinstance(cause, RepositoryNotFoundError)

    chain = list(iter_causes(error))
    if any(isinstance(cause, GatedRepoError) for cause in chain):
        return f"{kind} {name}: expected access, got a gated repository; request access on its page, then {_LOG_IN}"
    if not any(map(is_missing, chain)):
        return None
    # Without read access, the Hub also responds with 404 for a private repository.
    private = (
        f"if it is private, {_LOG_IN}" if get_token() is None else "if it is private, use a token with read access"
    )
    return f"{kind} {name}: expected a repository on the Hub, got none; check the spelling, or {private}"


def describe_hub_failure(error: BaseException) -> str | None:
    """Describe a failure of the network or the Hub, with a fix. Return None for other errors."""
    httpx = import_hub_http()
    from huggingface_hub import is_offline_mode

    if is_offline_mode() or is_disk_full(error):
        return None
    answer = find_http_cause(error)
    if answer is not None and (answer.response.status_code >= 500 or answer.response.status_code in (408, 425, 429)):
        status, url = answer.response.status_code, str(answer.response.request.url)
        message = answer.server_message or answer.response.reason_phrase
        seconds = read_requested_wait(answer)
        when = f"in {seconds:.0f} s" if seconds else "later"
        return f"{_place(url)} responded with {status} ({redact(message)}); rerun the command {when}"
    for cause in iter_causes(error):
        request = getattr(cause, "_request", None)
        place = _place(str(request.url)) if request is not None else _host()
        if isinstance(cause, httpx.TooManyRedirects):
            return f"{place} redirects endlessly ({extract_first_line(cause, max_length=200)}); {_CHECK_PROXY}"
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            host = _host() if request is None else "{0.scheme}://{0.netloc}".format(urlsplit(str(request.url)))
            return f"{redact(host)} cannot be reached ({type(cause).__name__}: {extract_first_line(cause)}); {_AGAIN}"
        if isinstance(cause, httpx.TransportError | ConnectionError | TimeoutError):
            return f"{place} cannot be read ({type(cause).__name__}: {extract_first_line(cause)}); {_AGAIN}"
        if is_malformed_response(cause):
            return f"{place} sent a malformed response ({_summary(cause)}); {_CHECK_PROXY}"
    if isinstance(error, _UNREADABLE):
        return f"{_host()} sent a malformed response ({_summary(error)}); {_CHECK_PROXY}"
    return None


def _summary(error: BaseException) -> str:
    return f"{type(error).__name__}: {extract_first_line(error, max_length=200)}"


def _host() -> str:
    from huggingface_hub import constants

    return redact(constants.ENDPOINT)


def _place(url: str) -> str:
    """Strip the query of a URL, which may contain a signature that grants access."""
    parts = urlsplit(url)
    return redact(f"{parts.scheme}://{parts.netloc}{parts.path}")
