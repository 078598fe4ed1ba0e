"""What the Hub or the network says when it does not do what was asked, as one line that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from unbag.utils.advice import all_fitting, first_fitting
from unbag.utils.hub import HubReadError, fault_of
from unbag.utils.redaction import blotted, first_line
from unbag.utils.retries import asked_wait, http_cause, hub_http

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError

_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN"


class HubError(ValueError):
    """The Hub did not do what was asked; the message names the repository, the reason and what to do."""


@contextmanager
def explained(repo: str, kind: str) -> Iterator[None]:
    """Turn what the client raises about a repository into a `HubError` of one line, with no token in it.

    Args:
        repo: `organisation/name`.
        kind: of repository.

    Raises:
        HubError: instead of what was raised.
    """
    httpx = hub_http()
    from huggingface_hub.errors import HFValidationError, OfflineModeIsEnabled

    try:
        yield
    except HubError:
        raise
    except HubReadError as error:
        raise HubError(blotted(str(error))) from error
    except HFValidationError as error:
        raise HubError(f"expected a repository as organisation/name, found {repo!r}: {first_line(error)}") from None
    except OfflineModeIsEnabled:
        raise HubError(f"{repo}: the Hub cannot be asked while offline; unset HF_HUB_OFFLINE") from None
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        raise HubError(blotted(f"{kind} {repo}: {_reason(error, repo)}")) from error


def _reason(error: Exception, repo: str) -> str:
    from huggingface_hub import constants, get_token

    answer = http_cause(error)
    if answer is None:
        if (fault := fault_of(error)) is not None:
            return f"{fault}: it goes on from here"
        if isinstance(error, ValueError):
            return " ".join(str(error).split())  # the client's own complaint about a card, say
        return (
            f"{constants.ENDPOINT} cannot be reached ({type(error).__name__}: {first_line(error)}); check the network "
            "and HF_ENDPOINT, and give the command again: it goes on from here"
        )
    status = answer.response.status_code
    text = answer.server_message or first_line(answer)
    organisation = repo.partition("/")[0]
    match status:
        case HTTPStatus.UNAUTHORIZED if get_token() is None:
            return f"expected a token, found none (401: {text}); {_LOG_IN}"
        case HTTPStatus.UNAUTHORIZED:
            return (
                f"the Hub does not accept the token (401: {text}); {_LOG_IN} with one that may write to {organisation}"
            )
        case HTTPStatus.FORBIDDEN:
            ways = ["use another token", "name another organisation with --to"]
            if _may_propose(answer):
                ways.append("propose the change with --pull-request")
            return (
                f"expected a token that may write to {organisation}, found one that may not (403: {text}); "
                + all_fitting(*ways)
            )
        case HTTPStatus.NOT_FOUND:
            check = first_fitting("; check --to", "; check its name")
            return f"there is no such repository, or none that this token may see (404: {text}){check}"
        case HTTPStatus.CONFLICT | HTTPStatus.PRECONDITION_FAILED:
            return f"somebody else's commits came first each time ({status}: {text}); give the command again"
        case HTTPStatus.TOO_MANY_REQUESTS:
            seconds = asked_wait(answer)
            when = f"in {seconds:.0f} s" if seconds else "later"
            return f"too many requests (429: {text}); give the command again {when}: it goes on from here"
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return f"the Hub is out of order ({status}: {text}); give the command again later: it goes on from here"
    return f"the Hub refused ({status}: {text})"


def _may_propose(refused: "HfHubHTTPError") -> bool:
    """Check whether a pull request may do what was refused: a change of a repository that exists, and no proposal."""
    url = refused.response.request.url
    changes = any(step in url.path for step in ("/commit/", "/preupload/", "/info/lfs/"))
    return changes and "create_pr" not in url.params and "refs%2F" not in str(url) and "/refs/" not in url.path
