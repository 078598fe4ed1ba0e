"""Retries of Hub requests, limited in number, with exponential backoff and jitter.

Requests go over httpx or httpx2, whichever huggingface_hub uses.
"""

import importlib
import json
import logging
import random
import time
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeVar

from unbag.utils.redaction import extract_first_line

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError


@cache
def import_hub_http() -> ModuleType:
    """Import the HTTP library of the installed huggingface_hub version (`httpx` or `httpx2`)."""
    from huggingface_hub.errors import HfHubHTTPError

    # The base class of the Hub's errors is the only public indication of the library in use.
    library = next(
        base.__module__.partition(".")[0] for base in HfHubHTTPError.__mro__ if base.__module__.startswith("httpx")
    )
    return importlib.import_module(library)


T = TypeVar("T")

TRIES: Final = 6
_FIRST_WAIT: Final = 1.0  # seconds; doubles at each retry: 1 + 2 + 4 + 8 + 16 covers an outage of half a minute
_LONGEST_WAIT: Final = 310.0  # seconds; the Hub's rate limits apply to windows of five minutes
_LOGGED_FROM: Final = 5.0  # seconds; shorter waits are not logged
_TRANSIENT_STATUS: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_CUT_OFF: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, TimeoutError)
"""Excludes ConnectionError itself, which `datasets` raises after half a minute of retries."""
_OTHER_SIZE: Final = "Consistency check failed"  # huggingface_hub's message for an incomplete file
_OF_XET: Final = "CAS Client Error"  # hf_xet's message for any failure of its storage

logger = logging.getLogger(__name__)


def call_with_retries(function: Callable[[], T], *, tries: int = TRIES, retry_connection_errors: bool = True) -> T:
    """Call a function at most `tries` times, while it fails with transient errors.

    `retry_connection_errors` is whether to retry if there is no connection at all.
    """
    failed = 0
    while True:
        try:
            return function()
        except Exception as error:
            failed += 1
            seconds = compute_wait(error, failed)
            if failed >= tries or seconds is None or not (retry_connection_errors or has_reached_server(error)):
                raise
            wait_before_retry(seconds, error)


def wait_before_retry(seconds: float, error: BaseException) -> None:
    """Wait before a retry, and log a warning if the wait is long."""
    if seconds >= _LOGGED_FROM:
        logger.warning("%s; retrying in %.0f s", extract_first_line(find_http_cause(error) or error), seconds)
    time.sleep(seconds)


def compute_wait(error: BaseException, attempt: int) -> float | None:
    """Compute the seconds to wait before a retry, after `attempt` calls. Return None if a retry cannot succeed."""
    if not is_transient(error):
        return None
    # Without the random factor, all clients rejected at the same time would retry at the same time.
    seconds = _FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(0.5, 1)
    retry_after = read_requested_wait(error)
    if retry_after is not None and retry_after > _LONGEST_WAIT:
        return None
    return max(seconds, retry_after or 0.0)


def is_transient(error: BaseException) -> bool:
    """Check whether an error is transient, so that a retry may succeed."""
    httpx = import_hub_http()
    from huggingface_hub import is_offline_mode
    from huggingface_hub.errors import HfHubHTTPError

    if is_offline_mode():
        return False
    for cause in iter_causes(error):
        if isinstance(cause, HfHubHTTPError | httpx.HTTPStatusError):  # of the Hub, or of any server
            status: int = cause.response.status_code
            return status in _TRANSIENT_STATUS
        if isinstance(cause, (httpx.TransportError, *_CUT_OFF)) or is_malformed_response(cause):
            return True
    return False


def is_malformed_response(error: BaseException) -> bool:
    """Check whether an error indicates a truncated or malformed response, such as a login page instead of JSON."""
    from huggingface_hub.errors import FileMetadataError

    return (
        isinstance(error, json.JSONDecodeError | FileMetadataError | import_hub_http().DecodingError)
        or (isinstance(error, OSError) and _OTHER_SIZE in str(error))
        or (isinstance(error, RuntimeError) and _OF_XET in str(error))
    )


def has_reached_server(error: BaseException) -> bool:
    """Check whether a connection to the server was established, regardless of its response."""
    httpx = import_hub_http()

    return not any(isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout) for cause in iter_causes(error))


def read_requested_wait(error: BaseException) -> float | None:
    """Read the waiting time in seconds from the `Retry-After` or rate-limit headers of the Hub's response."""
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]  # public, lazily

    cause = find_http_cause(error)
    if cause is None:
        return None
    headers = cause.response.headers
    if (after := headers.get("Retry-After", "")).strip().isdecimal():
        return float(after)
    window = parse_ratelimit_headers(headers)
    return None if window is None or window.remaining else float(window.reset_in_seconds)


def find_http_cause(error: BaseException) -> "HfHubHTTPError | None":
    """Find a Hub HTTP error among an error and its causes. Return None if there is none."""
    from huggingface_hub.errors import HfHubHTTPError

    return next((cause for cause in iter_causes(error) if isinstance(cause, HfHubHTTPError)), None)


def iter_causes(error: BaseException) -> Iterator[BaseException]:
    """Iterate over an error and all of its causes (`__cause__` or `__context__`)."""
    visited: set[int] = set()  # a chain of causes may have a cycle
    cause: BaseException | None = error
    while cause is not None and id(cause) not in visited:
        visited.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
