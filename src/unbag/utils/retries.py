"""Retries of requests to the Hub: bounded, with growing random waits.

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

from unbag.utils.redaction import first_line

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError


@cache
def hub_http() -> ModuleType:
    """Return the module whose exceptions huggingface_hub's own calls raise: `httpx` or `httpx2`, by its version."""
    from huggingface_hub.errors import HfHubHTTPError

    # The one public thing that tells: what an error of the Hub is derived from.
    library = next(
        base.__module__.partition(".")[0] for base in HfHubHTTPError.__mro__ if base.__module__.startswith("httpx")
    )
    return importlib.import_module(library)


T = TypeVar("T")

TRIES: Final = 6
_FIRST_WAIT: Final = 1.0  # seconds; doubled each time: 1 + 2 + 4 + 8 + 16 is half a minute of a Hub that is down
_LONGEST_WAIT: Final = (
    310.0  # the Hub counts requests in windows of five minutes; who asks for more is told to come back
)
_LOGGED_FROM: Final = 5.0  # seconds; nobody wonders about a shorter wait
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_CUT_OFF: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, TimeoutError)
"""Not every ConnectionError: `datasets` raises a bare one after it has tried for half a minute."""
_OTHER_SIZE: Final = "Consistency check failed"  # huggingface_hub's, of a file that did not arrive whole
_OF_XET: Final = "CAS Client Error"  # hf_xet's, of its storage, whatever that answered

logger = logging.getLogger(__name__)


def with_retries(call: Callable[[], T], *, tries: int = TRIES, unreachable: bool = True) -> T:
    """Return what a call returns, made again while it fails for reasons that pass.

    Args:
        call: what is to be done.
        tries: how often at most.
        unreachable: whether to try again, too, where no connection is made at all.

    Raises:
        Exception: what the call raised, the last time or when it was for good.
    """
    failed = 0
    while True:
        try:
            return call()
        except Exception as error:
            failed += 2 if _was_tried_again(error) else 1
            seconds = wait_before_next(error, failed)
            if failed >= tries or seconds is None or not (unreachable or was_reached(error)):
                raise
            pause(seconds, error)


def _was_tried_again(error: BaseException) -> bool:
    """Tell whether the client tried for half a minute by itself, as it does where it asks what a file is."""
    answer = http_cause(error)
    return answer is not None and answer.response.request.method == "HEAD"


def pause(seconds: float, error: BaseException) -> None:
    """Wait, and say so if it is long."""
    if seconds >= _LOGGED_FROM:
        logger.warning("%s; trying again in %.0f s", first_line(http_cause(error) or error), seconds)
    time.sleep(seconds)


def wait_before_next(error: BaseException, attempt: int) -> float | None:
    """Return how many seconds to wait after a failure; None if it makes no sense to try again.

    Args:
        error: what failed.
        attempt: how often it was tried, from 1.
    """
    if not passes(error):
        return None
    seconds = _FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(0.5, 1)  # else all who were refused come back at once
    retry_after = asked_wait(error)
    if retry_after is not None and retry_after > _LONGEST_WAIT:
        return None
    return max(seconds, retry_after or 0.0)


def passes(error: BaseException) -> bool:
    """Tell whether a failure may be over when the call is made again."""
    httpx = hub_http()
    from huggingface_hub import is_offline_mode
    from huggingface_hub.errors import HfHubHTTPError

    if is_offline_mode():
        return False
    for cause in causes(error):
        if isinstance(cause, HfHubHTTPError | httpx.HTTPStatusError):  # the Hub's, or any server's
            status: int = cause.response.status_code
            return status in _PASSING
        if isinstance(cause, (httpx.TransportError, *_CUT_OFF)) or is_nonsense(cause):
            return True
    return False


def is_nonsense(error: BaseException) -> bool:
    """Tell whether an error means that an answer was cut short or is something else, such as somebody's login page."""
    httpx = hub_http()
    from huggingface_hub.errors import FileMetadataError

    if isinstance(error, json.JSONDecodeError | FileMetadataError | httpx.DecodingError):
        return True
    return (isinstance(error, OSError) and _OTHER_SIZE in str(error)) or (
        isinstance(error, RuntimeError) and _OF_XET in str(error)
    )


def was_reached(error: BaseException) -> bool:
    """Tell whether whoever was asked answered at all, however badly."""
    httpx = hub_http()

    return not any(isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout) for cause in causes(error))


def asked_wait(error: BaseException) -> float | None:
    """Return how many seconds the Hub asks to wait (Retry-After, or the end of its window), if it does."""
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]  # public, lazily

    cause = http_cause(error)
    if cause is None:
        return None
    headers = cause.response.headers
    if (after := headers.get("Retry-After", "")).strip().isdigit():
        return float(after)
    window = parse_ratelimit_headers(headers)
    return None if window is None or window.remaining else float(window.reset_in_seconds)


def http_cause(error: BaseException) -> "HfHubHTTPError | None":
    """Return the answer of the Hub that a failure comes from, if it comes from one."""
    from huggingface_hub.errors import HfHubHTTPError

    return next((cause for cause in causes(error) if isinstance(cause, HfHubHTTPError)), None)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it comes from: clients wrap what the network says in errors of their own."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
