"""Reading the Hub: tried again while that may help, and otherwise one line with the host, the file and what to do."""

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit

from unbag.utils.errors import is_disk_full
from unbag.utils.redaction import first_line, redact
from unbag.utils.retries import asked_wait, causes, http_cause, hub_http, is_nonsense, with_retries

READ_TRIES: Final = 4  # the clients try again by themselves before these, where the Hub answers that it is out of order
_NOT_FROM_HERE: Final = "is there a login page, or a proxy, between here and it? Check the network and HF_ENDPOINT"
_LOG_IN: Final = "log in with `hf auth login`, or set HF_TOKEN"
_AGAIN: Final = "check the network and HF_ENDPOINT, and give the command again"
_UNREADABLE: Final = (AttributeError, IndexError, KeyError, TypeError)
"""What a client raises whose answer is JSON of something else."""

T = TypeVar("T")


class HubReadError(ValueError):
    """The Hub did not give what was asked for; the message names the host, the file and what to do."""


def hub_read(what: str, call: Callable[[], T], *, tries: int = READ_TRIES, unreachable: bool = False) -> T:
    """Return what a call reads from the Hub. It may be made several times: it must change nothing there.

    Args:
        what: what is read, e.g. `the data set org/name`.
        call: reads it.
        tries: how often at most.
        unreachable: as `utils.retries.with_retries` takes it.

    Raises:
        HubReadError: if the network fails, the Hub is out of order, or what it answers is something else.
        Exception: what the call raised, if it is for good: there is no such thing, it may not be read, ….
    """
    try:
        return with_retries(call, tries=tries, unreachable=unreachable)
    except HubReadError:
        raise
    except Exception as error:
        reason = fault_of(error)
        if reason is None:
            raise
        raise HubReadError(f"{what}: {reason}") from error


def absence_of(error: BaseException, kind: str, name: str) -> str | None:
    """Build the message for a repository that the Hub does not have or does not show; None for another error.

    Args:
        error: what the client raised.
        kind: what the repository holds, e.g. `model`.
        name: its id.
    """
    from huggingface_hub import get_token
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    found = list(causes(error))
    if any(isinstance(cause, GatedRepoError) for cause in found):
        return f"the {kind} {name} on the Hub is gated; ask for access on its page, then {_LOG_IN}"
    if not any(isinstance(cause, RepositoryNotFoundError) for cause in found):
        return None
    private = (
        f"if it is private, {_LOG_IN}" if get_token() is None else "if it is private, use a token that may read it"
    )
    return f"no {kind} {name} on the Hub; check the spelling, or {private}"


def fault_of(error: BaseException) -> str | None:
    """Return what went wrong between here and the Hub, and what to do; None if it is something else that went wrong."""
    httpx = hub_http()
    from huggingface_hub import is_offline_mode

    if is_offline_mode() or is_disk_full(error):
        return None
    answer = http_cause(error)
    if answer is not None and (answer.response.status_code >= 500 or answer.response.status_code in (408, 425, 429)):
        status, url = answer.response.status_code, str(answer.response.request.url)
        said = answer.server_message or answer.response.reason_phrase
        seconds = asked_wait(answer)
        when = f"in {seconds:.0f} s" if seconds else "later"
        return f"{_place(url)} answered {status} ({redact(said)}); give the command again {when}"
    for cause in causes(error):
        request = getattr(cause, "_request", None)
        place = _place(str(request.url)) if request is not None else _host()
        if isinstance(cause, httpx.TooManyRedirects):
            return f"{place} redirects without end ({first_line(cause, longest=200)}); {_NOT_FROM_HERE}"
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            host = _host() if request is None else "{0.scheme}://{0.netloc}".format(urlsplit(str(request.url)))
            return f"{redact(host)} cannot be reached ({type(cause).__name__}: {first_line(cause)}); {_AGAIN}"
        if isinstance(cause, httpx.TransportError | ConnectionError | TimeoutError):
            return f"{place} cannot be read ({type(cause).__name__}: {first_line(cause)}); {_AGAIN}"
        if is_nonsense(cause):
            return f"{place} answered with something else than what was asked for ({_told(cause)}); {_NOT_FROM_HERE}"
    if isinstance(error, _UNREADABLE):
        return f"{_host()} answered with something else than what was asked for ({_told(error)}); {_NOT_FROM_HERE}"
    return None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error, longest=200)}"


def _host() -> str:
    from huggingface_hub import constants

    return redact(constants.ENDPOINT)


def _place(url: str) -> str:
    """Return host and path of an address: what follows may be a signature that opens it to everyone."""
    parts = urlsplit(url)
    return redact(f"{parts.scheme}://{parts.netloc}{parts.path}")
